#include "text/pair_merges.h"

#include <queue>
#include <unordered_map>
#include <utility>

namespace heed {
namespace {

using Pair = uint64_t;  // orders as its two ids do

Pair pair_of(int32_t left, int32_t right) {
  return (static_cast<Pair>(static_cast<uint32_t>(left)) << 32U) | static_cast<uint32_t>(right);
}
int32_t left_of(Pair pair) { return static_cast<int32_t>(pair >> 32U); }
int32_t right_of(Pair pair) { return static_cast<int32_t>(pair & 0xFFFFFFFFU); }

struct Occurrences {
  int64_t count = 0;
  std::vector<uint32_t> words;  // all that hold the pair, and some that did
  bool grown = false;
};

struct Candidate {
  int64_t count;
  Pair pair;
  bool operator<(const Candidate& other) const {
    return count != other.count ? count < other.count : pair > other.pair;
  }
};

class Merger {
 public:
  explicit Merger(std::vector<CountedWord> words) : words_(std::move(words)) {
    for (uint32_t w = 0; w < words_.size(); ++w) {
      const std::vector<int32_t>& symbols = words_[w].symbols;
      for (size_t i = 0; i + 1 < symbols.size(); ++i) {
        add(pair_of(symbols[i], symbols[i + 1]), w);
      }
    }
    queue_grown();
  }

  // The most frequent pair. What the queue says may be out of date, but never too small.
  std::optional<Candidate> next() {
    while (!queue_.empty()) {
      const Candidate top = queue_.top();
      queue_.pop();
      const auto found = pairs_.find(top.pair);
      const int64_t count = found == pairs_.end() ? 0 : found->second.count;
      if (count == top.count) {
        return top;
      }
      if (count > 0) {
        queue_.push({count, top.pair});
      }
    }
    return std::nullopt;
  }

  void join(Pair pair, int32_t joined) {
    const std::vector<uint32_t> holders = std::move(pairs_[pair].words);
    for (const uint32_t w : holders) {
      join_in(w, pair, joined);
    }
    pairs_.erase(pair);
    queue_grown();
  }

 private:
  void join_in(uint32_t w, Pair pair, int32_t joined) {
    std::vector<int32_t>& symbols = words_[w].symbols;
    size_t kept = 0;
    for (size_t i = 0; i < symbols.size(); ++i) {
      if (i + 1 == symbols.size() || pair_of(symbols[i], symbols[i + 1]) != pair) {
        symbols[kept++] = symbols[i];
        continue;
      }
      if (kept > 0) {
        remove(pair_of(symbols[kept - 1], symbols[i]), w);
        add(pair_of(symbols[kept - 1], joined), w);
      }
      ++i;
      if (i + 1 < symbols.size()) {
        remove(pair_of(symbols[i], symbols[i + 1]), w);
        add(pair_of(joined, symbols[i + 1]), w);
      }
      symbols[kept++] = joined;
    }
    symbols.resize(kept);
  }

  void add(Pair pair, uint32_t w) {
    Occurrences& found = pairs_[pair];
    found.count += words_[w].count;
    if (found.words.empty() || found.words.back() != w) {
      found.words.push_back(w);
    }
    if (!found.grown) {
      found.grown = true;
      grown_.push_back(pair);
    }
  }

  void remove(Pair pair, uint32_t w) { pairs_[pair].count -= words_[w].count; }

  void queue_grown() {
    for (const Pair pair : grown_) {
      const auto found = pairs_.find(pair);
      if (found != pairs_.end()) {
        found->second.grown = false;
        queue_.push({found->second.count, pair});
      }
    }
    grown_.clear();
  }

  std::vector<CountedWord> words_;
  std::unordered_map<Pair, Occurrences> pairs_;
  std::priority_queue<Candidate> queue_;
  std::vector<Pair> grown_;  // whose counts the queue does not know yet
};

}  // namespace

void merge_pairs(std::vector<CountedWord> words, int64_t least_count, const JoinSymbols& join) {
  Merger merger(std::move(words));
  for (auto best = merger.next(); best && best->count >= least_count; best = merger.next()) {
    const std::optional<int32_t> joined = join(left_of(best->pair), right_of(best->pair));
    if (!joined) {
      return;
    }
    merger.join(best->pair, *joined);
  }
}

}  // namespace heed
