// The backward pass of a linear map, for the ops that contain one.
#pragma once

#include "kernels/elementwise/activation.h"
#include "tensor/tensor.h"

namespace heed {

struct LinearGrads {
  const Tensor& x;
  const Tensor& weight;
  const Tensor& bias;  // may be undefined
  const Tensor& dy;    // gradient before the activation
};
void linear_backward(const LinearGrads& grads);

// scale * dy * activation'(x); for relu, x may be what came out of it.
Tensor activation_backward(Activation activation, const Tensor& x, const Tensor& dy,
                           float scale = 1.0F);

}  // namespace heed
