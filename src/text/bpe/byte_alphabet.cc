#include "text/bpe/byte_alphabet.h"

#include <cstddef>

#include "text/unicode.h"

namespace heed {
namespace {

constexpr bool stands_for_itself(size_t byte) {
  return (byte > 0x20 && byte < 0x7F) || (byte > 0xA0 && byte != 0xAD);
}

constexpr size_t kHidden = 68;                   // bytes that do not
constexpr size_t kCharacters = 0x100 + kHidden;  // the alphabet's are below this

struct Alphabet {
  std::array<uint8_t, 256> order = {};
  std::array<uint16_t, 256> character_of = {};
  std::array<int16_t, kCharacters> byte_of = {};  // -1: none
};

constexpr Alphabet make_alphabet() {
  Alphabet alphabet;
  for (int16_t& byte : alphabet.byte_of) {
    byte = -1;
  }
  size_t hidden = 0;
  for (size_t byte = 0; byte < 256; ++byte) {
    const size_t character = stands_for_itself(byte) ? byte : 0x100 + hidden++;
    alphabet.character_of[byte] = static_cast<uint16_t>(character);
    alphabet.byte_of[character] = static_cast<int16_t>(byte);
  }
  size_t place = 0;
  for (const int16_t byte : alphabet.byte_of) {
    if (byte >= 0) {
      alphabet.order[place++] = static_cast<uint8_t>(byte);
    }
  }
  return alphabet;
}

constexpr Alphabet kAlphabet = make_alphabet();

}  // namespace

std::string to_byte_alphabet(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char byte : bytes) {
    text += to_utf8(kAlphabet.character_of[static_cast<uint8_t>(byte)]);
  }
  return text;
}

std::optional<std::string> from_byte_alphabet(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    auto character = static_cast<char32_t>(static_cast<uint8_t>(text[at]));
    size_t length = 1;
    if (character >= 0x80) {
      const CodePoint read = first_code_point(text.substr(at));
      character = read.value;
      length = read.bytes.size();
    }
    const int16_t byte = character < kCharacters ? kAlphabet.byte_of[character] : int16_t{-1};
    if (byte < 0) {
      return std::nullopt;
    }
    bytes += static_cast<char>(byte);
    at += length;
  }
  return bytes;
}

const std::array<uint8_t, 256>& byte_alphabet_order() { return kAlphabet.order; }

}  // namespace heed
