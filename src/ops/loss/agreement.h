// How far two predictions of the same targets, made with different dropout, disagree.
#pragma once

#include "base/ignore.h"
#include "tensor/tensor.h"

namespace heed {

// logits [2N..., V], of which the second half predicts again what the first did; targets i32, one
// for each row of the first half. The mean of (KL(p || q) + KL(q || p)) / 2 over the targets that
// are not `ignore`: f32, one element.
Tensor agreement(const Tensor& logits, const Tensor& targets, int32_t ignore = kIgnore);

}  // namespace heed
