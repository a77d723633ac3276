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

// Full lower-casing: also of dotted I (two code points) and of sigma at a word's end.
std::u32string full_lower_case(std::u32string_view text);

}  // namespace heed
