// Highway's elementary functions made whole: they leave overflow, poles and NaN undefined, where a
// diverging run has to show inf and NaN instead of plausible numbers.
#if defined(HEED_KERNELS_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_MATH_INL_H_
#undef HEED_KERNELS_MATH_INL_H_
#else
#define HEED_KERNELS_MATH_INL_H_
#endif

#include <hwy/contrib/math/math-inl.h>

#include <limits>

#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

HWY_INLINE FloatVec infinity() { return set(std::numeric_limits<float>::infinity()); }

// exp for arguments up to 104 that are numbers: exactly 0 for very negative ones, as masked softmax
// needs.
HWY_INLINE FloatVec exp(FloatVec x) { return hn::Exp(FloatTag(), x); }

// For arguments that cannot be too large: NaN stays NaN, too little becomes 0.
HWY_INLINE FloatVec bounded_exp(FloatVec x) {
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Exp(FloatTag(), x));
}

// NaN stays NaN, too much becomes inf, too little 0.
HWY_INLINE FloatVec whole_exp(FloatVec x) {
  return hn::IfThenElse(hn::Gt(x, set(88.7228391F)), infinity(), bounded_exp(x));
}

// -inf at 0, NaN below.
HWY_INLINE FloatVec whole_log(FloatVec x) {
  const FloatVec y = hn::IfThenElse(hn::Eq(x, zero()), hn::Neg(infinity()), hn::Log(FloatTag(), x));
  const FloatVec z = hn::IfThenElse(hn::Eq(x, infinity()), x, y);
  return hn::IfThenElse(hn::Ge(x, zero()), z, set(std::numeric_limits<float>::quiet_NaN()));
}

HWY_INLINE FloatVec whole_sigmoid(FloatVec x) {
  return hn::Div(set(1.0F), hn::Add(set(1.0F), whole_exp(hn::Neg(x))));
}

// log(1 + e^-|x|), the part of softplus that vanishes on both sides.
HWY_INLINE FloatVec softplus_tail(FloatVec x) {
  return hn::Log1p(FloatTag(), bounded_exp(hn::Neg(hn::Abs(x))));
}

// Relative precision everywhere: the series of x near zero, Abramowitz and Stegun 7.1.26 beyond.
HWY_INLINE FloatVec whole_erf(FloatVec x) {
  // 2/sqrt(pi) sum over n of (-1)^n x^(2n+1) / (n! (2n+1)), n < 10: off by 1.4e-8 at most below 1.
  constexpr float kSeries[] = {1.12837917F,    -0.376126389F,    0.112837917F,    -0.0268661706F,
                               0.00522397762F, -0.000854832702F, 0.000120553329F, -1.49256504e-5F,
                               1.64621132e-6F, -1.63658447e-7F};
  const FloatVec square = hn::Mul(x, x);
  FloatVec series = set(kSeries[9]);
  for (int n = 8; n >= 0; --n) {
    series = hn::MulAdd(series, square, set(kSeries[n]));
  }
  const FloatVec magnitude = hn::Abs(x);
  const FloatVec t = hn::Div(set(1.0F), hn::MulAdd(set(0.3275911F), magnitude, set(1.0F)));
  FloatVec tail = hn::MulAdd(set(1.061405429F), t, set(-1.453152027F));
  tail = hn::MulAdd(tail, t, set(1.421413741F));
  tail = hn::MulAdd(tail, t, set(-0.284496736F));
  tail = hn::Mul(hn::MulAdd(tail, t, set(0.254829592F)), t);
  tail = hn::NegMulAdd(tail, bounded_exp(hn::Neg(square)), set(1.0F));
  return hn::IfThenElse(hn::Lt(magnitude, set(1.0F)), hn::Mul(x, series), hn::CopySign(tail, x));
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#endif  // HEED_KERNELS_MATH_INL_H_
