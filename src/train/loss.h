// What training minimises, per target token.
#pragma once

#include <string>

#include "tensor/tensor.h"

namespace heed {

struct LossConfig {
  std::string kind = "cross_entropy";  // cross_entropy, kl or mse
  float label_smoothing = 0.0F;
};

// logits [B,T,V], targets i32 [B,T] -> the mean over the targets that count, f32.
//   cross_entropy  -sum of q log p, where q is the target's one-hot, smoothed
//   kl             KL(q || p): the same less q's own entropy, so that it can reach 0
//   mse            squared distance of p and the one-hot target
Tensor sequence_loss(const Tensor& logits, const Tensor& targets, const LossConfig& config);

}  // namespace heed
