// Translations that a parallel model says at once, and improves in a few passes.
//
// The model first says how long a translation is; the likeliest few lengths are candidates. One
// pass then fills all positions of all candidates. Refinement goes on:
//
//   refined  shows the model its own words until they no longer change (Lee et al. 2018)
//   masked   hides the words that it was least sure of, fewer in each pass, and asks for them again
//            (mask-predict, Ghazvininejad et al. 2019)
//
// Among the candidates the one with the highest mean log-probability of a token wins, or the one
// that an autoregressive model takes for the likeliest: noisy parallel decoding (Gu et al. 2018).
#pragma once

#include <span>
#include <vector>

#include "decode/text/decoding.h"

namespace heed {

std::vector<std::vector<Hypothesis>> decode_in_one_pass(const ParallelModel& model,
                                                        std::span<const DecodeRequest> requests,
                                                        const DecodeOptions& options);

// Whether the model learned to go on from its own words.
bool can_refine(const TranslationModel& model);
std::vector<std::vector<Hypothesis>> decode_by_refinement(const ParallelModel& model,
                                                          std::span<const DecodeRequest> requests,
                                                          const DecodeOptions& options);

// Which token of a source of `source` tokens each of `target` positions copies, if copies are
// spread evenly; END, the last token, is copied by the last position.
std::vector<int32_t> spread_copies(int64_t source, int64_t target);
// The same where token s is copied fertilities[s] times, in order; one more position copies END.
std::vector<int32_t> fertile_copies(std::span<const int64_t> fertilities);

}  // namespace heed
