// The backward pass of a linear map, for the ops that contain one.
#pragma once

#include "tensor/tensor.h"

namespace heed {

struct LinearGrads {
  const Tensor& x;
  const Tensor& weight;
  const Tensor& bias;  // may be undefined
  const Tensor& dy;    // gradient before the activation
};
void linear_backward(const LinearGrads& grads);

}  // namespace heed
