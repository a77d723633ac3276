#include "text/bpe/pair_merges.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace heed {
namespace {

using Merges = std::vector<std::pair<int32_t, int32_t>>;

uint32_t next_random(uint32_t& state, uint32_t below) {
  state = state * 1664525U + 1013904223U;
  return (state >> 16U) % below;
}

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

// A merge costs as much as it changes: at the cost of the word's length for each of these, the test
// would take many seconds.
TEST(PairMerges, LongWords) {
  CountedWord word;
  uint32_t state = 7;
  for (int i = 0; i < 500'000; ++i) {
    word.symbols.push_back(static_cast<int32_t>(next_random(state, 64)));
  }
  EXPECT_EQ(merges_of({word}, 64, 4000).size(), 4000U);
  // Each merge halves the run; the last two are a pair that occurs once.
  EXPECT_EQ(merges_of({{std::vector<int32_t>(1U << 20U, 0), 1}}, 1, 100, 2).size(), 19U);
}

void join_everywhere(CountedWord& word, const std::pair<int32_t, int32_t>& pair, int32_t joined) {
  std::vector<int32_t> symbols;
  for (size_t i = 0; i < word.symbols.size(); ++i) {
    const bool here = i + 1 < word.symbols.size() && word.symbols[i] == pair.first &&
                      word.symbols[i + 1] == pair.second;
    symbols.push_back(here ? joined : word.symbols[i]);
    i += here ? 1 : 0;
  }
  word.symbols = symbols;
}

// As merge_pairs, by counting everything anew for each merge.
void slow_merge_pairs(std::vector<CountedWord> words, int64_t least_count,
                      const JoinSymbols& join) {
  std::set<std::pair<int32_t, int32_t>> apart;
  while (true) {
    std::map<std::pair<int32_t, int32_t>, int64_t> counts;
    for (const CountedWord& word : words) {
      for (size_t i = 0; i + 1 < word.symbols.size(); ++i) {
        counts[{word.symbols[i], word.symbols[i + 1]}] += word.count;
      }
    }
    std::pair<int32_t, int32_t> best;
    int64_t most_often = 0;
    for (const auto& [pair, count] : counts) {
      if (count > most_often && apart.count(pair) == 0) {
        most_often = count;
        best = pair;
      }
    }
    const auto joined =
        most_often == 0 || most_often < least_count ? std::nullopt : join(best.first, best.second);
    if (!joined) {
      return;
    }
    if (*joined == kStayApart) {
      apart.insert(best);
      continue;
    }
    for (CountedWord& word : words) {
      join_everywhere(word, best, *joined);
    }
  }
}

// What becomes of a pair whose text another symbol has already.
enum class Known { fresh, shared, apart };

// Symbols 0 to 2 are "a", "b" and "c".
class Joiner {
 public:
  Joiner(Known known, size_t most) : known_(known), most_(most) {}

  std::optional<int32_t> operator()(int32_t left, int32_t right) {
    if (merges.size() == most_) {
      return std::nullopt;
    }
    std::string text = texts_.at(static_cast<size_t>(left)) + texts_.at(static_cast<size_t>(right));
    const auto found = std::find(texts_.begin(), texts_.end(), text);
    if (found != texts_.end() && known_ == Known::apart) {
      return kStayApart;
    }
    merges.emplace_back(left, right);
    if (found != texts_.end() && known_ == Known::shared) {
      return static_cast<int32_t>(found - texts_.begin());
    }
    texts_.push_back(std::move(text));
    return static_cast<int32_t>(texts_.size()) - 1;
  }

  Merges merges;

 private:
  Known known_;
  size_t most_;
  std::vector<std::string> texts_ = {"a", "b", "c"};
};

TEST(PairMerges, TheSameAsCountingAnew) {
  uint32_t state = 3;
  for (int round = 0; round < 60; ++round) {
    std::vector<CountedWord> words(20);
    for (CountedWord& word : words) {
      word.count = 1 + next_random(state, 5);
      for (uint32_t i = next_random(state, round % 2 == 0 ? 12 : 60); i > 0; --i) {
        word.symbols.push_back(static_cast<int32_t>(next_random(state, 3)));
      }
    }
    for (const Known known : {Known::fresh, Known::shared, Known::apart}) {
      Joiner fast(known, 60);
      merge_pairs(words, 1 + round % 3, std::ref(fast));
      Joiner slow(known, 60);
      slow_merge_pairs(words, 1 + round % 3, std::ref(slow));
      ASSERT_EQ(fast.merges, slow.merges) << round;
      std::reverse(words.begin(), words.end());
    }
  }
}

}  // namespace
}  // namespace heed
