// Sigmoid and tanh on vectors for kernels that do little else: one exponential and an estimated
// reciprocal instead of a division. Off by about 1e-7, as an absolute error, for any argument.
#if defined(HEED_KERNELS_ELEMENTWISE_GATE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_ELEMENTWISE_GATE_INL_H_
#undef HEED_KERNELS_ELEMENTWISE_GATE_INL_H_
#else
#define HEED_KERNELS_ELEMENTWISE_GATE_INL_H_
#endif

#include "kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

// Where sigmoid and tanh have long arrived at their limits, and e^x is still finite.
inline constexpr float kGateLimit = 80.0F;

// 1 / (1 + e) for 0 <= e <= e^kGateLimit: an estimate and a step of Newton's method.
HWY_INLINE FloatVec gate_fraction(FloatVec e) {
  const FloatVec d = hn::Add(e, set(1.0F));
#if HWY_ARCH_X86
  const FloatVec estimate = hn::ApproximateReciprocal(d);
  return hn::MulAdd(estimate, hn::NegMulAdd(d, estimate, set(1.0F)), estimate);
#else  // where estimates have only 8 bits
  return hn::Div(set(1.0F), d);
#endif
}

// e^2x, at most e^kGateLimit
HWY_INLINE FloatVec gate_exp_twice(FloatVec x) {
  return exp(hn::Min(hn::Add(x, x), set(kGateLimit)));
}

// tanh(x) from gate_fraction(e^2x)
HWY_INLINE FloatVec tanh_from_fraction(FloatVec fraction) {
  return hn::NegMulAdd(set(2.0F), fraction, set(1.0F));
}

HWY_INLINE FloatVec gate_tanh(FloatVec x) {
  return tanh_from_fraction(gate_fraction(gate_exp_twice(x)));
}

HWY_INLINE FloatVec gate_sigmoid(FloatVec x) {
  return gate_fraction(exp(hn::Min(hn::Neg(x), set(kGateLimit))));
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#endif  // HEED_KERNELS_ELEMENTWISE_GATE_INL_H_
