#include "cli/label.h"

#include <fmt/core.h>

#include <bit>
#include <cstdint>

namespace heed::cli {
namespace {

struct Decoded {
  char32_t letter = kReplacement;
  size_t bytes = 1;
};

// The first letter of a text that is not empty.
Decoded decode_first(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const int ones = std::countl_one(byte(0));
  if (ones == 0) {
    return {byte(0), 1};
  }
  const auto length = static_cast<size_t>(ones);
  if (length < 2 || length > 4 || length > text.size()) {
    return {};
  }
  char32_t letter = byte(0) & (0x7FU >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) {
      return {};
    }
    letter = letter << 6U | (byte(i) & 0x3FU);
  }
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};  // what needs that many bytes
  const bool surrogate = letter >= 0xD800 && letter <= 0xDFFF;
  if (letter < kLeast[length] || letter > 0x10FFFF || surrogate) {
    return {};
  }
  return {letter, length};
}

void append(std::string& text, char32_t letter) {
  const auto tail = [&](unsigned shift) {
    text += static_cast<char>(0x80U | (letter >> shift & 0x3FU));
  };
  if (letter < 0x80) {
    text += static_cast<char>(letter);
  } else if (letter < 0x800) {
    text += static_cast<char>(0xC0U | letter >> 6U);
    tail(0);
  } else if (letter < 0x10000) {
    text += static_cast<char>(0xE0U | letter >> 12U);
    tail(6);
    tail(0);
  } else {
    text += static_cast<char>(0xF0U | letter >> 18U);
    tail(12);
    tail(6);
    tail(0);
  }
}

}  // namespace

std::u32string decode_utf8(std::string_view text) {
  std::u32string letters;
  while (!text.empty()) {
    const Decoded first = decode_first(text);
    letters += first.letter;
    text.remove_prefix(first.bytes);
  }
  return letters;
}

std::string encode_utf8(std::u32string_view text) {
  std::string bytes;
  for (const char32_t letter : text) {
    append(bytes, letter);
  }
  return bytes;
}

std::string printable(std::string_view text) {
  std::string shown;
  for (const char32_t letter : decode_utf8(text)) {
    if (letter == U'\n') {
      shown += "\\n";
    } else if (letter == U'\t') {
      shown += "\\t";
    } else if (letter < 0x20 || (letter >= 0x7F && letter < 0xA0)) {
      shown += fmt::format("\\x{:02x}", static_cast<uint32_t>(letter));
    } else {
      append(shown, letter == 0xFFFE || letter == 0xFFFF ? kReplacement : letter);
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
  std::u32string letters = decode_utf8(text);
  if (letters.size() > length) {
    letters.resize(length);
    letters.back() = U'\u2026';
  }
  return encode_utf8(letters);
}

}  // namespace heed::cli
