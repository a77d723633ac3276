// What the scores of translations (BLEU, chrF, TER) share: how a line becomes words, and counting
// the n-grams that two lines have in common. Line-for-line the same as sacreBLEU.
// The functions are pure; an object is for one thread at a time.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace heed {

enum class ScoreTokenizer {
  k13a,   // mteval-v13a: ASCII punctuation, with care for numbers
  kIntl,  // mteval-v14 "international": Unicode punctuation and symbols
  kChar,  // every character that is not a space
  kNone,  // the spaces that are there
};

std::string name_of(ScoreTokenizer tokenizer);
ScoreTokenizer score_tokenizer(const std::string& name);

// The line with spaces around each token; sequences of spaces may remain.
std::u32string tokenize(std::u32string_view line, ScoreTokenizer tokenizer);

// Steps that the tokenizers are made of, in place.
template <typename Which>
void isolate(std::u32string& text, Which which) {  // spaces around the characters it is true for
  std::u32string result;
  result.reserve(text.size() * 2);
  for (const char32_t c : text) {
    if (which(c)) {
      result.append({U' ', c, U' '});
    } else {
      result += c;
    }
  }
  text = std::move(result);
}
void replace_all(std::u32string& text, std::u32string_view from, std::u32string_view to);
void unescape_entities(std::u32string& text);          // &quot; &amp; &lt; &gt;, in this order
void split_western_punctuation(std::u32string& text);  // all ASCII punctuation but ' - . ,
void split_number_punctuation(std::u32string& text);   // . and , outside numbers; - after a digit

std::u32string_view without_trailing_space(std::u32string_view text);
std::vector<std::u32string_view> split_at_spaces(std::u32string_view text);

// How many references each sentence has; -1 if that differs. As text: "1", "var".
int common_reference_count(std::span<const std::vector<std::string>> references);
std::string reference_count_text(int count);

// A text as n-grams see it: its code points, or the numbers of its words.
using Symbols = std::u32string;

// Gives each distinct word a number.
class WordNumbers {
 public:
  Symbols of(std::span<const std::u32string_view> words);

 private:
  std::unordered_map<std::u32string, char32_t> numbers_;
};

inline int64_t ngram_count(size_t length, int order) {
  const int64_t count = static_cast<int64_t>(length) - order + 1;
  return count > 0 ? count : 0;
}

// Counts matching n-grams of the orders 1 to max_order. Keeps its memory between calls.
class NgramMatcher {
 public:
  explicit NgramMatcher(int max_order) : max_order_(max_order) {}

  // For each order: how many n-grams of the hypothesis are in a reference, an n-gram counting at
  // most as often as it is in the reference that has it most often.
  std::vector<int64_t> matches(const Symbols& hypothesis, std::span<const Symbols> references);

 private:
  // The n-grams of the hypothesis form a tree: an n-gram's parent is the n-gram without its last
  // symbol. Children are found through one hash table for the whole tree.
  struct Node {
    int order = 0;
    int64_t in_hypothesis = 0;
    int64_t in_reference = 0;
    int64_t most_in_reference = 0;
  };
  struct Slot {
    uint64_t parent_and_symbol = 0;
    uint32_t node = 0;  // 0, the root, is nobody's child: a free slot
  };

  void start(size_t hypothesis_length);
  Slot& slot(uint32_t parent, char32_t symbol);
  void add_hypothesis(const Symbols& text);
  void add_reference(const Symbols& text);

  int max_order_;
  std::vector<Node> nodes_;
  std::vector<Slot> slots_;  // a power of two, at least twice the nodes
};

}  // namespace heed
