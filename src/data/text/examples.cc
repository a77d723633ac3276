#include "data/text/examples.h"

#include <algorithm>
#include <functional>

#include "text/unicode.h"

namespace heed {
namespace {

constexpr size_t kExamples = 4;
constexpr size_t kLongest = 160;  // bytes: about two lines of a page
constexpr size_t kPromptWords = 6;

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  bool inside = false;
  for (const CodePoint& c : CodePoints(text)) {
    const bool space = is_space(c.value);
    if (!space) {
      if (!inside) {
        words.emplace_back();
      }
      words.back() += c.bytes;
    }
    inside = !space;
  }
  return words;
}

std::string joined(const std::vector<std::string>& words, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    text += (i == 0 ? "" : " ") + words[i];
  }
  return text;
}

// The first words that fit; all of a text that is short enough.
std::string shortened(const std::string& text) {
  if (text.size() <= kLongest) {
    return text;
  }
  const std::vector<std::string> words = words_of(text);
  size_t count = 0;
  for (size_t size = 0; count < words.size() && size + words[count].size() <= kLongest; ++count) {
    size += words[count].size() + 1;
  }
  return joined(words, count);
}

std::string prompt_of(const std::string& text) {
  const std::vector<std::string> words = words_of(text);
  if (words.size() > 1) {
    return joined(words, std::min(kPromptWords, words.size() / 2));
  }
  // Languages without spaces, and letters as tokens.
  const size_t half = std::min(text.size() / 2, kLongest / 4);
  std::string beginning;
  for (const CodePoint& c : CodePoints(text)) {
    if (beginning.size() >= half) {
      break;
    }
    beginning += c.bytes;
  }
  return beginning;
}

std::string masked_in(const std::string& text, const std::string& mask) {
  std::vector<std::string> words = words_of(text);
  if (words.size() < 2) {
    return "";
  }
  std::string& word = words[words.size() / 2];
  // Punctuation behind the word stays.
  size_t end = 0;
  for (size_t at = 0; const CodePoint& c : CodePoints(word)) {
    at += c.bytes.size();
    end = is_punctuation(c.value) ? end : at;
  }
  word = end == 0 ? mask : mask + word.substr(end);
  return joined(words, words.size());
}

bool contains(const std::vector<std::string>& texts, const std::string& text) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

std::vector<std::string> pick(const std::vector<std::string>& texts,
                              const std::function<std::string(const std::string&)>& form) {
  std::vector<std::string> usable;
  for (const bool whole : {true, false}) {
    for (const std::string& text : texts) {
      if (whole == (text.size() <= kLongest) && valid_utf8(text) && !words_of(text).empty()) {
        usable.push_back(text);
      }
    }
    if (usable.size() >= kExamples) {
      break;  // none has to be cut
    }
  }
  std::vector<std::string> picked;
  // From all over the texts first, then from wherever others are.
  for (const size_t every : {std::max<size_t>(1, usable.size() / kExamples), size_t{1}}) {
    for (size_t i = 0; i < usable.size() && picked.size() < kExamples; i += every) {
      const std::string made = form(shortened(usable[i]));
      if (!made.empty() && !contains(picked, made)) {
        picked.push_back(made);
      }
    }
  }
  return picked;
}

}  // namespace

std::vector<std::string> pick_examples(const std::vector<std::string>& texts) {
  return pick(texts, [](const std::string& text) { return text; });
}

std::vector<std::string> pick_examples(const std::vector<LabelledText>& rows) {
  std::vector<std::string> texts;
  texts.reserve(rows.size());
  for (const LabelledText& row : rows) {
    texts.push_back(row.pair.empty() ? row.text : row.text + "\t" + row.pair);
  }
  return pick_examples(texts);
}

std::vector<std::string> pick_prompts(const std::vector<std::string>& texts) {
  return pick(texts, prompt_of);
}

std::vector<std::string> pick_masked(const std::vector<std::string>& texts,
                                     const std::string& mask) {
  return pick(texts, [&](const std::string& text) { return masked_in(text, mask); });
}

}  // namespace heed
