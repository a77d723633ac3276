#include "train/metrics/bleu.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "text/unicode_class.h"

namespace heed {
namespace {

constexpr std::array<std::pair<BleuSmoothing, const char*>, 4> kSmoothings{{
    {BleuSmoothing::kExp, "exp"},
    {BleuSmoothing::kFloor, "floor"},
    {BleuSmoothing::kAddK, "add-k"},
    {BleuSmoothing::kNone, "none"},
}};

double smooth_value(const BleuOptions& options) {
  return options.smooth_value.value_or(options.smoothing == BleuSmoothing::kFloor ? 0.1 : 1.0);
}

// The shorter of two lengths that are equally near.
int64_t nearest_length(int64_t length, std::span<const Symbols> references) {
  int64_t best = static_cast<int64_t>(references.front().size());
  for (const Symbols& reference : references) {
    const auto candidate = static_cast<int64_t>(reference.size());
    const int64_t gain = std::abs(length - best) - std::abs(length - candidate);
    if (gain > 0 || (gain == 0 && candidate < best)) {
      best = candidate;
    }
  }
  return best;
}

class BleuCounter {
 public:
  explicit BleuCounter(const BleuOptions& options)
      : options_(options), matcher_(options.max_order) {
    const auto orders = static_cast<size_t>(options.max_order);
    counts_.correct.assign(orders, 0);
    counts_.total.assign(orders, 0);
  }

  void add(const std::string& hypothesis, const std::vector<std::string>& references) {
    const Symbols words = words_of(hypothesis);
    references_.clear();
    for (const std::string& reference : references) {
      references_.push_back(words_of(reference));
    }
    const std::vector<int64_t> matched = matcher_.matches(words, references_);
    for (size_t i = 0; i < matched.size(); ++i) {
      counts_.correct[i] += matched[i];
      counts_.total[i] += ngram_count(words.size(), static_cast<int>(i) + 1);
    }
    const auto length = static_cast<int64_t>(words.size());
    counts_.hypothesis_length += length;
    counts_.reference_length += nearest_length(length, references_);
  }

  BleuCounts take() { return std::move(counts_); }

 private:
  Symbols words_of(const std::string& line) {
    std::u32string text = to_code_points(line);
    if (options_.lowercase) {
      text = full_lower_case(text);
    }
    const std::u32string tokens = tokenize(without_trailing_space(text), options_.tokenizer);
    return numbers_.of(split_at_spaces(tokens));
  }

