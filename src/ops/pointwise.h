// Arithmetic and functions, element by element.
//
// Where an op takes two tensors the second may repeat: it has the shape of the first, or of its
// last axes ([C] or [T,C] against [B,T,C]), or one element. It has the dtype of the first, or f32.
#pragma once

#include "kernels/elementwise/activation.h"
#include "tensor/tensor.h"

namespace heed {

Tensor add(const Tensor& a, const Tensor& b);
Tensor sub(const Tensor& a, const Tensor& b);
Tensor mul(const Tensor& a, const Tensor& b);
Tensor div(const Tensor& a, const Tensor& b);
// Among equals a is taken, and gets the gradient. NaN wins.
Tensor maximum(const Tensor& a, const Tensor& b);
Tensor minimum(const Tensor& a, const Tensor& b);

Tensor scale(const Tensor& x, float factor);
Tensor add_scalar(const Tensor& x, float value);

Tensor exp(const Tensor& x);
Tensor log(const Tensor& x);
Tensor sqrt(const Tensor& x);
Tensor rsqrt(const Tensor& x);  // 1 / sqrt(x)
Tensor square(const Tensor& x);
Tensor abs(const Tensor& x);  // its gradient at 0 is 0
Tensor neg(const Tensor& x);
Tensor sin(const Tensor& x);  // sin and cos: |x| < 39000
Tensor cos(const Tensor& x);
Tensor erf(const Tensor& x);
Tensor reciprocal(const Tensor& x);

// Activation::none gives x itself.
Tensor activate(const Tensor& x, Activation activation);

// While a tape is in scope: elements become 0 with probability p, the others grow by 1 / (1 - p).
// Otherwise x itself.
Tensor dropout(const Tensor& x, float p);

// a where the mask (i8) is not 0, else b. The mask and b may repeat over a.
Tensor where(const Tensor& mask, const Tensor& a, const Tensor& b);

}  // namespace heed
