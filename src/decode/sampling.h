// Choosing the next token from logits.
//
// In this order: what was said before is made less likely, the temperature sharpens or flattens,
// top-k, top-p and min-p cut off what is unlikely, and a token is drawn from what is left. Pure
// functions: the same logits and random number give the same token.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"

namespace heed {

struct SamplingOptions {
  float temperature = 1.0F;         // 0: always the likeliest
  int64_t top_k = 0;                // only the k likeliest; 0: all
  float top_p = 1.0F;               // only the likeliest that together have this probability
  float min_p = 0.0F;               // only those with this share of the likeliest's probability
  float repetition_penalty = 1.0F;  // logits of tokens seen before are divided by it, or multiplied
                                    // where below 0 (Keskar et al. 2019)
};
void check_sampling(const SamplingOptions& options);

struct Candidate {
  int32_t id = 0;
  float probability = 0.0F;
};
// What may be drawn with its probabilities, which sum to 1, likeliest first. `seen` are tokens that
// the penalty concerns.
std::vector<Candidate> candidates(std::span<const float> logits, std::span<const int32_t> seen,
                                  const SamplingOptions& options);

// The same for every token: 0 for what may not be drawn.
std::vector<float> probabilities(std::span<const float> logits, std::span<const int32_t> seen,
                                 const SamplingOptions& options);

// `uniform` is in [0, 1).
int32_t draw(std::span<const Candidate> from, double uniform);

// The token that is drawn from candidates(), without sorting them all.
int32_t sample(std::span<const float> logits, std::span<const int32_t> seen,
               const SamplingOptions& options, double uniform);

}  // namespace heed
