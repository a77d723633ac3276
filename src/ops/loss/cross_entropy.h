// Cross-entropy of a softmax over the last axis, with label smoothing and ignored positions.
#pragma once

#include "base/ignore.h"
#include "ops/loss/reduction.h"
#include "tensor/tensor.h"

namespace heed {

struct CrossEntropyOptions {
  float label_smoothing = 0.0F;
  int32_t ignore = kIgnore;               // targets that do not count
  Tensor weights = {};                    // f32 [V]: how much each class counts
  Reduction reduction = Reduction::mean;  // mean: over the (weights of the) targets that count
};

// logits [..., V], targets i32 [...] -> f32, one element, or [...] for Reduction::none.
//
// The backward pass overwrites the logits with their gradient when nobody else holds them.
Tensor cross_entropy(const Tensor& logits, const Tensor& targets,
                     const CrossEntropyOptions& options = {});

}  // namespace heed
