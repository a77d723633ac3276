// The core of training byte-pair encodings: which two neighbours to join next.
//
// Words are sequences of symbol ids. Again and again the pair of neighbours that occurs most often
// becomes one symbol everywhere; of equally frequent pairs the one with the smaller ids goes first,
// so the same words give the same merges. Counts are kept up to date word by word: a merge costs as
// much as the words that hold the pair are long.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace heed {

struct CountedWord {
  std::vector<int32_t> symbols;  // ids from 0
  int64_t count = 1;             // how often the word occurs
};

// Told of each merge in order, gives the id of the joined symbol: a new one, or one that exists if
// two ways lead to the same text. Nothing: enough.
using JoinSymbols = std::function<std::optional<int32_t>(int32_t left, int32_t right)>;

// Until join() has enough, or no pair occurs at least least_count times.
void merge_pairs(std::vector<CountedWord> words, int64_t least_count, const JoinSymbols& join);

}  // namespace heed
