// The discretised mixture of logistics (Salimans et al. 2017). A row holds K logits of weights, K
// means m and K log-scales s. Level v of L stands at x = 2 v / (L - 1) - 1 and takes x - d to x +
// d, d = 1 / (L - 1), the lowest level all that is below and the highest all that is above:
//
//   mass = sigmoid(a) - sigmoid(b),   a = (x + d - m) e^-s,   b = (x - d - m) e^-s
//   loss = -log sum over k of softmax(logits)_k mass_k
//
// Log-scales count as kMinLogScale at least, and have no gradient below. Losses are f32, finite up
// to parameters of 1e30; at the smallest scale the rounding of x alone is worth 3e-5 nats.
#pragma once

#include <cstdint>

#include "kernels/copy.h"

namespace heed::kernels {

inline constexpr float kMinLogScale = -7.0F;

struct LogisticMixture {
  int64_t rows;
  int64_t components;
  int64_t levels;
  In parameters;           // [rows, 3 components]
  const int32_t* targets;  // [rows]: levels
  int32_t ignore;          // rows with this target cost nothing
  float* losses;           // [rows]; not used by the backward pass
};
void logistic_mixture(const LogisticMixture& args);

struct LogisticMixtureBackward {
  LogisticMixture forward;
  const float* d_losses;  // [rows], or one value for all if d_uniform
  bool d_uniform = false;
  Out d_parameters;
  bool accumulate = false;
};
void logistic_mixture_backward(const LogisticMixtureBackward& args);

}  // namespace heed::kernels
