#include "text/wordpiece_train.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "text/bpe/pair_merges.h"
#include "text/unicode.h"

namespace heed {
namespace {

constexpr size_t kMostCharacters = 1000;
constexpr int64_t kLeastCount = 2;  // what occurs once is no pattern

// By text, so that no order of a hash table gets into the result.
using WordCounts = std::map<std::string, int64_t>;

WordCounts count_words(const std::vector<std::string>& lines, const WordPieceOptions& options) {
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::unordered_map<std::string, int64_t, Hash, std::equal_to<>> counts;
  const std::function<void(std::string_view)> on_word = [&](std::string_view word) {
    const auto found = counts.find(word);
    if (found != counts.end()) {
      ++found->second;
    } else {
      counts.emplace(word, 1);
    }
  };
  for (const std::string& line : lines) {
    basic_split(line, options, on_word);
  }
  return {counts.begin(), counts.end()};
}

// The pieces learned so far.
class Pieces {
 public:
  explicit Pieces(const std::string& continuing) : continuing_(continuing) {
    for (const std::string_view special : kBertTokens) {
      add(std::string(special));
    }
  }

  int32_t add(std::string piece) {
    const auto [entry, fresh] = ids_.emplace(std::move(piece), static_cast<int32_t>(list_.size()));
    if (fresh) {
      list_.push_back(entry->first);
    }
    return entry->second;
  }
  int32_t join(int32_t left, int32_t right) {
    return add(list_[static_cast<size_t>(left)] +
               list_[static_cast<size_t>(right)].substr(continuing_.size()));
  }
  std::optional<int32_t> find(const std::string& piece) const {
    const auto found = ids_.find(piece);
    return found == ids_.end() ? std::nullopt : std::optional(found->second);
  }
  const std::vector<std::string>& list() const { return list_; }

 private:
  std::string continuing_;
  std::vector<std::string> list_;
  std::unordered_map<std::string, int32_t> ids_;
};

// Rare characters are left out when there are too many: words with them will be unknown.
void add_characters(const WordCounts& words, const std::string& continuing, Pieces& pieces) {
  struct Seen {
    int64_t count = 0;
    bool continues = false;
  };
  std::map<char32_t, Seen> characters;
  for (const auto& [word, count] : words) {
    bool first = true;
    for (const CodePoint& c : CodePoints(word)) {
      Seen& seen = characters[c.value];
      seen.count += count;
      seen.continues |= !first;
      first = false;
    }
  }
  std::vector<std::pair<char32_t, Seen>> kept(characters.begin(), characters.end());
  if (kept.size() > kMostCharacters) {
    std::stable_sort(kept.begin(), kept.end(),
                     [](const auto& a, const auto& b) { return a.second.count > b.second.count; });
    kept.resize(kMostCharacters);
    std::sort(kept.begin(), kept.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
  }
  for (const auto& [character, seen] : kept) {
    pieces.add(to_utf8(character));
  }
  for (const auto& [character, seen] : kept) {
    if (seen.continues) {
      pieces.add(continuing + to_utf8(character));
    }
  }
}

// Words of characters that have pieces; the others, and those that are too long, are unknown
// whatever pieces there are.
std::vector<CountedWord> to_symbols(const WordCounts& words, const WordPiece::Content& defaults,
                                    const Pieces& pieces) {
  std::vector<CountedWord> result;
  for (const auto& [word, count] : words) {
    CountedWord counted{.symbols = {}, .count = count};
    bool known = true;
    for (const CodePoint& c : CodePoints(word)) {
      const std::string text(c.bytes);
      const auto id = pieces.find(counted.symbols.empty() ? text : defaults.continuing + text);
      known = known && id.has_value();
      counted.symbols.push_back(id.value_or(-1));
    }
    if (known && static_cast<int64_t>(counted.symbols.size()) <= defaults.longest_word) {
      result.push_back(std::move(counted));
    }
  }
  return result;
}

}  // namespace

std::shared_ptr<const WordPiece> train_wordpiece(const std::vector<std::string>& lines,
                                                 int32_t vocabulary,
                                                 const WordPieceOptions& options) {
  const WordPiece::Content defaults;
  const WordCounts words = count_words(lines, options);
  check(!words.empty(), "[tokenizer] {} lines hold no word to train from", lines.size());
  Pieces pieces(defaults.continuing);
  add_characters(words, defaults.continuing, pieces);
  const auto most = static_cast<size_t>(std::max(vocabulary, 0));
  check(pieces.list().size() <= most,
        "[tokenizer] vocabulary is {}, but special tokens and characters are {}; take a larger one",
        vocabulary, pieces.list().size());
  merge_pairs(to_symbols(words, defaults, pieces), kLeastCount,
              [&](int32_t left, int32_t right) -> std::optional<int32_t> {
                if (pieces.list().size() == most) {
                  return std::nullopt;
                }
                return pieces.join(left, right);
              });
  std::string vocab_txt;
  for (const std::string& piece : pieces.list()) {
    vocab_txt += piece + "\n";
  }
  return WordPiece::from_vocab(vocab_txt, options, "tokenizer");
}

}  // namespace heed
