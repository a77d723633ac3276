// How tensors reach the kernels: raw elements, and operands that repeat.
#pragma once

#include <algorithm>

#include "kernels/elementwise/pointwise.h"
#include "ops/check.h"
#include "tensor/tensor.h"

namespace heed {

inline kernels::In in(const Tensor& t) { return {t.raw(), t.dtype(), t.frozen()}; }
inline kernels::Out out(const Tensor& t) { return {t.raw(), t.dtype()}; }

// The dtype of the op's main operand, or f32, which holds any of them.
inline void check_dtype_or_f32(const char* op, const char* what, const Tensor& tensor,
                               DType dtype) {
  check(tensor.defined() && (tensor.dtype() == dtype || tensor.dtype() == DType::f32),
        "[{}] {} is {}, expected {}", op, what, tensor,
        dtype == DType::f32 ? "f32" : "bf16 or f32");
}

// An operand whose elements repeat over `whole`: it has one element, or its shape is the last axes
// of `whole`.
inline void check_repeats(const char* op, const char* what, const Tensor& tensor,
                          const Shape& whole) {
  const auto part = tensor.shape().extents();
  const auto all = whole.extents();
  const bool suffix =
      part.size() <= all.size() && std::equal(part.rbegin(), part.rend(), all.rbegin());
  check(suffix || tensor.size() == 1, "[{}] {} is {}, expected {}, its last axes or one element",
        op, what, tensor.shape(), whole);
}

inline kernels::Operand repeated(const Tensor& t) { return {in(t), t.size()}; }

}  // namespace heed
