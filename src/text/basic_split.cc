#include "text/basic_split.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

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

// Calls on_word(word, sources); sources are empty unless kAligned.
template <bool kAligned, typename OnWord>
class Splitter {
 public:
  Splitter(const BasicSplitOptions& options, const OnWord& on_word)
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
          append_byte(text[at], at);
          end_word();
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
  // Most words are ASCII letters and nothing else; they are copied only to lower-case capitals.
  size_t letters(std::string_view text, size_t begin) {
    size_t end = begin;
    bool capitals = false;
    while (end < text.size() && class_at(text, end) == ByteClass::kLetter) {
      capitals |= text[end] >= 'A' && text[end] <= 'Z';
      ++end;
    }
    const std::string_view run = text.substr(begin, end - begin);
    const bool lower = capitals && options_.lower_case;
    if (!kAligned && word_.empty() && !lower && (end == text.size() || !is_rare(text, end))) {
      on_word_(run, sources_);
      return end;
    }
    for (size_t at = begin; at < end; ++at) {
      const char c = text[at];
      append_byte(lower && c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c, at);
    }
    return end;
  }

  void append_byte(char c, size_t at) {
    word_ += c;
    if constexpr (kAligned) {
      sources_.push_back({at, at + 1});
    }
  }

  // Whether others() handles this byte; the word may continue after it.
  static bool is_rare(std::string_view text, size_t at) {
    return class_at(text, at) >= ByteClass::kDropped;
  }

  // Up to the next ASCII character that stays.
  size_t others(std::string_view text, size_t at) {
    size_t end = at;
    while (end < text.size() && is_rare(text, end)) {
      ++end;
    }
    size_t next = at;
    for (const CodePoint& c : CodePoints(text.substr(at, end - at))) {
      const TextRange source{next, next + c.bytes.size()};
      next = source.end;
      if (c.value == kReplacementCharacter || is_other(c.value)) {
        continue;
      }
      if (is_space(c.value)) {
        settle();
        end_word();
      } else if (options_.chinese_characters && is_chinese(c.value)) {
        settle();
        end_word();
        clean(c.value, source);
        settle();
        end_word();
      } else {
        clean(c.value, source);
      }
    }
    settle();
    return end;
  }

  void clean(char32_t c, TextRange source) {
    cleaned_ += c;
    if constexpr (kAligned) {
      cleaned_sources_.push_back(source);
    }
  }

  // Moves the cleaned characters into the word. Marks are looked for only now, since some
  // characters become one.
  void settle() {
    if (strip_accents_) {
      strip_accents();
    }
    if (options_.lower_case) {
      lower_case();
    }
    for (size_t i = 0; i < cleaned_.size(); ++i) {
      const bool mark = is_mark(cleaned_[i]);
      if (mark) {
        end_word();
      }
      word_ += to_utf8(cleaned_[i]);
      if constexpr (kAligned) {
        sources_.resize(word_.size(), cleaned_sources_[i]);
      }
      if (mark) {
        end_word();
      }
    }
    cleaned_.clear();
    cleaned_sources_.clear();
  }

  void strip_accents() {
    changed_.clear();
    append_decomposed(cleaned_, changed_);
    if constexpr (kAligned) {
      align_decomposed();
      size_t kept = 0;
      for (size_t i = 0; i < changed_.size(); ++i) {
        if (!is_nonspacing_mark(changed_[i])) {
          cleaned_sources_[kept++] = cleaned_sources_[i];
        }
      }
      cleaned_sources_.resize(kept);
    }
    cleaned_.swap(changed_);
    std::erase_if(cleaned_, is_nonspacing_mark);
  }

  // From sources of cleaned_ to those of changed_. Marks may have changed places, so a letter and
  // the marks after it share theirs.
  void align_decomposed() {
    std::vector<TextRange> sources;
    std::u32string parts;
    for (size_t i = 0; i < cleaned_.size(); ++i) {
      parts.clear();
      append_decomposed({&cleaned_[i], 1}, parts);
      sources.resize(sources.size() + parts.size(), cleaned_sources_[i]);
    }
    for (size_t at = 0; at < sources.size();) {
      size_t end = at + 1;
      while (end < sources.size() && is_combining(changed_[end])) {
        ++end;
      }
      const TextRange both{sources[at].begin, sources[end - 1].end};
      std::fill(&sources[at], &sources[0] + end, both);
      if (at == 0 && is_combining(changed_[0]) && !sources_.empty()) {
        sources_.back().end = both.end;  // the letter before them is in the word already
      }
      at = end;
    }
    cleaned_sources_.swap(sources);
  }

  void lower_case() {
    changed_.clear();
    std::vector<TextRange> sources;
    for (size_t i = 0; i < cleaned_.size(); ++i) {
      append_lower_case(cleaned_[i], changed_);
      if constexpr (kAligned) {
        sources.resize(changed_.size(), cleaned_sources_[i]);
      }
    }
    cleaned_.swap(changed_);
    cleaned_sources_.swap(sources);
  }

  void end_word() {
    if (!word_.empty()) {
      on_word_(word_, sources_);
      word_.clear();
      sources_.clear();
    }
  }

  const BasicSplitOptions& options_;
  bool strip_accents_;
  const OnWord& on_word_;
  std::string word_;                // what is known of the current word
  std::vector<TextRange> sources_;  // of its bytes
  std::u32string cleaned_;
  std::vector<TextRange> cleaned_sources_;
  std::u32string changed_;
};

}  // namespace

void basic_split(std::string_view text, const BasicSplitOptions& options,
                 const std::function<void(std::string_view)>& on_word) {
  const auto forward = [&](std::string_view word, const auto& /*sources*/) { on_word(word); };
  Splitter<false, decltype(forward)>(options, forward).split(text);
}

void basic_split_aligned(std::string_view text, const BasicSplitOptions& options,
                         const OnAlignedWord& on_word) {
  Splitter<true, OnAlignedWord>(options, on_word).split(text);
}

}  // namespace heed
