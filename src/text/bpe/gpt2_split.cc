#include "text/bpe/gpt2_split.h"

#include <array>
#include <cstdint>

#include "text/unicode.h"
#include "text/unicode_class.h"

namespace heed {
namespace {

enum class Kind : uint8_t { other, letter, number, space };

constexpr std::array<Kind, 128> make_ascii_kinds() {
  std::array<Kind, 128> kinds = {};
  for (size_t c = 0; c < kinds.size(); ++c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool number = c >= '0' && c <= '9';
    const bool space = c == ' ' || (c >= '\t' && c <= '\r');
    kinds[c] = letter ? Kind::letter : number ? Kind::number : space ? Kind::space : Kind::other;
  }
  return kinds;
}
constexpr std::array<Kind, 128> kAsciiKinds = make_ascii_kinds();

Kind kind_of(char32_t character) {
  if (is_space(character)) {
    return Kind::space;
  }
  if (is_alphabetic(character)) {
    return Kind::letter;
  }
  return class_of(character) == CharClass::kNumber ? Kind::number : Kind::other;
}

struct Character {
  Kind kind;
  size_t bytes;
};

Character read_character(std::string_view text, size_t at) {
  const auto byte = static_cast<uint8_t>(text[at]);
  if (byte < kAsciiKinds.size()) {
    return {kAsciiKinds[byte], 1};
  }
  const CodePoint character = first_code_point(text.substr(at));
  return {kind_of(character.value), character.bytes.size()};
}

// Where the run of characters of this kind that starts at `at` ends.
size_t end_of_run(std::string_view text, size_t at, Kind kind) {
  while (at < text.size()) {
    const Character next = read_character(text, at);
    if (next.kind != kind) {
      break;
    }
    at += next.bytes;
  }
  return at;
}

// Bytes of 's, 't, 're and the like; 0 if the text begins with none.
size_t contraction(std::string_view text) {
  if (text.size() < 2 || text[0] != '\'') {
    return 0;
  }
  switch (text[1]) {
    case 's':
    case 't':
    case 'm':
    case 'd':
      return 2;
    default: {
      const std::string_view two = text.substr(1, 2);
      return two == "re" || two == "ve" || two == "ll" ? 3 : 0;
    }
  }
}

// At the end of a text the whole run; before a word all but its last character, which joins the
// word if it is " ".
size_t end_of_spaces(std::string_view text) {
  size_t last = 0;
  size_t at = 0;
  while (at < text.size()) {
    const Character next = read_character(text, at);
    if (next.kind != Kind::space) {
      return last > 0 ? last : at;
    }
    last = at;
    at += next.bytes;
  }
  return at;
}

}  // namespace

size_t first_gpt2_word(std::string_view text) {
  if (text.empty()) {
    return 0;
  }
  if (const size_t length = contraction(text); length > 0) {
    return length;
  }
  const size_t start = text[0] == ' ' && text.size() > 1 ? 1 : 0;
  const Character first = read_character(text, start);
  return first.kind == Kind::space ? end_of_spaces(text)
                                   : end_of_run(text, start + first.bytes, first.kind);
}

}  // namespace heed
