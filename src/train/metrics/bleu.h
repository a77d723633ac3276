// BLEU (Papineni et al., 2002) of a corpus or of one sentence, with sacreBLEU's numbers: the
// tokenizers and smoothings of Post (2018), "A call for clarity in reporting BLEU scores".
// Pure functions; safe to call from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "train/metrics/score_text.h"

namespace heed {

// What an order without any match counts as (Chen and Cherry, 2014).
enum class BleuSmoothing {
  kExp,    // 1/2, 1/4, ... match for the first, second, ... such order
  kFloor,  // smooth_value matches
  kAddK,   // smooth_value more n-grams, all of them matching, in every order above 1
  kNone,   // nothing: the score is 0
};

std::string name_of(BleuSmoothing smoothing);
BleuSmoothing bleu_smoothing(const std::string& name);

struct BleuOptions {
  ScoreTokenizer tokenizer = ScoreTokenizer::k13a;
  BleuSmoothing smoothing = BleuSmoothing::kExp;
  std::optional<double> smooth_value = std::nullopt;  // 0.1 for floor and 1 for add-k unless given
  bool lowercase = false;
  bool effective_order = false;  // leave out orders longer than the text; for sentences
  int max_order = 4;
};

// All that a score is computed from; counts of several parts of a corpus add up.
struct BleuCounts {
  std::vector<int64_t> correct;  // by order, from 1
  std::vector<int64_t> total;
  int64_t hypothesis_length = 0;
  int64_t reference_length = 0;  // of the references nearest in length
};

struct BleuScore {
  double score = 0.0;              // 0 to 100
  std::vector<double> precisions;  // 0 to 100, by order
  double brevity_penalty = 0.0;
  BleuCounts counts;
  int references = 0;  // per sentence; -1 if that differs

  double length_ratio() const;  // of the hypotheses to the references
  std::string details() const;  // "58.4/32.0/19.9/12.7 (BP = 0.991 ratio = ...)"
};

// references[i] are those of hypotheses[i]; a sentence needs at least one, which may be empty.
BleuScore bleu(std::span<const std::string> hypotheses,
               std::span<const std::vector<std::string>> references,
               const BleuOptions& options = {});

// One sentence; use effective_order unless all texts are long.
BleuScore sentence_bleu(const std::string& hypothesis, const std::vector<std::string>& references,
                        const BleuOptions& options = {.effective_order = true});

BleuScore bleu_of_counts(BleuCounts counts, const BleuOptions& options = {});

// "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:heed-0.1.0", for version "heed-0.1.0".
std::string bleu_signature(const BleuScore& score, const BleuOptions& options,
                           const std::string& version);

}  // namespace heed
