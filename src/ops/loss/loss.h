// Losses that compare a prediction with a target element by element.
//
// Targets have the prediction's dtype, or f32. Reduced losses are f32 scalars whatever the dtype;
// without reduction the result has the prediction's shape and dtype.
#pragma once

#include "ops/loss/reduction.h"
#include "tensor/tensor.h"

namespace heed {

// (prediction - target)^2; the target gets a gradient too if it wants one.
Tensor mse(const Tensor& prediction, const Tensor& target, Reduction reduction = Reduction::mean);

// log(1 + e^x) - x t for logits x and targets t in [0, 1], times `weight`, which may repeat over
// the logits as the second operand of ops/pointwise.h does. Target and weight are constants.
Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& target,
                                        const Tensor& weight = Tensor(),
                                        Reduction reduction = Reduction::mean);

// -t log p - (1 - t) log(1 - p), the logarithms bounded by -100. The target is a constant.
Tensor binary_cross_entropy(const Tensor& probabilities, const Tensor& target,
                            Reduction reduction = Reduction::mean);

// KL(p || q) = sum of p (log p - log q), with 0 log 0 = 0; p may want a gradient. batch_mean is
// what the name promises when rows are distributions.
Tensor kl_divergence(const Tensor& log_q, const Tensor& p,
                     Reduction reduction = Reduction::batch_mean);

}  // namespace heed
