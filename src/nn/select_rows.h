// Picking rows of what a decoder remembers.
#pragma once

#include <span>
#include <vector>

#include "ops/shape/gather.h"
#include "tensor/tensor.h"

namespace heed {

// Row i of the result is row rows[i] of t. The rows as they are give t itself.
inline Tensor select_rows(const Tensor& t, std::span<const int64_t> rows) {
  if (!t.defined()) {
    return t;
  }
  bool same = static_cast<int64_t>(rows.size()) == t.dim(0);
  for (size_t i = 0; same && i < rows.size(); ++i) {
    same = rows[i] == static_cast<int64_t>(i);
  }
  if (same) {
    return t;
  }
  const std::vector<int32_t> indices(rows.begin(), rows.end());
  return index_select(t, 0, Tensor::from_ints(indices, {static_cast<int64_t>(indices.size())}));
}

}  // namespace heed
