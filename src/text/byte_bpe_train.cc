#include "text/byte_bpe_train.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <queue>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "text/byte_alphabet.h"
#include "text/gpt2_split.h"

namespace heed {
namespace {

constexpr int64_t kLeastCount = 2;  // a merge that applies once shortens nothing else

using Pair = std::pair<int32_t, int32_t>;
struct PairHash {
  size_t operator()(const Pair& pair) const {
    const uint64_t both = (static_cast<uint64_t>(static_cast<uint32_t>(pair.first)) << 32U) |
                          static_cast<uint32_t>(pair.second);
    return (both ^ (both >> 29U)) * 0x9E3779B97F4A7C15U >> 16U;
  }
};

std::unordered_map<std::string_view, int64_t> count_words(const std::vector<std::string>& texts) {
  const AddedTokens added({{.id = 0, .text = std::string(kEndOfText)}}, "tokenizer");
  std::unordered_map<std::string_view, int64_t> counts;
  const auto on_text = [&](std::string_view text) {
    for_each_gpt2_word(text, [&](std::string_view word) { ++counts[word]; });
  };
  for (const std::string& text : texts) {
    added.for_each_part(text, on_text, [](int32_t /*end*/) {});
  }
  return counts;
}

// All different words, one after the other, as chains of symbols, with the places of every pair, so
// that a merge costs as much as it changes.
class Corpus {
 public:
  explicit Corpus(const std::unordered_map<std::string_view, int64_t>& words);

  // The most frequent pair, or nothing if all are rare.
  std::optional<Pair> best_pair();
  void merge(const Pair& pair, int32_t merged);

 private:
  using Place = uint32_t;
  static constexpr Place kNone = std::numeric_limits<Place>::max();
  static constexpr int32_t kGone = -1;

  struct Symbol {
    int32_t id;
    Place before;
    Place after;
    uint32_t word;
  };
  struct Occurrences {
    int64_t count = 0;
    std::vector<Place> places;  // of the left symbol; some no longer hold the pair
  };
  struct Candidate {
    int64_t count;
    Pair pair;
    bool operator<(const Candidate& other) const {  // comes later
      return std::tie(count, other.pair) < std::tie(other.count, pair);
    }
  };

  void append(std::string_view word, int64_t count);
  void appear(Place left);
  void vanish(Place left);
  Pair pair_at(Place left) const { return {symbols_[left].id, symbols_[symbols_[left].after].id}; }