  const BleuOptions& options_;
  NgramMatcher matcher_;
  WordNumbers numbers_;
  std::vector<Symbols> references_;
  BleuCounts counts_;
};

// The precisions as percentages; returns how many orders the score is the mean of.
int smoothed_precisions(const BleuCounts& counts, const BleuOptions& options,
                        std::vector<double>& precisions) {
  const double value = smooth_value(options);
  double halves = 1.0;
  int effective = 0;
  for (size_t i = 0; i < precisions.size(); ++i) {
    const double added = options.smoothing == BleuSmoothing::kAddK && i > 0 ? value : 0.0;
    const double correct = static_cast<double>(counts.correct[i]) + added;
    const double total = static_cast<double>(counts.total[i]) + added;
    if (total == 0.0) {
      break;
    }
    ++effective;
    if (correct > 0.0) {
      precisions[i] = 100.0 * correct / total;
    } else if (options.smoothing == BleuSmoothing::kExp) {
      halves *= 2.0;
      precisions[i] = 100.0 / (halves * total);
    } else if (options.smoothing == BleuSmoothing::kFloor) {
      precisions[i] = 100.0 * value / total;
    }
  }
  return options.effective_order ? effective : static_cast<int>(precisions.size());
}

double geometric_mean(std::span<const double> values) {
  double logs = 0.0;
  for (const double value : values) {
    if (value <= 0.0) {
      return 0.0;
    }
    logs += std::log(value);
  }
  return values.empty() ? 0.0 : std::exp(logs / static_cast<double>(values.size()));
}

}  // namespace

std::string name_of(BleuSmoothing smoothing) {
  return std::find_if(kSmoothings.begin(), kSmoothings.end(),
                      [&](const auto& entry) { return entry.first == smoothing; })
      ->second;
}

BleuSmoothing bleu_smoothing(const std::string& name) {
  std::vector<std::string> names;
  for (const auto& [smoothing, known] : kSmoothings) {
    if (name == known) {
      return smoothing;
    }
    names.emplace_back(known);
  }
  fail("[bleu] there is no smoothing \"{}\", did you mean \"{}\"?", name, nearest(name, names));
}

double BleuScore::length_ratio() const {
  return counts.reference_length == 0 ? 0.0
                                      : static_cast<double>(counts.hypothesis_length) /
                                            static_cast<double>(counts.reference_length);
}

std::string BleuScore::details() const {
  return fmt::format("{:.1f} (BP = {:.3f} ratio = {:.3f} hyp_len = {} ref_len = {})",
                     fmt::join(precisions, "/"), brevity_penalty, length_ratio(),
                     counts.hypothesis_length, counts.reference_length);
}

BleuScore bleu(std::span<const std::string> hypotheses,
               std::span<const std::vector<std::string>> references, const BleuOptions& options) {
  check(hypotheses.size() == references.size(),
        "[bleu] {} hypotheses, but references of {} sentences", hypotheses.size(),
        references.size());
  check(options.max_order > 0, "[bleu] max_order is {}, expected 1 or more", options.max_order);
  BleuCounter counter(options);
  for (size_t i = 0; i < hypotheses.size(); ++i) {
    check(!references[i].empty(), "[bleu] sentence {} has 0 references, expected 1 or more", i + 1);
    counter.add(hypotheses[i], references[i]);
  }
  BleuScore score = bleu_of_counts(counter.take(), options);
  score.references = common_reference_count(references);
  return score;
}

BleuScore sentence_bleu(const std::string& hypothesis, const std::vector<std::string>& references,
                        const BleuOptions& options) {
  return bleu({&hypothesis, 1}, {&references, 1}, options);
}

BleuScore bleu_of_counts(BleuCounts counts, const BleuOptions& options) {
  const auto orders = static_cast<size_t>(options.max_order);
  check(counts.correct.size() == orders && counts.total.size() == orders,
        "[bleu] counts of {} and {} orders, expected {}", counts.correct.size(),
        counts.total.size(), orders);
  BleuScore score;
  score.precisions.assign(orders, 0.0);
  const auto length = static_cast<double>(counts.hypothesis_length);
  const auto wanted = static_cast<double>(counts.reference_length);
  if (length >= wanted) {
    score.brevity_penalty = 1.0;
  } else if (length > 0.0) {
    score.brevity_penalty = std::exp(1.0 - wanted / length);
  }
  // Without a single match no smoothing makes up a score.
  if (std::any_of(counts.correct.begin(), counts.correct.end(), [](int64_t n) { return n > 0; })) {
    const int effective = smoothed_precisions(counts, options, score.precisions);
    score.score = score.brevity_penalty *
                  geometric_mean(std::span(score.precisions).first(static_cast<size_t>(effective)));
  }
  score.counts = std::move(counts);
  return score;
}

std::string bleu_signature(const BleuScore& score, const BleuOptions& options,
                           const std::string& version) {
  std::string smooth = name_of(options.smoothing);
  if (options.smoothing == BleuSmoothing::kFloor || options.smoothing == BleuSmoothing::kAddK) {
    smooth += fmt::format("[{:.2f}]", smooth_value(options));
  }
  return fmt::format("nrefs:{}|case:{}|eff:{}|tok:{}|smooth:{}|version:{}",
                     reference_count_text(score.references), options.lowercase ? "lc" : "mixed",
                     options.effective_order ? "yes" : "no", name_of(options.tokenizer), smooth,
                     version);
}

}  // namespace heed
