// What training minimises, per target token.
#pragma once

#include <string>

#include "tensor/tensor.h"

namespace heed {

struct LossConfig {
  std::string kind = "cross_entropy";  // cross_entropy, kl or mse
  float label_smoothing = 0.0F;
  float agreement = 0.0F;
};

// logits [B,T,V], targets i32 [B,T] -> the mean over the targets that count, f32.
//   cross_entropy  -sum of q log p, where q is the target's one-hot, smoothed
//   kl             KL(q || p): the same less q's own entropy, so that it can reach 0
//   mse            squared distance of p and the one-hot target
// With `agreement` the second half of the rows repeats the first, with dropout of its own, and that
// many times the divergence of the two is added (R-Drop, Liang et al. 2021; its alpha is twice
// ours, since it adds the two cross-entropies where we take their mean).
Tensor sequence_loss(const Tensor& logits, const Tensor& targets, const LossConfig& config);

}  // namespace heed
