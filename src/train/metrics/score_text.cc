#include "train/metrics/score_text.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "text/unicode_class.h"

namespace heed {
namespace {

constexpr std::array<std::pair<ScoreTokenizer, const char*>, 4> kTokenizers{{
    {ScoreTokenizer::k13a, "13a"},
    {ScoreTokenizer::kIntl, "intl"},
    {ScoreTokenizer::kChar, "char"},
    {ScoreTokenizer::kNone, "none"},
}};

bool is_digit(char32_t c) { return c >= U'0' && c <= U'9'; }
bool is_stop(char32_t c) { return c == U'.' || c == U','; }

bool is_western_punctuation(char32_t c) {
  return (c >= U'{' && c <= U'~') || (c >= U'[' && c <= U'`') || (c >= U' ' && c <= U'&') ||
         (c >= U'(' && c <= U'+') || (c >= U':' && c <= U'@') || c == U'/';
}

enum class Isolate { kFirst, kSecond };

// Puts spaces around the first or the second of each two neighbours that satisfy the conditions.
// Pairs do not overlap, as with a regular expression: a character that was the second of a pair is
// not the first of the next one. The published scores depend on that.
template <typename First, typename Second>
void isolate_in_pairs(std::u32string& text, Isolate which, First first, Second second) {
  std::u32string result;
  result.reserve(text.size() * 2);
  size_t i = 0;
  while (i < text.size()) {
    if (i + 1 == text.size() || !first(text[i]) || !second(text[i + 1])) {
      result += text[i++];
      continue;
    }
    if (which == Isolate::kFirst) {
      result.append({U' ', text[i], U' ', text[i + 1]});
    } else {
      result.append({text[i], U' ', text[i + 1], U' '});
    }
    i += 2;
  }
  text = std::move(result);
}

void tokenize_13a(std::u32string& text) {
  replace_all(text, U"<skipped>", U"");
  replace_all(text, U"-\n", U"");
  replace_all(text, U"\n", U" ");
  unescape_entities(text);
  text = U' ' + text + U' ';
  split_western_punctuation(text);
  split_number_punctuation(text);
}

void tokenize_intl(std::u32string& text) {
  const auto not_number = [](char32_t c) { return class_of(c) != CharClass::kNumber; };
  const auto is_punctuation = [](char32_t c) { return class_of(c) == CharClass::kPunctuation; };
  const auto is_symbol = [](char32_t c) { return class_of(c) == CharClass::kSymbol; };
  isolate_in_pairs(text, Isolate::kSecond, not_number, is_punctuation);
  isolate_in_pairs(text, Isolate::kFirst, is_punctuation, not_number);
  isolate(text, is_symbol);
}

}  // namespace

std::string name_of(ScoreTokenizer tokenizer) {
  return std::find_if(kTokenizers.begin(), kTokenizers.end(),
                      [&](const auto& entry) { return entry.first == tokenizer; })
      ->second;
}

ScoreTokenizer score_tokenizer(const std::string& name) {
  std::vector<std::string> names;
  for (const auto& [tokenizer, known] : kTokenizers) {
    if (name == known) {
      return tokenizer;
    }
    names.emplace_back(known);
  }
  fail("[score] there is no tokenizer \"{}\", did you mean \"{}\"?", name, nearest(name, names));
}

std::u32string tokenize(std::u32string_view line, ScoreTokenizer tokenizer) {
  std::u32string text(line);
  switch (tokenizer) {
    case ScoreTokenizer::k13a:
      tokenize_13a(text);
      break;
    case ScoreTokenizer::kIntl:
      tokenize_intl(text);
      break;
    case ScoreTokenizer::kChar:
      isolate(text, [](char32_t) { return true; });
      break;
    case ScoreTokenizer::kNone:
      break;
  }
  return text;
}

void replace_all(std::u32string& text, std::u32string_view from, std::u32string_view to) {
  size_t found = text.find(from);
  if (found == std::u32string::npos) {
    return;
  }
  std::u32string result;
  size_t copied = 0;
  for (; found != std::u32string::npos; found = text.find(from, copied)) {
    result.append(text, copied, found - copied).append(to);
    copied = found + from.size();
  }
  text = std::move(result.append(text, copied));
}

void unescape_entities(std::u32string& text) {
  replace_all(text, U"&quot;", U"\"");
  replace_all(text, U"&amp;", U"&");
  replace_all(text, U"&lt;", U"<");
  replace_all(text, U"&gt;", U">");
}

void split_western_punctuation(std::u32string& text) { isolate(text, is_western_punctuation); }

void split_number_punctuation(std::u32string& text) {
  const auto not_digit = [](char32_t c) { return !is_digit(c); };
  const auto is_dash = [](char32_t c) { return c == U'-'; };
  isolate_in_pairs(text, Isolate::kSecond, not_digit, is_stop);
  isolate_in_pairs(text, Isolate::kFirst, is_stop, not_digit);
  isolate_in_pairs(text, Isolate::kSecond, is_digit, is_dash);
}

std::u32string_view without_trailing_space(std::u32string_view text) {
  while (!text.empty() && class_of(text.back()) == CharClass::kSpace) {
    text.remove_suffix(1);
  }
  return text;
}

std::vector<std::u32string_view> split_at_spaces(std::u32string_view text) {
  std::vector<std::u32string_view> words;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || class_of(text[i]) == CharClass::kSpace) {
      if (i > begin) {
        words.push_back(text.substr(begin, i - begin));
      }
      begin = i + 1;
    }
  }
  return words;
}

