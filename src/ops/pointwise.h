// Arithmetic and functions, element by element.
//
// Where an op takes two tensors the second may repeat: it has the shape of the first, or of its
// last axes ([C] or [T,C] against [B,T,C]), or one element. It has the dtype of the first, or f32.
#pragma once

#include "kernels/elementwise/functions.h"
#include "tensor/tensor.h"

namespace heed {

// A function of the table (kernels/elementwise/functions.h) that is chosen at run time. Unary::none
// gives x itself.
Tensor pointwise(Unary function, const Tensor& x);
Tensor pointwise(Binary function, const Tensor& a, const Tensor& b);

inline Tensor add(const Tensor& a, const Tensor& b) { return pointwise(Binary::add, a, b); }
inline Tensor sub(const Tensor& a, const Tensor& b) { return pointwise(Binary::sub, a, b); }
inline Tensor mul(const Tensor& a, const Tensor& b) { return pointwise(Binary::mul, a, b); }
inline Tensor div(const Tensor& a, const Tensor& b) { return pointwise(Binary::div, a, b); }
// Among equals a is taken, and gets the gradient. NaN wins.
inline Tensor maximum(const Tensor& a, const Tensor& b) { return pointwise(Binary::maximum, a, b); }
inline Tensor minimum(const Tensor& a, const Tensor& b) { return pointwise(Binary::minimum, a, b); }
inline Tensor swiglu(const Tensor& a, const Tensor& b) {  // silu(a) * b
  return pointwise(Binary::swiglu, a, b);
}

Tensor scale(const Tensor& x, float factor);
Tensor add_scalar(const Tensor& x, float value);

inline Tensor relu(const Tensor& x) { return pointwise(Unary::relu, x); }
inline Tensor gelu(const Tensor& x) { return pointwise(Unary::gelu, x); }
inline Tensor gelu_tanh(const Tensor& x) { return pointwise(Unary::gelu_tanh, x); }
inline Tensor sigmoid(const Tensor& x) { return pointwise(Unary::sigmoid, x); }
inline Tensor tanh(const Tensor& x) { return pointwise(Unary::tanh, x); }
inline Tensor silu(const Tensor& x) { return pointwise(Unary::silu, x); }
inline Tensor softplus(const Tensor& x) { return pointwise(Unary::softplus, x); }
inline Tensor mish(const Tensor& x) { return pointwise(Unary::mish, x); }
inline Tensor elu(const Tensor& x) { return pointwise(Unary::elu, x); }
inline Tensor leaky_relu(const Tensor& x) { return pointwise(Unary::leaky_relu, x); }

inline Tensor exp(const Tensor& x) { return pointwise(Unary::exp, x); }
inline Tensor log(const Tensor& x) { return pointwise(Unary::log, x); }
inline Tensor sqrt(const Tensor& x) { return pointwise(Unary::sqrt, x); }
inline Tensor rsqrt(const Tensor& x) { return pointwise(Unary::rsqrt, x); }  // 1 / sqrt(x)
inline Tensor square(const Tensor& x) { return pointwise(Unary::square, x); }
inline Tensor abs(const Tensor& x) { return pointwise(Unary::abs, x); }  // its gradient at 0 is 0
inline Tensor neg(const Tensor& x) { return pointwise(Unary::neg, x); }
inline Tensor sin(const Tensor& x) { return pointwise(Unary::sin, x); }
inline Tensor cos(const Tensor& x) { return pointwise(Unary::cos, x); }
inline Tensor erf(const Tensor& x) { return pointwise(Unary::erf, x); }
inline Tensor reciprocal(const Tensor& x) { return pointwise(Unary::reciprocal, x); }

// While a tape is in scope: elements become 0 with probability p, the others grow by 1 / (1 - p).
// Otherwise x itself.
Tensor dropout(const Tensor& x, float p);

// a where the mask (i8) is not 0, else b. The mask and b may repeat over a.
Tensor where(const Tensor& mask, const Tensor& a, const Tensor& b);

}  // namespace heed
