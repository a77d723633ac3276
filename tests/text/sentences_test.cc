// Text cut into sentences: where they end, where they do not, and that nothing is lost.
#include "text/sentences.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/random.h"

namespace heed {
namespace {

// The sentences with a bar between them. That joining them restores the text is checked on the way.
std::string split(const std::string& text, std::string_view language = "en") {
  std::string joined;
  std::string shown;
  for (const Sentence& sentence : split_sentences(text, language)) {
    joined += std::string(sentence.text) + std::string(sentence.space);
    shown += (shown.empty() ? "" : "|") + std::string(sentence.text);
  }
  EXPECT_EQ(joined, text);
  return shown;
}

// That the text is one sentence.
void expect_whole(const std::string& text, std::string_view language) {
  EXPECT_EQ(split(text, language), text) << language;
}

TEST(Sentences, EndWithMarksAndBeginWithCapitals) {
  EXPECT_EQ(split("A man runs. A dog sits! Why? 12 people know. No"),
            "A man runs.|A dog sits!|Why?|12 people know.|No");
  EXPECT_EQ(split("It is big. and small. Yes"), "It is big. and small.|Yes");
  EXPECT_EQ(split("What?! Really?? Yes... No… Maybe"), "What?!|Really??|Yes...|No…|Maybe");
  EXPECT_EQ(split("Wait ... what? I ... know."), "Wait ... what?|I ... know.");
  EXPECT_EQ(split("A man runs . A dog sits ."), "A man runs .|A dog sits .");  // cut by a tokenizer
  EXPECT_EQ(split("end.Next one"), "end.Next one");
}

TEST(Sentences, HaveTheirQuotesAndBrackets) {
  EXPECT_EQ(split("\"Stop!\" he said. \"Why?\" She ran. (It was late.) He slept."),
            "\"Stop!\" he said.|\"Why?\"|She ran.|(It was late.)|He slept.");
  EXPECT_EQ(split("„Halt!“ Er lief. »Nein.« Sie ging.", "de"),
            "„Halt!“|Er lief.|»Nein.«|Sie ging.");
  EXPECT_EQ(split("« Non ! » Elle part. « Oui. » Fin.", "fr"),
            "« Non ! »|Elle part.|« Oui. »|Fin.");
  EXPECT_EQ(split("Hola. ¿Qué tal? ¡Bien!", "es"), "Hola.|¿Qué tal?|¡Bien!");
  EXPECT_EQ(split("Yes. – No. - Yes."), "Yes.|– No.|- Yes.");
  EXPECT_EQ(split("Ha! ! ! He"), "Ha! ! !|He");
  EXPECT_EQ(split("... And then ... The end."), "... And then ...|The end.");
}

TEST(Sentences, AreNotEndedByAbbreviations) {
  expect_whole("Mr. Smith and Dr. J. R. Ewing met e.g. Mrs. Jones vs. Gen. Lee in the U.S. Army.",
               "en");
  expect_whole("See no. 5, vol. 3 and Fig. 2 on p. 7.", "en");
  EXPECT_EQ(split("Is it true? No. It is not."), "Is it true?|No.|It is not.");
  EXPECT_EQ(split("At 5 p.m. He left. It was I. Then"), "At 5 p.m.|He left.|It was I.|Then");
  EXPECT_EQ(split("Cats, dogs etc. They run."), "Cats, dogs etc.|They run.");
  expect_whole("Dr. Müller kam z. B. Montag, d. h. am 3. Mai, bzw. Prof. Maier (vgl. Abb. 3).",
               "de");
  expect_whole("Ludwig XIV. Sohn zahlte 3 Mio. Euro, z.B. Gold, am 24. Dez. 1700.", "de");
  EXPECT_EQ(split("Das war 1999. Dann kam Nr. 5. Er ging usw. Alles gut.", "de"),
            "Das war 1999.|Dann kam Nr. 5. Er ging usw.|Alles gut.");
  expect_whole("M. Dupont, Mme. Curie et J.-P. Sartre, av. Foch, art. 3.", "fr");
  expect_whole("Il Sig. Rossi, la Sig.ra Bianchi e il Dott. Verdi, cfr. Dante, pag. 3.", "it");
  expect_whole("El Sr. García y la Dra. López de EE. UU. Norte, p. ej. Ana, pág. 3.", "es");
  expect_whole("J. S. Bach", "xx");
  EXPECT_EQ(split("Mr. Smith", "xx"), "Mr.|Smith");  // of other languages nothing is known
  for (const char* code : {"en", "en-GB", "en_US", "eng", "EN"}) {
    expect_whole("Mr. Smith", code);
  }
}

TEST(Sentences, KeepNumbersAddressesAndLists) {
  expect_whole("Pi is 3.14 and not 3,14, see www.example.org/a.b?C=D or mail j.doe@example.org now",
               "en");
  EXPECT_EQ(split("1. Wash it. 2. Dry it. 3. Done."), "1. Wash it.|2. Dry it.|3. Done.");
  EXPECT_EQ(split("It costs $5. He has 30. She has 20."), "It costs $5.|He has 30.|She has 20.");
  EXPECT_EQ(split("See example.org. It is new."), "See example.org.|It is new.");
}

TEST(Sentences, OfOtherScripts) {
  EXPECT_EQ(split("我来了。你好吗？很好！OK。iPhone", "zh"),
            "我来了。|你好吗？|很好！|OK。|iPhone");
  EXPECT_EQ(split("你好!我是小王?不是", "zh"), "你好!|我是小王?|不是");
  EXPECT_EQ(split("「行く！」と言った。「はい。」「いいえ。」", "ja"),
            "「行く！」と言った。|「はい。」|「いいえ。」");
  EXPECT_EQ(split("네. 안녕하세요. 반갑습니다!", "ko"), "네.|안녕하세요.|반갑습니다!");
  EXPECT_EQ(split("هل أنت بخير؟ نعم. شكرا", "ar"), "هل أنت بخير؟|نعم.|شكرا");
  EXPECT_EQ(split("यह एक है। वह दो है। बस", "hi"), "यह एक है।|वह दो है।|बस");
  EXPECT_EQ(split("Он пришёл. Она ушла? Да.", "ru"), "Он пришёл.|Она ушла?|Да.");
}

TEST(Sentences, OfATextWithoutCapitals) {
  EXPECT_EQ(split("a man runs. a dog sits! e.g. here, dr. who"),
            "a man runs.|a dog sits!|e.g. here, dr. who");
}

TEST(Sentences, EndWithTheLine) {
  EXPECT_EQ(split("a title\n\nSome text. More\ntext\n"), "a title|Some text.|More|text");
  const auto found = split_sentences("\n a.\r\n\r\n  b  ", "en");
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].text, "");
  EXPECT_EQ(found[0].space, "\n ");
  EXPECT_EQ(found[1].text, "a.");
  EXPECT_EQ(found[1].space, "\r\n\r\n  ");
  EXPECT_EQ(found[2].text, "b");
  EXPECT_EQ(found[2].space, "  ");
}

