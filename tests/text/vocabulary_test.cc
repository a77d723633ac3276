#include "text/vocabulary.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "tests/support/error_of.h"
#include "text/unicode.h"

namespace heed {
namespace {

using testing::error_of;
using testing::expect_error;

std::shared_ptr<const Vocabulary> trained(const char* kind, const std::vector<std::string>& lines,
                                          TokenizerTraining options = {}) {
  options.kind = kind;
  return Vocabulary::train(lines, options);
}

std::string pieces(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<std::string> result;
  for (const int32_t id : tokenizer.encode(text)) {
    result.push_back(tokenizer.piece(id));
  }
  return fmt::format("{}", fmt::join(result, " "));
}

std::string round_trip(const Tokenizer& tokenizer, std::string_view text) {
  return tokenizer.decode(tokenizer.encode(text));
}

const std::vector<std::string> kSentences = {
    "Ein Hund läuft über die Straße.",
    "Er sagte: \"Ja, (vielleicht) ...\" und ging.",
    "„Wie geht's?“, fragte sie – und lachte!",
    "L'homme qu'on voit aujourd'hui; n'est-ce pas ?",
    "3.14 ist kleiner als 1,000,000 (10 % von 10 Mio.)",
    "user_name@example.org, http://a.b/c?d=e&f#g",
    "...!?«a»—b",
    "Cafe\u0301 au lait 😀👩‍👩‍👧 ok❤️!",
    "中文，没有空格。 日本語",
    "<s> </s> <unk> <pad> ##x",
    "-",
    "",
};

TEST(WordVocabulary, MarksCarryJoiners) {
  const auto words = trained("word", kSentences);
  EXPECT_EQ(pieces(*words, "Er sagte: \"Ja, (vielleicht) ...\" und ging."),
            "Er sagte ￭: \"￭ Ja ￭, (￭ vielleicht ￭) . ￭. ￭. ￭\" und ging ￭.");
  EXPECT_EQ(pieces(*words, "geht's"), "geht ￭'￭ s");
}

TEST(WordVocabulary, GivesSentencesBack) {
  const auto words = trained("word", kSentences);
  for (const std::string& sentence : kSentences) {
    EXPECT_EQ(round_trip(*words, sentence), sentence);
  }
  EXPECT_EQ(round_trip(*words, "  Ein \t Hund\u00A0läuft\n"), "Ein Hund läuft");
}

TEST(WordVocabulary, UnknownWordsAndSpecialIds) {
  const auto words = trained("word", {"a b, c"});
  EXPECT_EQ(words->special().pad, 0);
  EXPECT_EQ(words->special().start, 1);
  EXPECT_EQ(words->special().end, 2);
  EXPECT_EQ(words->special().unk, 3);
  EXPECT_EQ(words->encode("zebra"), std::vector<int32_t>{3});
  EXPECT_EQ(round_trip(*words, "a zebra, c"), "a <unk>, c");
  const std::vector<int32_t> framed = {1, *words->find("a"), *words->find("b"), 2, 0, 0};
  EXPECT_EQ(words->decode(framed), "a b");
}

TEST(WordVocabulary, FrequentWordsComeFirstAndTiesGoByBytes) {
  const auto words = trained("word", {"b a c a", "d c a"});
  EXPECT_EQ(words->piece(4), "a");
  EXPECT_EQ(words->piece(5), "c");
  EXPECT_EQ(words->piece(6), "b");
  EXPECT_EQ(words->piece(7), "d");
  EXPECT_EQ(trained("word", {"b a c a", "d c a"}, {.vocabulary = 6})->size(), 6);
  EXPECT_EQ(trained("word", {"b a c a", "d c a"}, {.least_count = 2})->size(), 6);
}

TEST(WordVocabulary, LowerCaseIsKept) {
  const auto words = trained("word", {"Ein HUND"}, {.lower_case = true});
  const auto loaded = Vocabulary::from_json(words->serialize(), "x");
  EXPECT_EQ(round_trip(*loaded, "EIN hund"), "ein hund");
}

TEST(CharVocabulary, EveryCharacterIsAToken) {
  const auto characters = trained("char", kSentences);
  EXPECT_EQ(pieces(*characters, "Er ß"), "E r ▁ ß");
  for (const std::string& sentence : kSentences) {
    EXPECT_EQ(round_trip(*characters, sentence), sentence);
  }
  EXPECT_EQ(round_trip(*characters, "  E  r "), "  E  r ");
  EXPECT_EQ(characters->encode("\u0416"), std::vector<int32_t>{3});
  const auto lines = trained("char", {"a\nb\t"});
  EXPECT_EQ(round_trip(*lines, "\ta\n\nb"), "\ta\n\nb");
}

// Texts of random characters from many scripts, marks and spaces, broken UTF-8 among them.
std::string random_text(const RandomStream& stream, uint64_t& next) {
  static const std::vector<std::string> kParts = {"a",
                                                  "Ü",
                                                  "ß",
                                                  "e\u0301",
                                                  "😀",
                                                  "👩‍👩‍👧",
                                                  "中",
                                                  "ي",
                                                  "\u200E",
                                                  " ",
                                                  "  ",
                                                  "\u00A0",
                                                  "\t",
                                                  ".",
                                                  ",",
                                                  "\"",
                                                  "(",
                                                  ")",
                                                  "￭",
                                                  "▁",
                                                  "■",
                                                  "_",
                                                  "1",
                                                  "\xFF",
                                                  "\xC3",
                                                  "\xE2\x82",
                                                  "<unk>",
                                                  "</s>",
                                                  std::string(1, '\0')};
  std::string text;
  const uint32_t length = stream.bits(next++) % 12;
  for (uint32_t i = 0; i < length; ++i) {
    text += kParts[stream.bits(next++) % kParts.size()];
  }
  return text;
}

// One round trip may lose what the header says; the second loses nothing more.
TEST(Vocabulary, RandomTextsSettleAfterOneRoundTrip) {
  const RandomStream stream{1, 2};
  uint64_t next = 0;
  std::vector<std::string> texts;
  for (int i = 0; i < 2000; ++i) {
    texts.push_back(random_text(stream, next));
  }
  for (const char* kind : {"word", "char"}) {
    const auto vocabulary = trained(kind, texts);
    for (const std::string& text : texts) {
      const std::string once = round_trip(*vocabulary, text);
      ASSERT_TRUE(valid_utf8(once));
      ASSERT_EQ(round_trip(*vocabulary, once), once) << kind;
      ASSERT_EQ(vocabulary->encode(once), vocabulary->encode(text)) << kind;
    }
  }
}

TEST(Vocabulary, SerializesToTheSameBytes) {
  for (const char* kind : {"word", "char"}) {
    const auto first = trained(kind, kSentences);
    const auto second = Vocabulary::from_json(first->serialize(), "x");
    EXPECT_EQ(second->serialize(), first->serialize());
    EXPECT_EQ(second->kind(), kind);
    for (const std::string& sentence : kSentences) {
      EXPECT_EQ(second->encode(sentence), first->encode(sentence));
    }
  }
}

TEST(Vocabulary, RefusesHostileJson) {
  const auto load = [](const std::string& json) {
    return error_of([&] { Vocabulary::from_json(json, "v.json"); });
  };
  const std::string special = R"("special":{"unk":0},)";
  EXPECT_EQ(load(R"({"kind":"word",)" + special + R"("tokens":["a"]})"), "no error");
  EXPECT_EQ(load(R"({"kind":"word",)" + special + R"("tokens":["a","b","a"]})"),
            "[v.json] tokens 0 and 2 are both \"a\"");
  EXPECT_EQ(load(R"({"kind":"word",)" + special + R"("tokens":["a",""]})"),
            "[v.json] token 1 is empty");
  EXPECT_EQ(load(R"({"kind":"word",)" + special + R"("tokens":["a","b c"]})"),
            "[v.json] token 1 is \"b c\", which has a space");
  EXPECT_EQ(load(R"({"kind":"word",)" + special + R"("tokens":[]})"),
            "[v.json] there are no tokens");
  EXPECT_EQ(load(R"({"kind":"word","tokens":["a"]})"),
            "[v.json] special.unk is -1, but unknown tokens need an id");
  EXPECT_EQ(load(R"({"kind":"word","special":{"unk":1},"tokens":["a"]})"),
            "[v.json] special.unk is 1, expected an id below 1, or -1 for none");
  EXPECT_EQ(load(R"({"kind":"word","special":{"unk":0,"pad":0},"tokens":["a"]})"),
            "[v.json] special.pad and special.unk are both 0");
  EXPECT_EQ(load("{" + special + R"("tokens":["a"]})"),
            "[v.json] \"kind\" is missing, expected word or char");
  for (const char* broken :
       {"", "{", "[]", "null", "7", R"({"kind":"words"})", R"({"kind":7})", R"({"kind":"word"})",
        R"({"kind":"word","special":[],"tokens":["a"]})",
        R"({"kind":"word","special":{"unk":0.5},"tokens":["a"]})",
        R"({"kind":"word","special":{"unk":99999999999},"tokens":["a"]})",
        R"({"kind":"word","special":{"unk":-2},"tokens":["a"]})",
        R"({"kind":"word","special":{"unk":0},"tokens":{"a":0}})",
        R"({"kind":"word","special":{"unk":0},"tokens":["a",7]})",
        R"({"kind":"word","special":{"unk":0},"tokens":["a",["b"]]})",
        R"({"kind":"char","pre_tokenized":true,"special":{"unk":0},"tokens":["a"]})",
        R"({"kind":"word","special":{"unk":0},"tokens":["a"],"toknes":[]})",
        "{\"kind\":\"word\",\"special\":{\"unk\":0},\"tokens\":[\"\xFF\"]}"}) {
    EXPECT_NE(load(broken), "no error") << broken;
  }
  EXPECT_NE(load(std::string(100000, '[')), "no error");
  EXPECT_NE(load(R"({"kind":)" + std::string(100000, '[') + std::string(100000, ']') + "}"),
            "no error");
}

TEST(Vocabulary, EveryCutIsAnError) {
  const std::string json = trained("word", kSentences)->serialize();
  for (size_t size = 0; size + 2 < json.size(); ++size) {
    EXPECT_NE(error_of([&] { Vocabulary::from_json(json.substr(0, size), "v.json"); }), "no error");
  }
}

TEST(Vocabulary, IdsOutOfRangeAreErrors) {
  const auto words = trained("word", {"a"});
  expect_error([&] { words->piece(5); }, "[tokenizer] id 5 is out of range, expected 0 to 4");
  expect_error([&] { words->decode(std::vector<int32_t>{-1}); },
               "[tokenizer] id -1 is out of range, expected 0 to 4");
  EXPECT_EQ(words->find("nothing"), std::nullopt);
}

// Lines of the Penn Treebank, which has "<unk>" for rare words.
TEST(TokenVocabulary, TakesTokensAsTheyStand) {
  const std::vector<std::string> lines = {" mr. <unk> is chairman of <unk> n.v. ",
                                          " the <unk> 's N N\n", " it is n't </s> N"};
  const auto tokens = trained("token", lines);
  EXPECT_EQ(tokens->kind(), "token");
  EXPECT_EQ(tokens->size(), 4 + 10);
  EXPECT_EQ(tokens->piece(4), "N");
  EXPECT_EQ(tokens->piece(5), "is");
  EXPECT_EQ(tokens->piece(6), "'s");
  EXPECT_EQ(tokens->encode("<unk>"), std::vector<int32_t>{3});
  EXPECT_EQ(tokens->encode("N </s> N"), (std::vector<int32_t>{4, 3, 4}));
  EXPECT_EQ(tokens->encode(" N \n is\nN\n"), (std::vector<int32_t>{4, 5, 4}));
  EXPECT_EQ(round_trip(*tokens, " mr. <unk> is n't N \n"), "mr. <unk> is n't N");
  EXPECT_EQ(tokens->find("<unk>"), 3);
  const auto loaded = Vocabulary::from_json(tokens->serialize(), "x");
  EXPECT_EQ(loaded->kind(), "token");
  EXPECT_EQ(loaded->serialize(), tokens->serialize());

  const auto few = trained("token", lines, {.vocabulary = 6});
  EXPECT_EQ(few->size(), 6);
  EXPECT_EQ(few->encode("N is it"), (std::vector<int32_t>{4, 5, 3}));
  EXPECT_EQ(trained("token", lines, {.least_count = 2})->size(), 6);
  EXPECT_EQ(error_of([] { trained("token", {"<unk> <unk>"}); }),
            "[tokenizer] 1 lines hold no token that occurs at least 1 times");
}

TEST(TokenList, KnowsSpecialTokensByName) {
  const auto list = Vocabulary::from_lines({"<blank>", "<s>", "</s>", "a", "b,c"}, "x");
  EXPECT_EQ(list->special().pad, 0);
  EXPECT_EQ(list->special().start, 1);
  EXPECT_EQ(list->special().end, 2);
  EXPECT_EQ(list->special().unk, 5);
  EXPECT_EQ(list->size(), 6);
  EXPECT_EQ(list->encode("a b,c  z a "), (std::vector<int32_t>{3, 4, 5, 3}));
  EXPECT_EQ(list->decode(std::vector<int32_t>{1, 3, 4, 3, 2, 0}), "a b,c a");
  EXPECT_EQ(list->encode("</s>"), std::vector<int32_t>{5}) << "text must not end a sentence";
  EXPECT_EQ(list->find("</s>"), 2);
  const auto own = Vocabulary::from_lines({"<unk>", "a"}, "x");
  EXPECT_EQ(own->special().unk, 0);
  EXPECT_EQ(own->special().start, -1);
  EXPECT_EQ(own->size(), 2);
  expect_error([] { Vocabulary::from_lines({"a", "", "b"}, "x"); }, "[x] token 1 is empty");
}

TEST(TokenList, TransliterationModel) {
  const char* data = std::getenv("HEED_DATA");
  const std::filesystem::path folder =
      std::filesystem::path(data != nullptr ? data : "../shared/data") / "ct2-aren-transliteration";
  if (!std::filesystem::exists(folder)) {
    GTEST_SKIP() << "skipped: no data at " << folder;
  }
  const auto source = load_tokenizer(folder / "source_vocabulary.txt");
  const auto target = load_tokenizer(folder / "target_vocabulary.txt");
  EXPECT_EQ(source->size(), 51);  // rows of the model's embeddings
  EXPECT_EQ(target->size(), 43);
  EXPECT_EQ(source->special().unk, 50);
  EXPECT_EQ(source->encode("ي ا \u200E"), (std::vector<int32_t>{3, 4, 41}));
  EXPECT_EQ(round_trip(*target, "a t z m o n"), "a t z m o n");
}

}  // namespace
}  // namespace heed
