#include "text/wordpiece_train.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/error_of.h"
#include "text/unicode.h"

namespace heed {
namespace {

using testing::error_of;

TEST(WordPieceTraining, PiecesInOrder) {
  // "ab" occurs 5 times, "abc" 2, "b" 1; "#" is a word, as marks are.
  const auto tokenizer = train_wordpiece({"ab AB, ab", "ab ab abc abc", "b #"}, 100, {});
  EXPECT_EQ(tokenizer->vocab_txt(),
            "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n"
            "#\n,\na\nb\nc\n"
            "##b\n##c\n"
            "ab\nabc\n");
  EXPECT_EQ(tokenizer->encode("abc, abb"), (std::vector<int32_t>{13, 6, 12, 10}));
  EXPECT_EQ(tokenizer->special().pad, 0);
  EXPECT_EQ(tokenizer->special().unk, 1);
  EXPECT_EQ(tokenizer->special().start, 2);
  EXPECT_EQ(tokenizer->special().end, 3);
  EXPECT_EQ(tokenizer->encode("[MASK]"), (std::vector<int32_t>{4}));
  EXPECT_EQ(train_wordpiece({"ab AB, ab", "ab ab abc abc", "b #"}, 13, {})->size(), 13);
}

TEST(WordPieceTraining, KnowsWhatItHasSeen) {
  const std::vector<std::string> lines = {
      "Ein Hund läuft über die Straße.", "Zwei Hunde laufen über die grüne Wiese.",
      "Der Mann läuft mit dem Hund über die Wiese; die Frau nicht.", "我们 在 路上。"};
  const WordPieceOptions cased{.lower_case = false};
  const auto tokenizer = train_wordpiece(lines, 120, cased);
  EXPECT_LE(tokenizer->size(), 120);
  EXPECT_EQ(tokenizer->serialize(), train_wordpiece(lines, 120, cased)->serialize());
  for (const std::string& line : lines) {
    for (const int32_t id : tokenizer->encode(line)) {
      EXPECT_NE(id, tokenizer->special().unk) << line;
    }
  }
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("Die Wiese über dem Hund.")),
            "Die Wiese über dem Hund.");
}

TEST(WordPieceTraining, RareCharactersAreLeftOut) {
  std::string line;
  for (char32_t c = 0x4E00; c < 0x4E00 + 1200; ++c) {  // each once, but the last 200 twice
    line += to_utf8(c);
    line += c >= 0x4E00 + 1000 ? " " + to_utf8(c) : "";
  }
  const auto tokenizer = train_wordpiece({line}, 2000, {});
  EXPECT_EQ(tokenizer->size(), 1005);
  EXPECT_TRUE(tokenizer->find(to_utf8(0x4E00)).has_value());
  EXPECT_FALSE(tokenizer->find(to_utf8(0x4E00 + 999)).has_value());
  EXPECT_TRUE(tokenizer->find(to_utf8(0x4E00 + 1199)).has_value());
}

TEST(WordPieceTraining, SaysWhatIsWrong) {
  EXPECT_EQ(error_of([] {
              train_wordpiece({"", " "}, 100, {});
            }),
            "[tokenizer] 2 lines hold no word to train from");
  EXPECT_EQ(error_of([] { train_wordpiece({"abc"}, 7, {}); }),
            "[tokenizer] vocabulary is 7, but special tokens and characters are 10; take a larger "
            "one");
  EXPECT_EQ(error_of([] { train_wordpiece({"abc"}, -1, {}); }),
            "[tokenizer] vocabulary is -1, but special tokens and characters are 10; take a larger "
            "one");
}

}  // namespace
}  // namespace heed
