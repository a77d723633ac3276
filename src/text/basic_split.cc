#include "text/basic_split.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "text/unicode.h"
#include "text/unicode_class.h"

namespace heed {
namespace {

// The last two are rare.
enum class ByteClass : uint8_t { kLetter, kSpace, kMark, kDropped, kNotAscii };

constexpr ByteClass class_of_byte(unsigned c) {
  if (c >= 0x80) {
    return ByteClass::kNotAscii;
  }
  if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
    return ByteClass::kSpace;
  }
  if (c < ' ' || c == 0x7F) {
    return ByteClass::kDropped;
  }
  // Also those that Unicode calls symbols, such as "$" and "^".
  const bool mark = (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
                    (c >= '{' && c <= '~');
  return mark ? ByteClass::kMark : ByteClass::kLetter;
}

constexpr std::array<ByteClass, 256> kByteClasses = [] {
  std::array<ByteClass, 256> classes{};
  for (unsigned c = 0; c < classes.size(); ++c) {
    classes[c] = class_of_byte(c);
  }
  return classes;
}();

ByteClass class_at(std::string_view text, size_t at) {
  return kByteClasses[static_cast<unsigned char>(text[at])];
}

// Ideographs only: Hangul, Hiragana and Katakana are letters to BERT.
bool is_chinese(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) ||
         (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B73F) ||
         (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B820 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

bool is_mark(char32_t c) {
  return c < 0x80 ? class_of_byte(c) == ByteClass::kMark : class_of(c) == CharClass::kPunctuation;
}

class Splitter {
 public:
  Splitter(const BasicSplitOptions& options, const std::function<void(std::string_view)>& on_word)
      : options_(options),
        strip_accents_(options.strip_accents.value_or(options.lower_case)),
        on_word_(on_word) {}

  void split(std::string_view text) {
    for (size_t at = 0; at < text.size();) {
      switch (class_at(text, at)) {
        case ByteClass::kLetter:
          at = letters(text, at);
          break;
        case ByteClass::kSpace:
          end_word();
          ++at;
          break;
        case ByteClass::kMark:
          end_word();
          on_word_(text.substr(at, 1));
          ++at;
          break;
        case ByteClass::kDropped:
        case ByteClass::kNotAscii:
          at = others(text, at);
          break;
      }
    }
    end_word();
  }

 private:
  // Most words are ASCII letters and nothing else; they are copied only to make capitals small.
  size_t letters(std::string_view text, size_t begin) {
    size_t end = begin;
    bool capitals = false;
    while (end < text.size() && class_at(text, end) == ByteClass::kLetter) {
      capitals |= text[end] >= 'A' && text[end] <= 'Z';
      ++end;
    }
    const std::string_view run = text.substr(begin, end - begin);
    const bool lower = capitals && options_.lower_case;
    if (word_.empty() && !lower && (end == text.size() || !is_rare(text, end))) {
      on_word_(run);
      return end;
    }
    for (const char c : run) {
      word_ += lower && c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
    }
    return end;
  }

  // Whether the word may go on behind what others() makes of this byte.
  static bool is_rare(std::string_view text, size_t at) {
    return class_at(text, at) >= ByteClass::kDropped;
  }

  // Up to the next ASCII character that stays.
  size_t others(std::string_view text, size_t at) {
    size_t end = at;
    while (end < text.size() && is_rare(text, end)) {
      ++end;
    }
    for (const CodePoint& c : CodePoints(text.substr(at, end - at))) {
      if (c.value == kReplacementCharacter || is_other(c.value)) {
        continue;
      }
      if (is_space(c.value)) {
        settle();
        end_word();
      } else if (options_.chinese_characters && is_chinese(c.value)) {
        settle();
        end_word();
        cleaned_ += c.value;
        settle();
        end_word();
      } else {
        cleaned_ += c.value;
      }
    }
    settle();
    return end;
  }

  // What is cleaned goes into the word. Only now marks are looked for: some characters become one.
  void settle() {
    if (strip_accents_) {
      decomposed_.clear();
      append_decomposed(cleaned_, decomposed_);
      cleaned_.swap(decomposed_);
      std::erase_if(cleaned_, is_nonspacing_mark);
    }
    if (options_.lower_case) {
      decomposed_.clear();
      for (const char32_t c : cleaned_) {
        append_lower_case(c, decomposed_);
      }
      cleaned_.swap(decomposed_);
    }
    for (const char32_t c : cleaned_) {
      const bool mark = is_mark(c);
      if (mark) {
        end_word();
      }
      word_ += to_utf8(c);
      if (mark) {
        end_word();
      }
    }
    cleaned_.clear();
  }

  void end_word() {
    if (!word_.empty()) {
      on_word_(word_);
      word_.clear();
    }
  }

  const BasicSplitOptions& options_;
  bool strip_accents_;
  const std::function<void(std::string_view)>& on_word_;
  std::string word_;  // what is known of the current word
  std::u32string cleaned_;
  std::u32string decomposed_;
};

}  // namespace

void basic_split(std::string_view text, const BasicSplitOptions& options,
                 const std::function<void(std::string_view)>& on_word) {
  Splitter(options, on_word).split(text);
}

}  // namespace heed
