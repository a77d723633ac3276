// Softmax and its logarithm along one axis of [outer, n, inner]; statistics are f32 and better.
#pragma once

#include <cstdint>

#include "kernels/copy.h"

namespace heed::kernels {

struct Softmax {
  int64_t outer;
  int64_t n;
  int64_t inner = 1;
  In x;
  Out y;
  bool log = false;
};
// A row of nothing but -inf has no distribution: softmax gives zeros, log_softmax -inf.
void softmax(const Softmax& args);

struct SoftmaxBackward {
  int64_t outer;
  int64_t n;
  int64_t inner = 1;
  In y;
  In dy;
  Out dx;
  bool log = false;
  bool accumulate = false;
};
// softmax: dx (+)= y (dy - sum(y dy)). Logarithm: dx (+)= dy - exp(y) sum(dy).
void softmax_backward(const SoftmaxBackward& args);

}  // namespace heed::kernels
