// The position-wise feed-forward network of the Transformer as one op:
//
//   y = dropout(activation(x W1^T + b1)) W2^T + b2
//
// As two linear maps it would keep the hidden layer twice, before and after the activation; as one
// it keeps it once and computes the other again on the way back.
#pragma once

#include "kernels/elementwise/functions.h"
#include "tensor/tensor.h"

namespace heed {

struct FeedForwardWeights {
  const Tensor& w1;  // [F, C]
  const Tensor& b1;  // f32 [F] or undefined
  const Tensor& w2;  // [C, F]
  const Tensor& b2;  // f32 [C] or undefined
};
struct FeedForwardOptions {
  Activation activation = Activation::relu;
  float dropout = 0.0F;  // while training
  uint64_t part = 0;     // of hidden units that are split over processes: each drops its own
};
// x [..., C] -> [..., C]
Tensor feed_forward(const Tensor& x, const FeedForwardWeights& weights,
                    FeedForwardOptions options = {});

}  // namespace heed
