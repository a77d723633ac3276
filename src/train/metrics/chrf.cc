#include "train/metrics/chrf.h"

#include <fmt/core.h>

#include <utility>

#include "base/error.h"
#include "text/unicode_class.h"
#include "train/metrics/score_text.h"

namespace heed {
namespace {

// What stands for the precision or recall of an order without n-grams.
constexpr double kEpsilon = 1e-16;

// ASCII only, as Python's string.punctuation.
bool is_edge_punctuation(char32_t c) {
  return (c >= U'!' && c <= U'/') || (c >= U':' && c <= U'@') || (c >= U'[' && c <= U'`') ||
         (c >= U'{' && c <= U'~');
}

// Words, with one punctuation mark at the end, or else at the beginning, as a word of its own.
std::vector<std::u32string_view> words_of(std::u32string_view text) {
  std::vector<std::u32string_view> words;
  for (const std::u32string_view word : split_at_spaces(text)) {
    const size_t last = word.size() - 1;
    if (last > 0 && is_edge_punctuation(word.back())) {
      words.insert(words.end(), {word.substr(0, last), word.substr(last)});
    } else if (last > 0 && is_edge_punctuation(word.front())) {
      words.insert(words.end(), {word.substr(0, 1), word.substr(1)});
    } else {
      words.push_back(word);
    }
  }
  return words;
}

double f_score(double precision, double recall, double beta, double otherwise) {
  const double factor = beta * beta;
  const double denominator = factor * precision + recall;
  return denominator > 0.0 ? (1.0 + factor) * precision * recall / denominator : otherwise;
}

double score_of(std::span<const ChrfCounts> counts, const ChrfOptions& options) {
  double precisions = 0.0;
  double recalls = 0.0;
  double f_scores = 0.0;
  int orders = 0;
  for (const ChrfCounts& order : counts) {
    const auto matched = static_cast<double>(order.matched);
    const bool in_hypothesis = order.hypothesis > 0;
    const bool in_reference = order.reference > 0;
    const double precision =
        in_hypothesis ? matched / static_cast<double>(order.hypothesis) : kEpsilon;
    const double recall = in_reference ? matched / static_cast<double>(order.reference) : kEpsilon;
    f_scores += f_score(precision, recall, options.beta, kEpsilon);
    if (in_hypothesis && in_reference) {
      precisions += precision;
      recalls += recall;
      ++orders;
    }
  }
  if (options.eps_smoothing) {
    return 100.0 * f_scores / static_cast<double>(counts.size());
  }
  return orders == 0 ? 0.0
                     : 100.0 * f_score(precisions / orders, recalls / orders, options.beta, 0);
}

// A line as both kinds of n-grams see it.
struct Line {
  Symbols characters;
  Symbols words;
};

class ChrfCounter {
 public:
  explicit ChrfCounter(const ChrfOptions& options)
      : options_(options), characters_(options.char_order), words_(options.word_order) {}

  // The counts of the reference with the best score for this sentence.
  std::vector<ChrfCounts> count(const std::string& hypothesis,
                                const std::vector<std::string>& references) {
    const Line line = read(hypothesis);
    std::vector<ChrfCounts> best;
    double best_score = -1.0;
    for (const std::string& reference : references) {
      std::vector<ChrfCounts> counts = compare(line, read(reference));
      const double score = score_of(counts, options_);
      if (score > best_score) {
        best_score = score;
        best = std::move(counts);
      }
    }
    return best;
  }

 private:
  Line read(const std::string& utf8) {
    std::u32string text = to_code_points(utf8);
    if (options_.lowercase) {
      text = full_lower_case(text);
    }
    Line line;
    if (options_.word_order > 0) {
      line.words = numbers_.of(words_of(text));
    }
    if (options_.remove_whitespace) {
      std::erase_if(text, [](char32_t c) { return class_of(c) == CharClass::kSpace; });
    }
    line.characters = std::move(text);
    return line;
  }

  std::vector<ChrfCounts> compare(const Line& hypothesis, const Line& reference) {
    std::vector<ChrfCounts> counts;
    append(counts, characters_, hypothesis.characters, reference.characters);
    append(counts, words_, hypothesis.words, reference.words);
    return counts;
  }

  static void append(std::vector<ChrfCounts>& counts, NgramMatcher& matcher,
                     const Symbols& hypothesis, const Symbols& reference) {
    int order = 0;
    for (const int64_t matched : matcher.matches(hypothesis, {&reference, 1})) {
      ++order;
      const int64_t wanted = ngram_count(reference.size(), order);
      // A reference too short for this order neither rewards nor punishes.
      counts.push_back({.hypothesis = wanted > 0 ? ngram_count(hypothesis.size(), order) : 0,
                        .reference = wanted,
                        .matched = matched});
    }
  }

  const ChrfOptions& options_;
  NgramMatcher characters_;
  NgramMatcher words_;
  WordNumbers numbers_;
};

}  // namespace

ChrfScore chrf(std::span<const std::string> hypotheses,
               std::span<const std::vector<std::string>> references, const ChrfOptions& options) {
  check(hypotheses.size() == references.size(),
        "[chrf] {} hypotheses, but references of {} sentences", hypotheses.size(),
        references.size());
  check(options.char_order > 0 && options.word_order >= 0,
        "[chrf] orders are {} and {}, expected 1 or more characters and 0 or more words",
        options.char_order, options.word_order);
  check(options.beta > 0, "[chrf] beta is {}, expected 1 or more", options.beta);
  ChrfScore score;
  score.counts.resize(static_cast<size_t>(options.char_order) +
                      static_cast<size_t>(options.word_order));
  ChrfCounter counter(options);
  for (size_t i = 0; i < hypotheses.size(); ++i) {
    check(!references[i].empty(), "[chrf] sentence {} has 0 references, expected 1 or more", i + 1);
    const std::vector<ChrfCounts> counts = counter.count(hypotheses[i], references[i]);
    for (size_t order = 0; order < counts.size(); ++order) {
      score.counts[order].hypothesis += counts[order].hypothesis;
      score.counts[order].reference += counts[order].reference;
      score.counts[order].matched += counts[order].matched;
    }
  }
  score.score = score_of(score.counts, options);
  score.references = common_reference_count(references);
  return score;
}

ChrfScore sentence_chrf(const std::string& hypothesis, const std::vector<std::string>& references,
                        const ChrfOptions& options) {
  return chrf({&hypothesis, 1}, {&references, 1}, options);
}

std::string chrf_name(const ChrfOptions& options) {
  return fmt::format("chrF{}{}", options.beta,
                     std::string(static_cast<size_t>(options.word_order), '+'));
}

std::string chrf_signature(const ChrfScore& score, const ChrfOptions& options,
                           const std::string& version) {
  return fmt::format("nrefs:{}|case:{}|eff:{}|nc:{}|nw:{}|space:{}|version:{}",
                     reference_count_text(score.references), options.lowercase ? "lc" : "mixed",
                     options.eps_smoothing ? "no" : "yes", options.char_order, options.word_order,
                     options.remove_whitespace ? "no" : "yes", version);
}

}  // namespace heed
