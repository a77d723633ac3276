// Normalisation, alone and fused with the residual connection in front of it.
#pragma once

#include "tensor/tensor.h"

namespace heed {

// gamma and beta [width] f32, or undefined for 1 and 0.
Tensor layer_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta, float epsilon = 1e-5F);
Tensor rms_norm(const Tensor& x, const Tensor& gamma, float epsilon = 1e-6F);

struct ResidualNorm {
  Tensor sum;     // x + dropout(branch)
  Tensor normed;  // layer_norm(sum)
};
struct NormOptions {
  float epsilon = 1e-5F;
  float dropout = 0.0F;  // while training
  bool rms = false;
};
// The Transformer's "add & norm" in one pass. Post-norm uses `normed` alone; pre-norm goes on with
// both.
ResidualNorm residual_norm(const Tensor& x, const Tensor& branch, const Tensor& gamma,
                           const Tensor& beta, NormOptions options = {});

}  // namespace heed
