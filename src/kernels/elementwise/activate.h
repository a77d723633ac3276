// Activation functions over flat arrays, and their derivatives.
#pragma once

#include <cstdint>

#include "kernels/elementwise/activation.h"
#include "tensor/dtype.h"

namespace heed::kernels {

struct Activate {
  int64_t n;
  DType dtype;
  Activation activation;
  const void* x;
  void* y;  // may be x
};
void activate(const Activate& args);

struct ActivateBackward {
  int64_t n;
  DType dtype;
  Activation activation;
  const void* x;  // before the activation; for relu what comes out of it serves as well
  const void* dy;
  void* dx;  // may be dy
  float scale = 1.0F;
  bool accumulate = false;
};
void activate_backward(const ActivateBackward& args);

}  // namespace heed::kernels
