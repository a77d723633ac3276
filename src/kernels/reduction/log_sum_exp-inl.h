// log of the sum of exp over a row, for kernels that normalise logits on the fly.
#if defined(HEED_KERNELS_REDUCTION_LOG_SUM_EXP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_REDUCTION_LOG_SUM_EXP_INL_H_
#undef HEED_KERNELS_REDUCTION_LOG_SUM_EXP_INL_H_
#else
#define HEED_KERNELS_REDUCTION_LOG_SUM_EXP_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

template <typename T>
HWY_INLINE float log_sum_exp(const T* x, size_t n) {
  const size_t lanes = hn::Lanes(FloatTag());
  FloatVec best = set(-std::numeric_limits<float>::infinity());
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    best = hn::Max(best, load(x + i));
  }
  float top = max(best);
  for (; i < n; ++i) {
    top = std::max(top, static_cast<float>(x[i]));
  }
  const FloatVec shift = set(top);
  FloatVec total = zero();
  for (i = 0; i + lanes <= n; i += lanes) {
    total = hn::Add(total, exp(hn::Sub(load(x + i), shift)));
  }
  float rest = 0.0F;
  for (; i < n; ++i) {
    rest += std::exp(static_cast<float>(x[i]) - top);
  }
  return top + std::log(sum(total) + rest);
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#endif  // HEED_KERNELS_REDUCTION_LOG_SUM_EXP_INL_H_
