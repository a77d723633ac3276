// Training of WordPiece vocabularies, and the merging of pairs under it.
#include "text/wordpiece_train.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/error_of.h"
#include "text/pair_merges.h"
#include "text/unicode.h"

namespace heed {
namespace {

using testing::error_of;
using Merges = std::vector<std::pair<int32_t, int32_t>>;

// Joined symbols get the next free id.
Merges merges_of(const std::vector<CountedWord>& words, int32_t symbols, size_t most,
                 int64_t least_count = 1) {
  Merges merges;
  merge_pairs(words, least_count, [&](int32_t left, int32_t right) -> std::optional<int32_t> {
    if (merges.size() == most) {
      return std::nullopt;
    }
    merges.emplace_back(left, right);
    return symbols++;
  });
  return merges;
}

// The same by counting everything anew for each merge.
Merges slow_merges_of(std::vector<CountedWord> words, int32_t symbols, size_t most) {
  Merges merges;
  while (merges.size() < most) {
    std::map<std::pair<int32_t, int32_t>, int64_t> counts;
    for (const CountedWord& word : words) {
      for (size_t i = 0; i + 1 < word.symbols.size(); ++i) {
        counts[{word.symbols[i], word.symbols[i + 1]}] += word.count;
      }
    }
    std::pair<int32_t, int32_t> best;
    int64_t most_often = 0;
    for (const auto& [pair, count] : counts) {
      if (count > most_often) {
        most_often = count;
        best = pair;
      }
    }
    if (most_often == 0) {
      break;
    }
    merges.push_back(best);
    for (CountedWord& word : words) {
      std::vector<int32_t> joined;
      for (size_t i = 0; i < word.symbols.size(); ++i) {
        const bool here = i + 1 < word.symbols.size() && word.symbols[i] == best.first &&
                          word.symbols[i + 1] == best.second;
        joined.push_back(here ? symbols : word.symbols[i]);
        i += here ? 1 : 0;
      }
      word.symbols = joined;
    }
    ++symbols;
  }
  return merges;
}

TEST(PairMerges, MostFrequentFirst) {
  // "abab" three times, "bc" four times.
  const std::vector<CountedWord> words = {{{0, 1, 0, 1}, 3}, {{1, 2}, 4}};
  EXPECT_EQ(merges_of(words, 3, 10), (Merges{{0, 1}, {1, 2}, {3, 3}}));
  EXPECT_EQ(merges_of(words, 3, 1), (Merges{{0, 1}}));
  EXPECT_EQ(merges_of(words, 3, 10, 4), (Merges{{0, 1}, {1, 2}}));
  EXPECT_EQ(merges_of({}, 3, 10), Merges{});
  EXPECT_EQ(merges_of({{{0}, 9}, {{}, 9}}, 3, 10), Merges{});
}

TEST(PairMerges, RunsOfOneSymbol) {
  EXPECT_EQ(merges_of({{{0, 0, 0, 0, 0}, 1}}, 1, 10), (Merges{{0, 0}, {1, 0}, {1, 2}}));
}

TEST(PairMerges, TheSameAsCountingAnew) {
  uint32_t state = 3;
  const auto random = [&](uint32_t below) {
    state = state * 1664525U + 1013904223U;
    return (state >> 16U) % below;
  };
  for (int round = 0; round < 50; ++round) {
    std::vector<CountedWord> words(20);
    for (CountedWord& word : words) {
      word.count = 1 + random(5);
      for (uint32_t i = random(12); i > 0; --i) {
        word.symbols.push_back(static_cast<int32_t>(random(3)));
      }
    }
    EXPECT_EQ(merges_of(words, 3, 40), slow_merges_of(words, 3, 40));
  }
}

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
