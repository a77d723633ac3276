// Losses that compare a prediction with a target element by element.
#pragma once

#include <cstdint>

#include "kernels/elementwise/pointwise.h"

namespace heed::kernels {

// With prediction x and target t:
enum class Loss {
  mse,                          // (x - t)^2
  binary_cross_entropy_logits,  // log(1 + e^x) - x t
  binary_cross_entropy,         // -t log x - (1 - t) log(1 - x); logarithms end at -100
  kl_divergence,                // t (log t - x), x a logarithm; 0 where t is 0
};

struct LossValues {
  int64_t n;
  Loss loss;
  In x;
  In target;
  Operand weight = {{}, 0};  // multiplies the values; no data: 1
  Out y;                     // [n]
};
void loss_values(const LossValues& args);

// The sum of the values, the same for any number of threads; y is not used.
double loss_sum(const LossValues& args);

struct LossBackward {
  int64_t n;
  Loss loss;
  In x;
  In target;
  Operand weight = {{}, 0};
  Operand dy;      // one element, or n
  float scale;     // multiplies dy
  bool to_target;  // the gradient of the target, or else of x; for mse and kl_divergence
  Out out;
  bool accumulate = false;
};
// mse: 2 (x - t). Logits: sigmoid(x) - t. Probabilities: (x - t) / (x (1 - x)).
// kl_divergence: -t, and log t + 1 - x for the target (0 where t is 0). Times weight, dy and scale.
void loss_backward(const LossBackward& args);

}  // namespace heed::kernels
