// Only this file and unicode_class.cc know utf8proc.
#include "text/unicode.h"

#include <utf8proc.h>

#include <array>
#include <cstddef>

namespace heed {
namespace {

utf8proc_int32_t as_utf8proc(char32_t character) {
  return static_cast<utf8proc_int32_t>(character);
}

// How many bytes the first character takes; negative if it is not UTF-8.
utf8proc_ssize_t read_code_point(std::string_view text, utf8proc_int32_t& value) {
  return utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                          static_cast<utf8proc_ssize_t>(text.size()), &value);
}

}  // namespace

bool valid_utf8(std::string_view text) {
  while (!text.empty()) {
    utf8proc_int32_t value = 0;
    const utf8proc_ssize_t length = read_code_point(text, value);
    if (length <= 0) {
      return false;
    }
    text.remove_prefix(static_cast<size_t>(length));
  }
  return true;
}

CodePoint first_code_point(std::string_view text) {
  utf8proc_int32_t value = 0;
  const utf8proc_ssize_t length = read_code_point(text, value);
  if (length <= 0) {
    return {kReplacementCharacter, text.substr(0, 1)};
  }
  return {static_cast<char32_t>(value), text.substr(0, static_cast<size_t>(length))};
}

std::string to_utf8(char32_t character) {
  std::array<utf8proc_uint8_t, 4> bytes{};
  const utf8proc_ssize_t length = utf8proc_encode_char(as_utf8proc(character), bytes.data());
  return {reinterpret_cast<const char*>(bytes.data()), static_cast<size_t>(length)};
}

bool is_space(char32_t character) {
  if ((character >= '\t' && character <= '\r') || character == 0x85) {
    return true;  // controls to Unicode, space to everybody
  }
  const utf8proc_category_t category = utf8proc_category(as_utf8proc(character));
  return category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL ||
         category == UTF8PROC_CATEGORY_ZP;
}

bool is_letter(char32_t character) {
  const utf8proc_category_t category = utf8proc_category(as_utf8proc(character));
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_NO;
}

bool is_alphabetic(char32_t character) {
  const utf8proc_category_t category = utf8proc_category(as_utf8proc(character));
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

bool is_punctuation(char32_t character) {
  const utf8proc_category_t category = utf8proc_category(as_utf8proc(character));
  return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_SO;
}

bool is_lower_case(char32_t character) {
  return utf8proc_category(as_utf8proc(character)) == UTF8PROC_CATEGORY_LL;
}

char32_t lower_case(char32_t character) {
  return static_cast<char32_t>(utf8proc_tolower(as_utf8proc(character)));
}

}  // namespace heed
