// What training minimises, per target token.
#pragma once

#include <string>

#include "models/model.h"
#include "tensor/tensor.h"
#include "train/recipe.h"

namespace heed {

struct LossConfig {
  std::string kind = "cross_entropy";  // cross_entropy, kl or mse
  float label_smoothing = 0.0F;
  float agreement = 0.0F;

  // How often a batch is shown in one step.
  int64_t copies() const { return agreement > 0.0F ? 2 : 1; }
};
LossConfig loss_config(const StepConfig& train);

// logits [B,T,V], targets i32 [B,T] -> the mean over the targets that count, f32.
//   cross_entropy  -sum of q log p, where q is the target's one-hot, smoothed
//   kl             KL(q || p): the same less q's own entropy, so that it can reach 0
//   mse            squared distance of p and the one-hot target
// With `agreement` the second half of the rows repeats the first, with dropout of its own, and that
// many times the divergence of the two is added (R-Drop, Liang et al. 2021; its alpha is twice
// ours, since it adds the two cross-entropies where we take their mean).
Tensor sequence_loss(const Tensor& logits, const Tensor& targets, const LossConfig& config);

// Of `rows` made-up pairs of `length` tokens a side, config.copies() times: what a full batch
// takes.
Tensor made_up_loss(const Seq2SeqModel& model, int64_t rows, int64_t length,
                    const LossConfig& config);

}  // namespace heed
