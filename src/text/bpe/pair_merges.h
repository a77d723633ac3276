// The core of training byte-pair encodings: which two neighbours to join next.
//
// Words are sequences of symbol ids. Again and again the pair of neighbours that occurs most often
// becomes one symbol everywhere; among equally frequent pairs the one with the smaller ids wins,
// so the same words give the same merges, in whatever order they come. A merge costs as much as it
// changes, however long the words are.
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

// Called for each pair in order. Returns the id of the joined symbol (a new one, or an existing one
// if two ways lead to the same text), kStayApart to leave the pair as it is, or nothing to stop.
using JoinSymbols = std::function<std::optional<int32_t>(int32_t left, int32_t right)>;
inline constexpr int32_t kStayApart = -1;

// Runs until join() stops it or no pair occurs at least least_count times. A pair that stays apart
// is offered again if it comes up anew.
void merge_pairs(const std::vector<CountedWord>& words, int64_t least_count,
                 const JoinSymbols& join);

}  // namespace heed
