// Embedding: rows of a table.
#pragma once

#include "tensor/tensor.h"

namespace heed {

// indices i32 [...], table [V, C] -> scale * table[indices] [..., C]
Tensor embedding(const Tensor& indices, const Tensor& table, float scale = 1.0F);

}  // namespace heed
