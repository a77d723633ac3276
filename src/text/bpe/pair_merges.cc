#include "text/bpe/pair_merges.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <unordered_map>
#include <utility>

#include "base/error.h"

namespace heed {
namespace {

using Pair = uint64_t;  // orders as its two ids do

Pair pair_of(int32_t left, int32_t right) {
  return (static_cast<Pair>(static_cast<uint32_t>(left)) << 32U) | static_cast<uint32_t>(right);
}
int32_t left_of(Pair pair) { return static_cast<int32_t>(pair >> 32U); }
int32_t right_of(Pair pair) { return static_cast<int32_t>(pair & 0xFFFFFFFFU); }

// The index of a symbol among those of all words.
using Place = uint32_t;
constexpr Place kNone = std::numeric_limits<Place>::max();
constexpr int32_t kGone = -1;  // joined to the symbol before

struct Symbol {
  int32_t id;
  Place before;
  Place after;
  uint32_t word;
};

struct Occurrences {
  int64_t count = 0;
  std::vector<Place> places;  // of the left symbols; some no longer hold the pair
  bool grown = false;
};

struct Candidate {
  int64_t count;
  Pair pair;
  bool operator<(const Candidate& other) const {  // comes later
    return count != other.count ? count < other.count : pair > other.pair;
  }
};

// Words as chains of symbols, with the places of every pair.
class Chains {
 public:
  explicit Chains(const std::vector<CountedWord>& words) {
    size_t symbols = 0;
    for (const CountedWord& word : words) {
      symbols += word.symbols.size();
    }
    check(symbols < kNone,
          "[tokenizer] the different words have {} symbols, expected fewer than {}", symbols,
          kNone);
    symbols_.reserve(symbols);
    counts_.reserve(words.size());
    for (const CountedWord& word : words) {
      append(word);
    }
    queue_grown();
  }

  // The most frequent pair. Counts in the queue may be out of date, but are never too small.
  std::optional<Candidate> next() {
    while (!queue_.empty()) {
      const Candidate top = queue_.top();
      queue_.pop();
      const auto found = pairs_.find(top.pair);
      if (found == pairs_.end()) {
        continue;
      }
      const int64_t count = found->second.count;
      if (count == 0) {
        pairs_.erase(found);
      } else if (count == top.count) {
        return top;
      } else if (count < top.count) {  // otherwise a later entry says so
        queue_.push({count, top.pair});
      }
    }
    return std::nullopt;
  }

  void join(Pair pair, int32_t joined) {
    std::vector<Place> places = std::move(pairs_[pair].places);
    pairs_[pair].places.clear();
    std::sort(places.begin(), places.end());  // "aaa" is joined from the left
    for (const Place at : places) {
      const Symbol& left = symbols_[at];
      if (left.id != kGone && left.after != kNone && pair_at(at) == pair) {
        join_at(at, joined);
      }
    }
    queue_grown();
  }

 private:
  void append(const CountedWord& word) {
    const auto begin = static_cast<Place>(symbols_.size());
    const auto end = static_cast<Place>(begin + word.symbols.size());
    for (Place at = begin; at < end; ++at) {
      symbols_.push_back({.id = word.symbols[at - begin],
                          .before = at > begin ? at - 1 : kNone,
                          .after = at + 1 < end ? at + 1 : kNone,
                          .word = static_cast<uint32_t>(counts_.size())});
    }
    counts_.push_back(word.count);
    for (Place at = begin; at + 1 < end; ++at) {
      appear(at);
    }
  }

  void join_at(Place at, int32_t joined) {
    Symbol& left = symbols_[at];
    Symbol& right = symbols_[left.after];
    vanish(at);
    if (left.before != kNone) {
      vanish(left.before);
    }
    if (right.after != kNone) {
      vanish(left.after);
      symbols_[right.after].before = at;
    }
    left.id = joined;
    left.after = right.after;
    right.id = kGone;
    if (left.before != kNone) {
      appear(left.before);
    }
    if (left.after != kNone) {
      appear(at);
    }
  }

  Pair pair_at(Place left) const {
    return pair_of(symbols_[left].id, symbols_[symbols_[left].after].id);
  }

  void appear(Place left) {
    const Pair pair = pair_at(left);
    Occurrences& found = pairs_[pair];
    found.count += counts_[symbols_[left].word];
    found.places.push_back(left);
    if (!found.grown) {
      found.grown = true;
      grown_.push_back(pair);
    }
  }

  void vanish(Place left) { pairs_[pair_at(left)].count -= counts_[symbols_[left].word]; }

  void queue_grown() {
    for (const Pair pair : grown_) {
      Occurrences& found = pairs_[pair];
      found.grown = false;
      queue_.push({found.count, pair});
    }
    grown_.clear();
  }

  std::vector<Symbol> symbols_;
  std::vector<int64_t> counts_;  // by word
  std::unordered_map<Pair, Occurrences> pairs_;
  std::priority_queue<Candidate> queue_;
  std::vector<Pair> grown_;  // whose counts the queue does not know yet
};

}  // namespace

void merge_pairs(const std::vector<CountedWord>& words, int64_t least_count,
                 const JoinSymbols& join) {
  Chains chains(words);
  for (auto best = chains.next(); best && best->count >= least_count; best = chains.next()) {
    const std::optional<int32_t> joined = join(left_of(best->pair), right_of(best->pair));
    if (!joined) {
      return;
    }
    if (*joined != kStayApart) {
      chains.join(best->pair, *joined);
    }
  }
}

}  // namespace heed
