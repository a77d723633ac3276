// A language model that knows its loss better than by way of all logits.
#pragma once

#include "tensor/tensor.h"

namespace heed {

// Also a LanguageModel.
class LossModel {
 public:
  virtual ~LossModel() = default;
  // The mean of -log p of what follows tokens i32 [B,T], targets i32 [B,T]. Words that do not
  // follow are computed only as far as that needs it.
  virtual Tensor loss(const Tensor& tokens, const Tensor& targets) const = 0;
};

}  // namespace heed
