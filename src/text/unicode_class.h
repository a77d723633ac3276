// Code points and their classes, as text scores need them: the same answers as Python's str, on
// which the published numbers rest. Pure functions; safe to call from any thread.
#pragma once

#include <string>
#include <string_view>

namespace heed {

// Each byte that is not part of valid UTF-8 becomes U+FFFD.
std::u32string to_code_points(std::string_view utf8);

enum class CharClass {
  kOther,  // letters, marks, controls
  kSpace,  // where Python's str.split() splits
  kNumber,
  kPunctuation,
  kSymbol,
};
CharClass class_of(char32_t c);

bool is_cased(char32_t c);            // a letter in upper, lower or title case
bool is_other(char32_t c);            // controls, formatting, private use, not assigned
bool is_nonspacing_mark(char32_t c);  // accents that stand over or under a letter
bool is_combining(char32_t c);        // those, and other marks that NFD puts in order

// Appends the canonical decomposition (NFD) of the text: accents after their letters, in order.
void append_decomposed(std::u32string_view text, std::u32string& result);
// Appends a character's lower case: two code points for dotted I, and never the final sigma.
void append_lower_case(char32_t c, std::u32string& result);
// Full lower-casing, including dotted I (two code points) and sigma at the end of a word.
std::u32string full_lower_case(std::u32string_view text);

}  // namespace heed
