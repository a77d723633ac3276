// Greedy and beam search over a sequence-to-sequence model.
//
// Hypotheses are ranked by log P(y|x) / ((5 + |y|) / 6)^alpha, the length penalty of GNMT (Wu et
// al. 2016), where |y| counts END. What happens to a sentence depends on that sentence alone, so
// its translation is the same in whatever batch it comes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/model.h"
#include "text/tokenizer.h"

namespace heed {

struct DecodeOptions {
  int64_t beam = 4;             // 1: greedy
  float length_penalty = 0.6F;  // alpha
  int64_t n_best = 1;           // hypotheses returned, at most `beam`
  int64_t max_length = 0;       // of a translation in tokens; 0: 2 * source + 16
  bool forced_length = false;   // exactly max_length tokens: END is never said (for measuring)
  SpecialIds special = {};      // of the target
  int64_t vocabulary = 0;       // ids below may be said; 0: all that the model has
  int32_t end = -1;             // ends a translation; -1: END
  std::vector<std::vector<int32_t>> suppress = {};  // sequences that must not be said
};

struct Hypothesis {
  std::vector<int32_t> ids;      // without START and END
  double log_probability = 0.0;  // of the ids and END
  double score = 0.0;            // with the length penalty: what ranks
};

// A source with its ids as the model wants them, and what the translation must begin with.
struct DecodeRequest {
  std::vector<int32_t> source;
  std::vector<int32_t> prefix = {};
};

// One batch: the hypotheses of each request, at least one, best first.
std::vector<std::vector<Hypothesis>> decode_batch(const Seq2SeqModel& model,
                                                  std::span<const DecodeRequest> requests,
                                                  const DecodeOptions& options);

// Any number of requests: sorted by length, in batches of at most `batch_tokens` padded source
// tokens times the beam; results in the order of the requests.
std::vector<std::vector<Hypothesis>> decode_all(const Seq2SeqModel& model,
                                                std::span<const DecodeRequest> requests,
                                                const DecodeOptions& options, int64_t batch_tokens);

double length_penalty(int64_t length, float alpha);

}  // namespace heed
