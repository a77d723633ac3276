// The scores of lines. The search for the cheapest edits of one pair is in ter_edits.cc.
#include "train/metrics/ter.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "base/parallel.h"
#include "text/unicode_class.h"

namespace heed {
namespace {

bool between(char32_t c, char32_t first, char32_t last) { return c >= first && c <= last; }

bool is_asian_punctuation(char32_t c) {
  return between(c, 0x3001, 0x3002) || between(c, 0x3008, 0x3011) || between(c, 0x3014, 0x301F) ||
         between(c, 0xFF61, 0xFF65) || c == 0x30FB || between(c, 0xFF01, 0xFF02) ||
         between(c, 0xFF08, 0xFF09) || c == 0xFF0C || c == 0xFF0E || between(c, 0xFF1A, 0xFF1B) ||
         c == 0xFF1F;
}

// Ideographs with their radicals, strokes and compatibility forms. Kana stay together.
bool is_ideograph(char32_t c) {
  return between(c, 0x2E80, 0x2EFF) || between(c, 0x31C0, 0x31EF) || between(c, 0x3200, 0x4DBF) ||
         between(c, 0x4E00, 0x9FFF) || between(c, 0xF900, 0xFAFF) || between(c, 0xFE30, 0xFE4F);
}

void normalize_western(std::u32string& text) {
  replace_all(text, U"\n-", U"");
  replace_all(text, U"\n", U" ");
  unescape_entities(text);
  text = U' ' + text + U' ';
  split_western_punctuation(text);
  replace_all(text, U"'s ", U" 's ");
  split_number_punctuation(text);
}

std::u32string prepare(const std::string& line, const TerOptions& options) {
  const std::u32string all = to_code_points(line);
  std::u32string text(without_trailing_space(all));
  if (!options.case_sensitive) {
    text = full_lower_case(text);
  }
  if (options.normalized) {
    normalize_western(text);
    if (options.asian_support) {
      isolate(text, [](char32_t c) { return is_ideograph(c) || is_asian_punctuation(c); });
    }
  }
  if (options.no_punct) {
    std::erase_if(text, [&](char32_t c) {
      return std::u32string_view(U".,?:;!\"()").find(c) != std::u32string_view::npos ||
             (options.asian_support && is_asian_punctuation(c));
    });
  }
  return text;
}

struct SentenceEdits {
  int64_t edits = 0;
  double reference_length = 0.0;
};

SentenceEdits sentence_edits(const std::string& hypothesis,
                             const std::vector<std::string>& references,
                             const TerOptions& options) {
  WordNumbers numbers;
  const auto words_of = [&](const std::string& line) {
    const std::u32string text = prepare(line, options);
    return numbers.of(split_at_spaces(text));
  };
  const Symbols words = words_of(hypothesis);
  SentenceEdits best;
  size_t length = 0;
  for (size_t i = 0; i < references.size(); ++i) {
    const Symbols reference = words_of(references[i]);
    const int64_t edits = translation_edits(words, reference);
    best.edits = i == 0 ? edits : std::min(best.edits, edits);
    length += reference.size();
  }
  best.reference_length = static_cast<double>(length) / static_cast<double>(references.size());
  return best;
}

double rate(int64_t edits, double reference_length) {
  if (reference_length > 0.0) {
    return 100.0 * static_cast<double>(edits) / reference_length;
  }
  return edits > 0 ? 100.0 : 0.0;
}

}  // namespace

TerScore ter(std::span<const std::string> hypotheses,
             std::span<const std::vector<std::string>> references, const TerOptions& options) {
  check(hypotheses.size() == references.size(),
        "[ter] {} hypotheses, but references of {} sentences", hypotheses.size(),
        references.size());
  for (size_t i = 0; i < references.size(); ++i) {
    check(!references[i].empty(), "[ter] sentence {} has 0 references, expected 1 or more", i + 1);
  }
  std::vector<SentenceEdits> sentences(hypotheses.size());
  parallel_for(static_cast<int64_t>(sentences.size()), 1, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      sentences[i] = sentence_edits(hypotheses[i], references[i], options);
    }
  });
  TerScore score;
  for (const SentenceEdits& sentence : sentences) {
    score.edits += sentence.edits;
    score.reference_length += sentence.reference_length;
  }
  score.score = rate(score.edits, score.reference_length);
  score.references = common_reference_count(references);
  return score;
}

TerScore sentence_ter(const std::string& hypothesis, const std::vector<std::string>& references,
                      const TerOptions& options) {
  return ter({&hypothesis, 1}, {&references, 1}, options);
}

std::string ter_signature(const TerScore& score, const TerOptions& options,
                          const std::string& version) {
  const auto yes_no = [](bool value) { return value ? "yes" : "no"; };
  return fmt::format("nrefs:{}|case:{}|tok:tercom|norm:{}|punct:{}|asian:{}|version:{}",
                     reference_count_text(score.references),
                     options.case_sensitive ? "mixed" : "lc", yes_no(options.normalized),
                     yes_no(!options.no_punct), yes_no(options.asian_support), version);
}

}  // namespace heed
