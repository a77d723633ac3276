// Checks that ops share; each text names the op and both values.
#pragma once

#include "base/error.h"
#include "tensor/tensor.h"

namespace heed {

inline void check_float(const char* op, const char* what, const Tensor& tensor) {
  check(tensor.defined() && (tensor.dtype() == DType::f32 || tensor.dtype() == DType::bf16),
        "[{}] {} is {}, expected f32 or bf16", op, what, tensor);
}

inline void check_dtype(const char* op, const char* what, const Tensor& tensor, DType dtype) {
  check(tensor.defined() && tensor.dtype() == dtype, "[{}] {} is {}, expected {}", op, what, tensor,
        name_of(dtype));
}

inline void check_shape(const char* op, const char* what, const Tensor& tensor,
                        const Shape& shape) {
  check(tensor.defined() && tensor.shape() == shape, "[{}] {} is {}, expected {}", op, what, tensor,
        shape);
}

inline void check_dropout(const char* op, float probability) {
  check(probability >= 0.0F && probability < 1.0F, "[{}] dropout is {}, expected 0 <= p < 1", op,
        probability);
}

// An optional f32 vector of `width`, such as a bias or a norm's gamma.
inline void check_vector(const char* op, const char* what, const Tensor& tensor, int64_t width) {
  if (tensor.defined()) {
    check_dtype(op, what, tensor, DType::f32);
    check_shape(op, what, tensor, {width});
  }
}

}  // namespace heed
