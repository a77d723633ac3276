#include "text/alignment.h"

#include "base/error.h"
#include "text/unicode.h"

namespace heed {

std::vector<TextRange> words_at_spaces(std::string_view text) {
  std::vector<TextRange> words;
  bool inside = false;
  size_t at = 0;
  for (const CodePoint& c : CodePoints(text)) {
    const bool space = is_space(c.value);
    if (!space && !inside) {
      words.push_back({at, at});
    }
    at += c.bytes.size();
    if (!space) {
      words.back().end = at;
    }
    inside = !space;
  }
  return words;
}

std::vector<TokenRange> tokens_of_words(std::span<const TextRange> tokens,
                                        std::span<const TextRange> words) {
  std::vector<TokenRange> result;
  result.reserve(words.size());
  size_t first = 0;  // tokens before it end before the current word
  size_t reached = 0;
  for (size_t w = 0; w < words.size(); ++w) {
    const TextRange& word = words[w];
    check(word.begin <= word.end && word.begin >= reached,
          "[words] word {} is [{}, {}), expected a range that begins at {} or later", w, word.begin,
          word.end, reached);
    reached = word.end;
    while (first < tokens.size() && (tokens[first].empty() || tokens[first].end <= word.begin)) {
      ++first;
    }
    size_t end = first;
    for (size_t t = first; !word.empty() && t < tokens.size() && tokens[t].begin < word.end; ++t) {
      end = tokens[t].empty() ? end : t + 1;
    }
    result.push_back({first, end});
  }
  return result;
}

}  // namespace heed