int common_reference_count(std::span<const std::vector<std::string>> references) {
  if (references.empty()) {
    return 0;
  }
  const size_t count = references.front().size();
  const bool same = std::all_of(references.begin(), references.end(),
                                [&](const auto& sentence) { return sentence.size() == count; });
  return same ? static_cast<int>(count) : -1;
}

std::string reference_count_text(int count) { return count < 0 ? "var" : std::to_string(count); }

Symbols WordNumbers::of(std::span<const std::u32string_view> words) {
  Symbols numbers;
  numbers.reserve(words.size());
  for (const std::u32string_view word : words) {
    const auto next = static_cast<char32_t>(numbers_.size());
    numbers += numbers_.try_emplace(std::u32string(word), next).first->second;
  }
  return numbers;
}

std::vector<int64_t> NgramMatcher::matches(const Symbols& hypothesis,
                                           std::span<const Symbols> references) {
  start(hypothesis.size());
  add_hypothesis(hypothesis);
  for (const Symbols& reference : references) {
    add_reference(reference);
  }
  std::vector<int64_t> matched(static_cast<size_t>(max_order_), 0);
  for (size_t i = 1; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    matched[static_cast<size_t>(node.order - 1)] +=
        std::min(node.in_hypothesis, node.most_in_reference);
  }
  return matched;
}

void NgramMatcher::start(size_t hypothesis_length) {
  const size_t most_nodes = hypothesis_length * static_cast<size_t>(max_order_) + 1;
  nodes_.clear();
  nodes_.reserve(most_nodes);
  nodes_.emplace_back();
  slots_.assign(std::bit_ceil(2 * most_nodes), Slot{});
}

// Either the slot of that child, or the free one where it belongs.
NgramMatcher::Slot& NgramMatcher::slot(uint32_t parent, char32_t symbol) {
  constexpr uint64_t kGoldenRatio = 0x9E3779B97F4A7C15U;
  const uint64_t key = (uint64_t{parent} << 32U) | symbol;
  const size_t mask = slots_.size() - 1;
  size_t at = ((key * kGoldenRatio) >> 32U) & mask;
  while (slots_[at].node != 0 && slots_[at].parent_and_symbol != key) {
    at = (at + 1) & mask;
  }
  slots_[at].parent_and_symbol = key;
  return slots_[at];
}

void NgramMatcher::add_hypothesis(const Symbols& text) {
  for (size_t begin = 0; begin < text.size(); ++begin) {
    const size_t end = std::min(text.size(), begin + static_cast<size_t>(max_order_));
    uint32_t node = 0;
    for (size_t i = begin; i < end; ++i) {
      Slot& child = slot(node, text[i]);
      if (child.node == 0) {
        child.node = static_cast<uint32_t>(nodes_.size());
        nodes_.push_back({.order = static_cast<int>(i - begin) + 1});
      }
      node = child.node;
      ++nodes_[node].in_hypothesis;
    }
  }
}

void NgramMatcher::add_reference(const Symbols& text) {
  for (size_t begin = 0; begin < text.size(); ++begin) {
    const size_t end = std::min(text.size(), begin + static_cast<size_t>(max_order_));
    uint32_t node = 0;
    for (size_t i = begin; i < end; ++i) {
      node = slot(node, text[i]).node;
      if (node == 0) {
        break;  // what the hypothesis lacks, it lacks with more symbols too
      }
      ++nodes_[node].in_reference;
    }
  }
  for (Node& node : nodes_) {
    node.most_in_reference = std::max(node.most_in_reference, std::exchange(node.in_reference, 0));
  }
}

}  // namespace heed
