#include "cli/pictures/label.h"

#include <fmt/core.h>

#include <cstdint>

#include "text/unicode.h"
#include "text/unicode_class.h"

namespace heed::cli {

std::string encode_utf8(std::u32string_view text) {
  std::string bytes;
  for (const char32_t letter : text) {
    bytes += to_utf8(letter);
  }
  return bytes;
}

std::string printable(std::string_view text) {
  std::string shown;
  for (const char32_t letter : to_code_points(text)) {
    if (letter == U'\n') {
      shown += "\\n";
    } else if (letter == U'\t') {
      shown += "\\t";
    } else if (letter < 0x20 || (letter >= 0x7F && letter < 0xA0)) {
      shown += fmt::format("\\x{:02x}", static_cast<uint32_t>(letter));
    } else {
      shown += to_utf8(letter == 0xFFFE || letter == 0xFFFF ? kReplacementCharacter : letter);
    }
  }
  return shown;
}

std::string escape_xml(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        // XML 1.0 has no way to write other control characters.
        escaped += static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n' ? ' ' : c;
    }
  }
  return escaped;
}

std::string shortened(std::string_view text, size_t length) {
  std::u32string letters = to_code_points(text);
  if (letters.size() > length) {
    letters.resize(length);
    letters.back() = U'\u2026';
  }
  return encode_utf8(letters);
}

}  // namespace heed::cli