TEST(Sentences, OfNothing) {
  EXPECT_TRUE(split_sentences("", "en").empty());
  const auto blank = split_sentences(" \n\t", "");
  ASSERT_EQ(blank.size(), 1U);
  EXPECT_EQ(blank[0].text, "");
  EXPECT_EQ(blank[0].space, " \n\t");
  EXPECT_EQ(split("..."), "...");
  EXPECT_EQ(split("? ! . … \" ( ."), "? ! . … \" ( .");
}

// Texts of the characters that matter, and of any bytes: nothing is lost, no sentence is empty.
TEST(Sentences, KeepAllBytes) {
  const std::vector<std::string> parts{".", "!", " ",  "A",  "b", "\"", "»",    "。",   "我", "1",
                                       "(", ")", "\n", "Mr", "…", "-",  "\xFF", "\xE3", "\r", " "};
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    const RandomStream random{.seed = seed};
    std::string text;
    for (uint64_t i = 0; i < 40; ++i) {
      text += parts[random.bits(i) % parts.size()];
    }
    for (const char* language : {"en", "de", ""}) {
      const auto found = split_sentences(text, language);
      std::string joined;
      for (size_t i = 0; i < found.size(); ++i) {
        joined += std::string(found[i].text) + std::string(found[i].space);
        EXPECT_TRUE(i == 0 || !found[i].text.empty()) << text;
      }
      ASSERT_EQ(joined, text);
    }
  }
}

// A megabyte of whatever could make it look back or ahead again and again.
TEST(Sentences, TakeLinearTime) {
  for (const std::string part : {".", ". ", "! ", "a. ", "A. ", "1. ", "。", "\" ", "( ", "A", "\n",
                                 ".\"", "- ", "! - ", "我", "A! - ", "A-", "\xFF"}) {
    std::string text;
    while (text.size() < 1'000'000) {
      text += part;
    }
    const auto begin = std::chrono::steady_clock::now();
    size_t size = 0;
    for (const Sentence& sentence : split_sentences(text, "de")) {
      size += sentence.text.size() + sentence.space.size();
    }
    EXPECT_EQ(size, text.size());
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5)) << part;
  }
}

std::vector<std::string> unmarked(std::string_view text, std::string_view language) {
  std::vector<std::string> parts;
  std::string joined;
  for (const Sentence& part : split_unmarked({text, " "}, language)) {
    parts.emplace_back(part.text);
    joined += std::string(part.text) + std::string(part.space);
  }
  EXPECT_EQ(joined, std::string(text) + " ");
  return parts;
}

TEST(Sentences, WithoutAMarkBeginWithADeterminer) {
  using List = std::vector<std::string>;
  EXPECT_EQ(unmarked("A child splashes in the water Three people sit outside.", "en"),
            (List{"A child splashes in the water", "Three people sit outside."}));
  EXPECT_EQ(unmarked("Ein Kind spielt draußen Zwei Männer sehen zu", "de"),
            (List{"Ein Kind spielt draußen", "Zwei Männer sehen zu"}));
  for (const char* whole : {"He moved to The Hague with A Tribe", "a man, The Boss, sings",
                            "Boston A b", "", " ", "He saw the film Two", "\xff A \xff"}) {
    EXPECT_EQ(unmarked(whole, "en"), List{whole});
  }
  EXPECT_EQ(unmarked("un enfant joue Deux hommes regardent", "fr").size(), 1U);
}

}  // namespace
}  // namespace heed
