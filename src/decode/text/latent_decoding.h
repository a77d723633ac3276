// Translations through discrete latents (Kaiser et al. 2018): a beam search over the codes of the
// latents, which are few, then one pass that says all tokens of every candidate.
//
// Candidates are ranked by log P(codes|x) + log P(y|codes,x), divided by the length penalty of beam
// search, or as an autoregressive model ranks them if the options name one.
#pragma once

#include <span>
#include <vector>

#include "decode/text/decoding.h"

namespace heed {

// `beam` sequences of codes for each source, 1: greedy. A hypothesis counts a step for each latent,
// for the end of the latents and for the last pass; its trace has what the tokens would be if the
// latents ended after the first, the second and so on.
std::vector<std::vector<Hypothesis>> decode_latents(const LatentModel& model,
                                                    std::span<const DecodeRequest> requests,
                                                    const DecodeOptions& options);

}  // namespace heed
