// GPT-2's words: the pieces of text that its merges do not cross. This is its published pattern,
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// without a pattern engine. A byte that is not UTF-8 counts as a character that is neither letter
// nor number nor space, so any text is the sum of its words. May be called from any thread.
#pragma once

#include <cstddef>
#include <string_view>

namespace heed {

// How many bytes the first word of a text takes; 0 only for an empty text.
size_t first_gpt2_word(std::string_view text);

template <typename OnWord>
void for_each_gpt2_word(std::string_view text, const OnWord& on_word) {
  while (!text.empty()) {
    const size_t length = first_gpt2_word(text);
    on_word(text.substr(0, length));
    text.remove_prefix(length);
  }
}

}  // namespace heed
