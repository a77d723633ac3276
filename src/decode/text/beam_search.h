// Greedy and beam search over a sequence-to-sequence model.
//
// Hypotheses are ranked by log P(y|x) / ((5 + |y|) / 6)^alpha, the length penalty of GNMT (Wu et
// al. 2016), where |y| counts END. What happens to a sentence depends on that sentence alone, so
// its translation is the same in whatever batch it comes.
#pragma once

#include <span>
#include <vector>

#include "decode/text/decoding.h"

namespace heed {

// One batch: the hypotheses of each request, at least one, best first.
std::vector<std::vector<Hypothesis>> beam_search(const Seq2SeqModel& model,
                                                 std::span<const DecodeRequest> requests,
                                                 const DecodeOptions& options);

}  // namespace heed
