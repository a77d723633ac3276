// Which bytes of a text each token stands for, and which tokens each word consists of: what tagging
// and highlighting need. Pure functions; safe to call from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace heed {

// Bytes [begin, end) of a text.
struct TextRange {
  size_t begin = 0;
  size_t end = 0;
  bool empty() const { return begin == end; }
  bool operator==(const TextRange&) const = default;
};

// Tokens [begin, end) of an encoding.
struct TokenRange {
  size_t begin = 0;
  size_t end = 0;
  bool empty() const { return begin == end; }
  bool operator==(const TokenRange&) const = default;
};

// Tokens with the text they stand for. From one token to the next neither begin nor end decreases.
// - A space that a token includes ("▁the", "Ġthe") is in its range; others lie between the ranges.
// - Tokens that share a character have the same range or overlap: "…" that is normalised to three
//   dots, or a character that is spelled as bytes. Only byte-level BPE cuts characters.
// - A token that stands for nothing in the text, such as a space put in front, has an empty range.
struct Encoding {
  std::vector<int32_t> ids;
  std::vector<TextRange> ranges;  // one per id
};

// The words of a text: the ranges between white space.
std::vector<TextRange> words_at_spaces(std::string_view text);

// For each word the tokens that stand for any part of it; none if the word vanished. A token that
// covers parts of several words belongs to each of them. Words must ascend and not overlap; the
// Error names the first that does not.
std::vector<TokenRange> tokens_of_words(std::span<const TextRange> tokens,
                                        std::span<const TextRange> words);

}  // namespace heed
