// UTF-8 and the few facts about characters that tokenizers need. Text from outside may be any
// bytes: a byte that belongs to no character reads as U+FFFD. All functions may be called from any
// thread.
#pragma once

#include <iterator>
#include <string>
#include <string_view>

namespace heed {

inline constexpr char32_t kReplacementCharacter = 0xFFFD;
// What stands for a space in tokens, as SentencePiece has it.
inline constexpr std::string_view kSpaceMark = "▁";

bool valid_utf8(std::string_view text);

// A character and the bytes it was read from.
struct CodePoint {
  char32_t value = 0;
  std::string_view bytes;
};
// The first character of a text that is not empty.
CodePoint first_code_point(std::string_view text);

// for (const CodePoint& c : CodePoints(text)); the text must outlive the loop.
class CodePoints {
 public:
  class Iterator {
   public:
    explicit Iterator(std::string_view rest) : rest_(rest) { read(); }
    const CodePoint& operator*() const { return current_; }
    Iterator& operator++() {
      rest_.remove_prefix(current_.bytes.size());
      read();
      return *this;
    }
    bool operator==(std::default_sentinel_t /*end*/) const { return rest_.empty(); }

   private:
    void read() {
      if (!rest_.empty()) {
        current_ = first_code_point(rest_);
      }
    }
    std::string_view rest_;
    CodePoint current_;
  };

  explicit CodePoints(std::string_view text) : text_(text) {}
  Iterator begin() const { return Iterator(text_); }
  std::default_sentinel_t end() const { return {}; }

 private:
  std::string_view text_;
};

std::string to_utf8(char32_t character);

bool is_space(char32_t character);        // spaces of all widths, tabs, line ends
bool is_letter(char32_t character);       // of any script; also digits and combining marks
bool is_alphabetic(char32_t character);   // of any script; no digits, no marks: Unicode's L
bool is_punctuation(char32_t character);  // punctuation and symbols, emoji among them
bool is_lower_case(char32_t character);   // letters of scripts that have two cases: Unicode's Ll

char32_t lower_case(char32_t character);  // one character for one, so "ß" stays

}  // namespace heed
