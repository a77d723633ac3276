// BERT's basic tokenizer, character class by character class.
#include "text/basic_split.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "text/unicode.h"

namespace heed {
namespace {

std::string split(std::string_view text, const BasicSplitOptions& options = {}) {
  std::vector<std::string> words;
  basic_split(text, options, [&](std::string_view word) { words.emplace_back(word); });
  return fmt::format("{}", fmt::join(words, "|"));
}

TEST(BasicSplit, WordsAndMarks) {
  EXPECT_EQ(split(""), "");
  EXPECT_EQ(split(" \t\r\n "), "");
  EXPECT_EQ(split("Hello, World!"), "hello|,|world|!");
  EXPECT_EQ(split("don't--stop ..."), "don|'|t|-|-|stop|.|.|.");
  EXPECT_EQ(split("a\tb\nc\rd e"), "a|b|c|d|e");
  // All of ASCII that is neither letter nor digit is a mark, also what Unicode calls a symbol.
  EXPECT_EQ(split("1$2+3<4=5>6^7`8|9~0"), "1|$|2|+|3|<|4|=|5|>|6|^|7|`|8|||9|~|0");
  // Beyond ASCII only what Unicode calls punctuation.
  EXPECT_EQ(split("a–b „c“ d…e ¿f?"), "a|–|b|„|c|“|d|…|e|¿|f|?");
  EXPECT_EQ(split("5€ 6× 20° ½"), "5€|6×|20°|½");
}

TEST(BasicSplit, UnseenCharactersVanish) {
  EXPECT_EQ(split(std::string_view("a\0b\x01"
                                   "c\x7F"
                                   "d",
                                   7)),
            "abcd");
  EXPECT_EQ(split("a\vb\fc"), "abc");  // space to others, controls to BERT
  EXPECT_EQ(split("a\u0085b"), "ab");
  EXPECT_EQ(split("soft\u00ADhyphen zero\u200Bwidth \uFEFFmark"), "softhyphen|zerowidth|mark");
  EXPECT_EQ(split("a\uFFFDb \uE000c"), "ab|c");
  EXPECT_EQ(split("a\u0378b"), "ab");  // not assigned
  EXPECT_EQ(split("a\xFF\xC3 \xE2\x82z \xED\xA0\x80q"), "a|z|q");
}

TEST(BasicSplit, SpacesOfAllKinds) {
  EXPECT_EQ(split("a\u00A0b\u2003c\u3000d\u2028e\u2029f\u202Fg"), "a|b|c|d|e|f|g");
}

TEST(BasicSplit, AccentsAndCapitals) {
  EXPECT_EQ(split("Müller ÉTÉ naïve Ångström"), "muller|ete|naive|angstrom");
  EXPECT_EQ(split("e\u0301\u0323x"), "ex");
  EXPECT_EQ(split("İstanbul ΌΣΟΣ Straße ﬁne"), "istanbul|οσοσ|straße|ﬁne");
  EXPECT_EQ(split("Ёлка Йод"), "елка|иод");
  EXPECT_EQ(split("한국"), "\u1112\u1161\u11ab\u1100\u116e\u11a8");  // taken apart by NFD
  EXPECT_EQ(split("हिन्दी"),
            "\u0939\u093f\u0928\u0926\u0940");  // the virama is a mark, vowels are not
  const BasicSplitOptions cased{.lower_case = false};
  EXPECT_EQ(split("Müller ÉTÉ 한국", cased), "Müller|ÉTÉ|한국");
  const BasicSplitOptions accents{.lower_case = true, .strip_accents = false};
  EXPECT_EQ(split("Müller ÉTÉ İ", accents), "müller|été|i\u0307");
  const BasicSplitOptions bare{.lower_case = false, .strip_accents = true};
  EXPECT_EQ(split("Müller ÉTÉ", bare), "Muller|ETE");
}

// Marks with a combining class that are not stripped are put in order, also across what vanishes.
TEST(BasicSplit, DecompositionIsCanonical) {
  EXPECT_EQ(split("a\U0001D16D\U0001D165"), "a\U0001D165\U0001D16D");
  EXPECT_EQ(split("a\U0001D16D\x01\U0001D165"), "a\U0001D165\U0001D16D");
  EXPECT_EQ(split("\U0001D15E"), "\U0001D157\U0001D165");
  // Some become marks only then: the Greek question mark, the Greek semicolon, the Greek grave.
  EXPECT_EQ(split("a\u037Eb\u0387c\u1FEFd"), "a|;|b|·|c|`|d");
  EXPECT_EQ(split("a\u037Eb", {.lower_case = false}), "a|\u037E|b");  // Unicode's punctuation too
  EXPECT_EQ(split("a\u1FEFb", {.lower_case = false}), "a\u1FEFb");
}

TEST(BasicSplit, ChineseCharacters) {
  EXPECT_EQ(split("我想apple工作3天"), "我|想|apple|工|作|3|天");
  EXPECT_EQ(split("ひらがな カタカナ"), "ひらかな|カタカナ");
  // The ends of each range, and what lies beyond.
  for (const auto& [first, last] : std::vector<std::pair<char32_t, char32_t>>{{0x4E00, 0x9FFF},
                                                                              {0x3400, 0x4DBF},
                                                                              {0x20000, 0x2A6DF},
                                                                              {0x2A700, 0x2B734},
                                                                              {0x2B740, 0x2B81D},
                                                                              {0x2B820, 0x2CEA1},
                                                                              {0xFA0E, 0xFA0F}}) {
    for (const char32_t c : {first, last}) {
      const std::string text = to_utf8(c);
      EXPECT_EQ(split("a" + text + "b"), "a|" + text + "|b") << static_cast<uint32_t>(c);
    }
  }
  EXPECT_EQ(split("a\uF900b"), "a|\u8C48|b");  // an ideograph that NFD replaces
  EXPECT_EQ(split("a\u2E80b a\u3007b a\uAC00b", {.lower_case = false}),
            "a\u2E80b|a\u3007b|a\uAC00b");
  EXPECT_EQ(split("我想apple", {.chinese_characters = false}), "我想apple");
}

TEST(BasicSplit, AnyBytes) {
  uint32_t state = 1;
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (int i = 0; i < 40; ++i) {
      state = state * 1664525U + 1013904223U;
      text += static_cast<char>(state >> 24U);
    }
    basic_split(text, {}, [&](std::string_view word) {
      ASSERT_FALSE(word.empty());
      ASSERT_TRUE(valid_utf8(word));
    });
  }
}

}  // namespace
}  // namespace heed
