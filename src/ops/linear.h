// Linear maps: y = activation(x W^T + b), and products of batches of matrices.
#pragma once

#include "kernels/elementwise/functions.h"
#include "tensor/tensor.h"

namespace heed {

// x [..., in], weight [out, in], bias [out] f32 or undefined -> [..., out]
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias,
              Activation activation = Activation::none);

// a [..., m, k] (or [..., k, m] if transpose_a) times b [..., k, n] (or [..., n, k] if
// transpose_b) -> [..., m, n]. Leading axes are equal, or b has none.
struct MatmulOptions {
  bool transpose_a = false;
  bool transpose_b = false;
};
Tensor matmul(const Tensor& a, const Tensor& b, MatmulOptions options = {});

}  // namespace heed
