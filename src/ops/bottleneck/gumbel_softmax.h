// Samples of a categorical distribution that gradients can pass: Gumbel-softmax (Jang, Gu and Poole
// 2017; Maddison, Mnih and Teh 2017).
#pragma once

#include "tensor/tensor.h"

namespace heed {

struct GumbelSoftmaxOptions {
  float temperature = 1.0F;
  float noise = 1.0F;     // 1 samples; 0 takes the likeliest
  float discrete = 1.0F;  // share of the rows that training makes one-hot; the others stay soft
};

// x [..., K], logits -> [..., K]: 1 at the likeliest place, else 0.
//
// While a tape is in scope, p = softmax((x + Gumbel noise) / temperature), and a row is either the
// one-hot vector of its largest element or p itself, as chance decides. In both the gradient is
// that of p (the straight-through estimator): dx = p (dy - sum(p dy)) / temperature.
Tensor gumbel_softmax(const Tensor& x, const GumbelSoftmaxOptions& options = {});

}  // namespace heed
