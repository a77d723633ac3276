#include "text/bpe/gpt2_split.h"

#include <gtest/gtest.h>

#include <random>
#include <regex>
#include <string>
#include <vector>

namespace heed {
namespace {

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for_each_gpt2_word(text, [&](std::string_view word) { words.emplace_back(word); });
  return words;
}

using Words = std::vector<std::string>;

TEST(Gpt2Split, WordsTakeOneSpaceAlong) {
  EXPECT_EQ(words_of(""), Words{});
  EXPECT_EQ(words_of("Hello world"), (Words{"Hello", " world"}));
  EXPECT_EQ(words_of("a   b"), (Words{"a", "  ", " b"}));
  EXPECT_EQ(words_of("a \n b"), (Words{"a", " \n", " b"}));
  EXPECT_EQ(words_of("a\tb\n\nc"), (Words{"a", "\t", "b", "\n", "\n", "c"}));
  EXPECT_EQ(words_of("a  "), (Words{"a", "  "}));
  EXPECT_EQ(words_of(" "), (Words{" "}));
}

TEST(Gpt2Split, LettersNumbersAndTheRest) {
  EXPECT_EQ(words_of("x2=10,5 !?"), (Words{"x", "2", "=", "10", ",", "5", " !?"}));
  EXPECT_EQ(words_of("snake_case"), (Words{"snake", "_", "case"}));
}

TEST(Gpt2Split, Contractions) {
  EXPECT_EQ(words_of("we're I'll he'd it's can't I'm they've"),
            (Words{"we", "'re", " I", "'ll", " he", "'d", " it", "'s", " can", "'t", " I", "'m",
                   " they", "'ve"}));
  EXPECT_EQ(words_of("'Re 'tis y'all"), (Words{"'", "Re", " '", "tis", " y", "'", "all"}));
  EXPECT_EQ(words_of("'"), (Words{"'"}));
  EXPECT_EQ(words_of("'r"), (Words{"'", "r"}));
  EXPECT_EQ(words_of("''s"), (Words{"''", "s"}));
}

TEST(Gpt2Split, UnicodeClasses) {
  EXPECT_EQ(words_of("größer 東京２３区"), (Words{"größer", " 東京", "２３", "区"}));
  EXPECT_EQ(words_of("½ Ⅻ"), (Words{"½", " Ⅻ"}));                // No and Nl are numbers
  EXPECT_EQ(words_of("e\u0301a"), (Words{"e", "\u0301", "a"}));  // a mark is no letter
  // Spaces of other widths are \s, but no word takes them along; U+200B is not even \s.
  EXPECT_EQ(words_of("a\u00A0\u2003b"), (Words{"a", "\u00A0", "\u2003", "b"}));
  EXPECT_EQ(words_of("a\u200Bb"), (Words{"a", "\u200B", "b"}));
  EXPECT_EQ(words_of("a\x1C\u0085"
                     "b"),
            (Words{"a", "\x1C", "\u0085", "b"}));
}

TEST(Gpt2Split, BytesThatAreNotUtf8AreNeitherLettersNorSpaces) {
  EXPECT_EQ(words_of("a\xFF\xC3 b\xC3"), (Words{"a", "\xFF\xC3", " b", "\xC3"}));
  EXPECT_EQ(words_of(std::string_view("a\0b", 3)), (Words{"a", std::string(1, '\0'), "b"}));
}

TEST(Gpt2Split, AgreesWithThePatternOnAscii) {
  const std::regex pattern(
      R"('s|'t|'re|'ve|'m|'ll|'d| ?[A-Za-z]+| ?[0-9]+| ?[^\sA-Za-z0-9]+|\s+(?!\S)|\s+)");
  const std::string_view characters = "  \t\n'''strevmld.,1290aZ";
  std::mt19937 random(7);
  for (int round = 0; round < 3000; ++round) {
    std::string text(random() % 24, ' ');
    for (char& c : text) {
      c = characters[random() % characters.size()];
    }
    const Words expected(std::sregex_token_iterator(text.begin(), text.end(), pattern), {});
    ASSERT_EQ(words_of(text), expected) << text;
  }
}

}  // namespace
}  // namespace heed
