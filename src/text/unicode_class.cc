#include "text/unicode_class.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>

#include "text/unicode.h"

namespace heed {
namespace {

constexpr char32_t kCapitalDottedI = U'\u0130';
constexpr char32_t kCombiningDot = U'\u0307';
constexpr char32_t kCapitalSigma = U'\u03A3';
constexpr char32_t kFinalSigma = U'\u03C2';

utf8proc_category_t category(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

utf8proc_propval_t combining_class(char32_t c) {
  return utf8proc_get_property(static_cast<utf8proc_int32_t>(c))->combining_class;
}

// Marks, format characters and characters inside words, such as apostrophes.
bool is_case_ignorable(char32_t c) {
  switch (category(c)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
      return true;
    default:
      return c == U'\'' || c == U'.' || c == U':' || c == U'\u00B7' || c == U'\u2019';
  }
}

// A sigma after a letter and not before one, marks aside.
bool is_final_sigma(std::u32string_view text, size_t at) {
  size_t before = at;
  while (before > 0 && is_case_ignorable(text[before - 1])) {
    --before;
  }
  size_t after = at + 1;
  while (after < text.size() && is_case_ignorable(text[after])) {
    ++after;
  }
  return before > 0 && is_cased(text[before - 1]) &&
         (after == text.size() || !is_cased(text[after]));
}

}  // namespace

std::u32string to_code_points(std::string_view utf8) {
  std::u32string result;
  result.reserve(utf8.size());
  for (const CodePoint& c : CodePoints(utf8)) {
    result += c.value;
  }
  return result;
}

CharClass class_of(char32_t c) {
  if ((c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85) {
    return CharClass::kSpace;  // the controls among them are no separators to Unicode
  }
  const utf8proc_category_t k = category(c);
  if (k >= UTF8PROC_CATEGORY_ND && k <= UTF8PROC_CATEGORY_NO) {
    return CharClass::kNumber;
  }
  if (k >= UTF8PROC_CATEGORY_PC && k <= UTF8PROC_CATEGORY_PO) {
    return CharClass::kPunctuation;
  }
  if (k >= UTF8PROC_CATEGORY_SM && k <= UTF8PROC_CATEGORY_SO) {
    return CharClass::kSymbol;
  }
  return k >= UTF8PROC_CATEGORY_ZS && k <= UTF8PROC_CATEGORY_ZP ? CharClass::kSpace
                                                                : CharClass::kOther;
}

bool is_cased(char32_t c) {
  const utf8proc_category_t k = category(c);
  return k >= UTF8PROC_CATEGORY_LU && k <= UTF8PROC_CATEGORY_LT;
}

bool is_other(char32_t c) {
  const utf8proc_category_t k = category(c);
  return k == UTF8PROC_CATEGORY_CN || k >= UTF8PROC_CATEGORY_CC;
}

bool is_nonspacing_mark(char32_t c) { return category(c) == UTF8PROC_CATEGORY_MN; }

bool is_combining(char32_t c) { return is_nonspacing_mark(c) || combining_class(c) != 0; }

void append_decomposed(std::u32string_view text, std::u32string& result) {
  const size_t begin = result.size();
  std::array<utf8proc_int32_t, 8> parts{};  // no character has more than four
  int boundary = 0;
  for (const char32_t c : text) {
    const utf8proc_ssize_t count =
        utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), parts.data(), parts.size(),
                                UTF8PROC_DECOMPOSE, &boundary);
    for (utf8proc_ssize_t i = 0; i < count; ++i) {
      result += static_cast<char32_t>(parts[static_cast<size_t>(i)]);
    }
  }
  // Marks between two letters are ordered by their class; letters are of class 0.
  for (size_t at = begin; at < result.size();) {
    size_t end = at;
    while (end < result.size() && combining_class(result[end]) != 0) {
      ++end;
    }
    if (end - at > 1) {
      std::stable_sort(&result[at], &result[0] + end, [](char32_t a, char32_t b) {
        return combining_class(a) < combining_class(b);
      });
    }
    at = end + 1;
  }
}

void append_lower_case(char32_t c, std::u32string& result) {
  if (c == kCapitalDottedI) {
    result += U'i';
    result += kCombiningDot;
  } else {
    result += static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c)));
  }
}

std::u32string full_lower_case(std::u32string_view text) {
  std::u32string result;
  result.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const char32_t c = text[i];
    if (c == kCapitalSigma && is_final_sigma(text, i)) {
      result += kFinalSigma;
    } else {
      append_lower_case(c, result);
    }
  }
  return result;
}

}  // namespace heed
