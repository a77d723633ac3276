// Speculative sampling (Leviathan, Kalman and Matias 2023): tokens that were drawn from another
// distribution become draws from the wanted one. A token x that was drawn with probability q(x) is
// taken over with probability min(1, p(x) / q(x)); where one is not, the token is drawn from what p
// has more than q, max(0, p - q), instead. Then every token is distributed as p says.
//
// Pure functions: the same numbers give the same tokens. Greedy decoding is the case in which p and
// q are certain.
#pragma once

#include <cstdint>
#include <span>

namespace heed {

// Whether a token that was drawn with probability q(x) counts as drawn from p. `uniform` is in
// [0, 1).
bool takes_over(double p, double q, double uniform);

// A token from what p has more than q.
int32_t draw_rest(std::span<const float> p, std::span<const float> q, double uniform);

// A token by its probability; those that are all 0 are an Error.
int32_t draw(std::span<const float> probabilities, double uniform);

}  // namespace heed
