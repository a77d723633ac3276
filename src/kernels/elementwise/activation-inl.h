// Activation functions and their derivatives on vectors, for kernels that fuse them.
#if defined(HEED_KERNELS_ELEMENTWISE_ACTIVATION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_ELEMENTWISE_ACTIVATION_INL_H_
#undef HEED_KERNELS_ELEMENTWISE_ACTIVATION_INL_H_
#else
#define HEED_KERNELS_ELEMENTWISE_ACTIVATION_INL_H_
#endif

#include <hwy/contrib/math/math-inl.h>

#include "kernels/elementwise/activation.h"
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

// exp that reaches exactly 0 for very negative arguments, as masked softmax needs.
HWY_INLINE FloatVec exp(FloatVec x) { return hn::Exp(FloatTag(), x); }

HWY_INLINE FloatVec sigmoid(FloatVec x) {
  // Highway's exp is defined up to 104 only.
  const FloatVec bounded = hn::Min(hn::Neg(x), set(88.0F));
  const FloatVec y = hn::Div(set(1.0F), hn::Add(set(1.0F), exp(bounded)));
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}

// Abramowitz and Stegun 7.1.26: at most 1.5e-7 off.
HWY_INLINE FloatVec erf(FloatVec x) {
  const FloatVec magnitude = hn::Abs(x);
  const FloatVec t = hn::Div(set(1.0F), hn::MulAdd(set(0.3275911F), magnitude, set(1.0F)));
  FloatVec polynomial = hn::MulAdd(set(1.061405429F), t, set(-1.453152027F));
  polynomial = hn::MulAdd(polynomial, t, set(1.421413741F));
  polynomial = hn::MulAdd(polynomial, t, set(-0.284496736F));
  polynomial = hn::MulAdd(polynomial, t, set(0.254829592F));
  polynomial = hn::Mul(polynomial, t);
  const FloatVec tail = exp(hn::Neg(hn::Mul(magnitude, magnitude)));
  return hn::CopySign(hn::NegMulAdd(polynomial, tail, set(1.0F)), x);
}

HWY_INLINE FloatVec softplus(FloatVec x) {
  // log(1 + e^x) = max(x, 0) + log(1 + e^-|x|)
  // Of NaN and a number, Max and Min give their second argument.
  return hn::Add(hn::Max(zero(), x), hn::Log1p(FloatTag(), exp(hn::Neg(hn::Abs(x)))));
}

inline constexpr float kGeluTanhScale = 0.7978845608F;  // sqrt(2 / pi)
inline constexpr float kGeluTanhCubic = 0.044715F;

// The argument of tanh in GPT-2's gelu, times two: 0.5 (1 + tanh(u)) = sigmoid(2u).
HWY_INLINE FloatVec gelu_tanh_argument(FloatVec x) {
  const FloatVec inner = hn::MulAdd(set(kGeluTanhCubic), hn::Mul(x, x), set(1.0F));
  return hn::Mul(set(2.0F * kGeluTanhScale), hn::Mul(x, inner));
}

HWY_INLINE FloatVec gaussian_cdf(FloatVec x) {
  return hn::MulAdd(set(0.5F), erf(hn::Mul(x, set(0.70710678F))), set(0.5F));
}

