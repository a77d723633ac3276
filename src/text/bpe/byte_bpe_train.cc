#include "text/bpe/byte_bpe_train.h"

#include <array>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "text/bpe/byte_alphabet.h"
#include "text/bpe/gpt2_split.h"
#include "text/bpe/pair_merges.h"

namespace heed {
namespace {

constexpr int64_t kLeastCount = 2;  // a merge that applies once shortens nothing else

std::unordered_map<std::string_view, int64_t> count_words(const std::vector<std::string>& texts) {
  const AddedTokens added({{.id = 0, .text = std::string(kEndOfText)}}, "tokenizer");
  std::unordered_map<std::string_view, int64_t> counts;
  const auto on_text = [&](std::string_view text) {
    for_each_gpt2_word(text, [&](std::string_view word) { ++counts[word]; });
  };
  for (const std::string& text : texts) {
    added.for_each_part(text, on_text, [](int32_t /*end*/, std::string_view /*token*/) {});
  }
  return counts;
}

// Each word as the ids of its bytes.
std::vector<CountedWord> to_symbols(const std::unordered_map<std::string_view, int64_t>& words) {
  std::array<int32_t, 256> ids = {};
  for (size_t id = 0; id < ids.size(); ++id) {
    ids[byte_alphabet_order()[id]] = static_cast<int32_t>(id);
  }
  std::vector<CountedWord> result;
  result.reserve(words.size());
  for (const auto& [word, count] : words) {
    CountedWord& counted = result.emplace_back(CountedWord{.symbols = {}, .count = count});
    counted.symbols.reserve(word.size());
    for (const char byte : word) {
      counted.symbols.push_back(ids[static_cast<uint8_t>(byte)]);
    }
  }
  return result;
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
  const auto join = [&](int32_t left, int32_t right) -> std::optional<int32_t> {
    if (pieces.size() + 1 >= static_cast<size_t>(vocabulary)) {
      return std::nullopt;
    }
    const std::string& first = pieces[static_cast<size_t>(left)];
    const std::string& second = pieces[static_cast<size_t>(right)];
    // "abc" may also result from other parts. As in GPT-2's own list, each piece has one merge.
    if (!known.insert(first + second).second) {
      return kStayApart;
    }
    content.merges.emplace_back(first, second);
    pieces.push_back(first + second);
    return static_cast<int32_t>(pieces.size()) - 1;
  };
  merge_pairs(to_symbols(count_words(texts)), kLeastCount, join);
  content.added.push_back(
      {.id = static_cast<int32_t>(pieces.size()), .text = std::string(kEndOfText)});
  return std::make_shared<const ByteBpe>(std::move(content), "tokenizer");
}

}  // namespace heed