  std::array<int32_t, 256> byte_ids_ = {};
  std::vector<Symbol> symbols_;
  std::vector<int64_t> word_counts_;
  std::unordered_map<Pair, Occurrences, PairHash> pairs_;
  // Counts only fall once a pair is here; one that is too high is corrected when it comes up.
  std::priority_queue<Candidate> queue_;
};

Corpus::Corpus(const std::unordered_map<std::string_view, int64_t>& words) {
  for (size_t id = 0; id < byte_ids_.size(); ++id) {
    byte_ids_[byte_alphabet_order()[id]] = static_cast<int32_t>(id);
  }
  size_t bytes = 0;
  for (const auto& [word, count] : words) {
    bytes += word.size();
  }
  check(bytes < kNone, "[tokenizer] the different words have {} bytes, expected fewer than {}",
        bytes, kNone);
  symbols_.reserve(bytes);
  word_counts_.reserve(words.size());
  for (const auto& [word, count] : words) {
    append(word, count);
  }
  for (const auto& [pair, occurrences] : pairs_) {
    queue_.push({occurrences.count, pair});
  }
}

void Corpus::append(std::string_view word, int64_t count) {
  const auto begin = static_cast<Place>(symbols_.size());
  const auto end = static_cast<Place>(begin + word.size());
  for (Place at = begin; at < end; ++at) {
    symbols_.push_back({.id = byte_ids_[static_cast<uint8_t>(word[at - begin])],
                        .before = at > begin ? at - 1 : kNone,
                        .after = at + 1 < end ? at + 1 : kNone,
                        .word = static_cast<uint32_t>(word_counts_.size())});
  }
  word_counts_.push_back(count);
  for (Place at = begin; at + 1 < end; ++at) {
    appear(at);
  }
}

void Corpus::appear(Place left) {
  Occurrences& occurrences = pairs_[pair_at(left)];
  occurrences.count += word_counts_[symbols_[left].word];
  occurrences.places.push_back(left);
}

void Corpus::vanish(Place left) {
  pairs_[pair_at(left)].count -= word_counts_[symbols_[left].word];
}

std::optional<Pair> Corpus::best_pair() {
  while (!queue_.empty()) {
    const Candidate best = queue_.top();
    if (best.count < kLeastCount) {
      break;
    }
    queue_.pop();
    const auto found = pairs_.find(best.pair);
    const int64_t count = found == pairs_.end() ? 0 : found->second.count;
    if (count == best.count) {
      return best.pair;
    }
    if (count < best.count) {
      queue_.push({count, best.pair});
    }
  }
  return std::nullopt;
}

void Corpus::merge(const Pair& pair, int32_t merged) {
  std::vector<Place> places = std::move(pairs_[pair].places);
  std::sort(places.begin(), places.end());  // "aaa" merges from the left
  std::vector<Pair> fresh;
  for (const Place at : places) {
    Symbol& left = symbols_[at];
    if (left.id != pair.first || left.after == kNone || symbols_[left.after].id != pair.second) {
      continue;
    }
    Symbol& right = symbols_[left.after];
    if (left.before != kNone) {
      vanish(left.before);
    }
    if (right.after != kNone) {
      vanish(left.after);
    }
    left.id = merged;
    left.after = right.after;
    right.id = kGone;
    if (left.before != kNone) {
      appear(left.before);
      fresh.push_back(pair_at(left.before));
    }
    if (left.after != kNone) {
      symbols_[left.after].before = at;
      appear(at);
      fresh.push_back(pair_at(at));
    }
  }
  pairs_.erase(pair);
  std::sort(fresh.begin(), fresh.end());
  fresh.erase(std::unique(fresh.begin(), fresh.end()), fresh.end());
  for (const Pair& p : fresh) {
    queue_.push({pairs_[p].count, p});
  }
}

}  // namespace

std::shared_ptr<const ByteBpe> train_byte_bpe(const std::vector<std::string>& texts,
                                              int32_t vocabulary) {
  check(vocabulary >= 257, "[tokenizer] vocabulary is {}, expected at least 257: bytes and \"{}\"",
        vocabulary, kEndOfText);
  check(!texts.empty(), "[tokenizer] there are no texts to train from");
  ByteBpe::Content content;
  std::vector<std::string>& pieces = content.pieces;
  for (const uint8_t byte : byte_alphabet_order()) {
    pieces.push_back(to_byte_alphabet(std::string(1, static_cast<char>(byte))));
  }
  std::unordered_set<std::string> known(pieces.begin(), pieces.end());
  Corpus corpus(count_words(texts));
  while (pieces.size() + 1 < static_cast<size_t>(vocabulary)) {
    const std::optional<Pair> pair = corpus.best_pair();
    if (!pair) {
      break;
    }
    const std::string& left = pieces[static_cast<size_t>(pair->first)];
    const std::string& right = pieces[static_cast<size_t>(pair->second)];
    std::string merged = left + right;
    // "abc" may also come of other parts. As in GPT-2's own list, a piece has one merge.
    if (known.insert(merged).second) {
      corpus.merge(*pair, static_cast<int32_t>(pieces.size()));
      content.merges.emplace_back(left, right);
      pieces.push_back(std::move(merged));
    }
  }
  content.added.push_back(
      {.id = static_cast<int32_t>(pieces.size()), .text = std::string(kEndOfText)});
  return std::make_shared<const ByteBpe>(std::move(content), "tokenizer");
}

}  // namespace heed
