// BERT's basic tokenizer: text to words, before WordPiece looks at them.
//
// Controls, characters that no version of Unicode has assigned and bytes that are not UTF-8 vanish;
// words end at white space, and every punctuation mark and every Chinese character is a word of its
// own. The answers are those of Hugging Face's BertNormalizer and BertPreTokenizer, also where
// these differ from Google's first code: a capital sigma is always "σ" in lower case. May be called
// from any thread.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

namespace heed {

struct BasicSplitOptions {
  bool lower_case = true;
  std::optional<bool> strip_accents = {};  // as lower_case if not said
  bool chinese_characters = true;          // each is a word; else they are letters as others
};

// A word is valid until on_word returns.
void basic_split(std::string_view text, const BasicSplitOptions& options,
                 const std::function<void(std::string_view word)>& on_word);

}  // namespace heed
