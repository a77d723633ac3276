// BERT's basic tokenizer: text to words, before WordPiece looks at them.
//
// Controls, characters that no version of Unicode has assigned and bytes that are not UTF-8 vanish;
// words end at white space, and every punctuation mark and every Chinese character is a word of its
// own. The results are those of Hugging Face's BertNormalizer and BertPreTokenizer, even where
// these differ from Google's original code: a capital sigma is always "σ" in lower case. May be
// called from any thread.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "text/alignment.h"

namespace heed {

struct BasicSplitOptions {
  bool lower_case = true;
  std::optional<bool> strip_accents = {};  // same as lower_case if unset
  bool chinese_characters = true;          // each is a word of its own; else an ordinary letter
};

// A word is valid until on_word returns.
void basic_split(std::string_view text, const BasicSplitOptions& options,
                 const std::function<void(std::string_view word)>& on_word);

// The same words, with the bytes of the text that each byte of a word comes from. An accent that
// vanishes belongs to the letter before it.
using OnAlignedWord =
    std::function<void(std::string_view word, std::span<const TextRange> sources)>;
void basic_split_aligned(std::string_view text, const BasicSplitOptions& options,
                         const OnAlignedWord& on_word);

}  // namespace heed