template <Activation kKind>
HWY_INLINE FloatVec activate(FloatVec x) {
  if constexpr (kKind == Activation::relu) {
    return hn::Max(zero(), x);
  } else if constexpr (kKind == Activation::gelu) {
    return hn::Mul(x, gaussian_cdf(x));
  } else if constexpr (kKind == Activation::gelu_tanh) {
    return hn::Mul(x, sigmoid(gelu_tanh_argument(x)));
  } else if constexpr (kKind == Activation::sigmoid) {
    return sigmoid(x);
  } else if constexpr (kKind == Activation::tanh) {
    return hn::Tanh(FloatTag(), x);
  } else if constexpr (kKind == Activation::silu) {
    return hn::Mul(x, sigmoid(x));
  } else if constexpr (kKind == Activation::softplus) {
    return softplus(x);
  } else if constexpr (kKind == Activation::mish) {
    return hn::Mul(x, hn::Tanh(FloatTag(), softplus(x)));
  } else if constexpr (kKind == Activation::elu) {
    return hn::IfThenElse(hn::Gt(x, zero()), x, hn::Expm1(FloatTag(), hn::Min(zero(), x)));
  } else if constexpr (kKind == Activation::leaky_relu) {
    return hn::Max(x, hn::Mul(x, set(kLeakySlope)));
  } else {
    return x;
  }
}

// d activate(x) / dx
template <Activation kKind>
HWY_INLINE FloatVec derivative(FloatVec x) {
  const FloatVec one = set(1.0F);
  if constexpr (kKind == Activation::relu) {
    return hn::IfThenElseZero(hn::Gt(x, zero()), one);
  } else if constexpr (kKind == Activation::gelu) {
    // Phi(x) + x phi(x)
    const FloatVec density = hn::Mul(set(0.3989422804F), exp(hn::Mul(set(-0.5F), hn::Mul(x, x))));
    return hn::MulAdd(x, density, gaussian_cdf(x));
  } else if constexpr (kKind == Activation::gelu_tanh) {
    // s + x s (1 - s) (2u)'
    const FloatVec s = sigmoid(gelu_tanh_argument(x));
    const FloatVec slope = hn::Mul(set(2.0F * kGeluTanhScale),
                                   hn::MulAdd(set(3.0F * kGeluTanhCubic), hn::Mul(x, x), one));
    return hn::MulAdd(hn::Mul(x, slope), hn::Mul(s, hn::Sub(one, s)), s);
  } else if constexpr (kKind == Activation::sigmoid) {
    const FloatVec s = sigmoid(x);
    return hn::Mul(s, hn::Sub(one, s));
  } else if constexpr (kKind == Activation::tanh) {
    const FloatVec t = hn::Tanh(FloatTag(), x);
    return hn::NegMulAdd(t, t, one);
  } else if constexpr (kKind == Activation::silu) {
    const FloatVec s = sigmoid(x);
    return hn::MulAdd(hn::Mul(x, s), hn::Sub(one, s), s);
  } else if constexpr (kKind == Activation::softplus) {
    return sigmoid(x);
  } else if constexpr (kKind == Activation::mish) {
    const FloatVec t = hn::Tanh(FloatTag(), softplus(x));
    return hn::MulAdd(hn::Mul(x, sigmoid(x)), hn::NegMulAdd(t, t, one), t);
  } else if constexpr (kKind == Activation::elu) {
    return hn::IfThenElse(hn::Gt(x, zero()), one, exp(hn::Min(x, zero())));
  } else if constexpr (kKind == Activation::leaky_relu) {
    return hn::IfThenElse(hn::Gt(x, zero()), one, set(kLeakySlope));
  } else {
    return one;
  }
}

// Calls fn.template operator()<Activation>() for a kind known only at run time.
template <typename Fn>
HWY_INLINE void with_activation(Activation kind, const Fn& fn) {
  switch (kind) {
#define HEED_CASE(name)                         \
  case Activation::name:                        \
    fn.template operator()<Activation::name>(); \
    return;
    HEED_CASE(none)
    HEED_CASE(relu)
    HEED_CASE(gelu)
    HEED_CASE(gelu_tanh)
    HEED_CASE(sigmoid)
    HEED_CASE(tanh)
    HEED_CASE(silu)
    HEED_CASE(softplus)
    HEED_CASE(mish)
    HEED_CASE(elu)
    HEED_CASE(leaky_relu)
#undef HEED_CASE
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#endif  // HEED_KERNELS_ELEMENTWISE_ACTIVATION_INL_H_
