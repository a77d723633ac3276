#include "kernels/reduction/agreement.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduction/agreement.cc"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include <algorithm>

#include "base/parallel.h"
#include "kernels/reduction/log_sum_exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

struct Logarithms {  // of the two distributions, and what they differ by
  FloatVec x_lse, y_lse;
  FloatVec p(FloatVec x) const { return exp(hn::Sub(x, x_lse)); }
  FloatVec q(FloatVec y) const { return exp(hn::Sub(y, y_lse)); }
  FloatVec d(FloatVec x, FloatVec y) const { return hn::Sub(hn::Sub(x, x_lse), hn::Sub(y, y_lse)); }
};

template <typename T>
HWY_INLINE void agreement_pair(const kernels::Agreement& args, int64_t pair) {
  const size_t n = static_cast<size_t>(args.classes);
  const int64_t other = args.pairs + pair;
  const T* x = static_cast<const T*>(args.logits) + pair * args.classes;
  const T* y = static_cast<const T*>(args.logits) + other * args.classes;
  const float x_lse = log_sum_exp(x, n);
  const float y_lse = log_sum_exp(y, n);
  const Logarithms of{set(x_lse), set(y_lse)};
  const size_t lanes = hn::Lanes(FloatTag());
  FloatVec p_total = zero();
  FloatVec q_total = zero();
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const FloatVec xs = load(x + i);
    const FloatVec ys = load(y + i);
    const FloatVec d = of.d(xs, ys);
    p_total = hn::MulAdd(of.p(xs), d, p_total);
    q_total = hn::MulAdd(of.q(ys), d, q_total);
  }
  float p_mean = sum(p_total);
  float q_mean = sum(q_total);
  for (; i < n; ++i) {
    const float log_p = static_cast<float>(x[i]) - x_lse;
    const float log_q = static_cast<float>(y[i]) - y_lse;
    p_mean += std::exp(log_p) * (log_p - log_q);
    q_mean += std::exp(log_q) * (log_p - log_q);
  }
  args.lse[pair] = x_lse;
  args.lse[other] = y_lse;
  args.means[pair] = p_mean;
  args.means[other] = q_mean;
  args.values[pair] = (p_mean - q_mean) / 2;
}

void agreement_pairs(const kernels::Agreement& args, int64_t begin, int64_t end) {
  with_type(args.dtype, [&](auto* type) {
    for (int64_t pair = begin; pair < end; ++pair) {
      if (args.targets[pair] == args.ignore) {
        args.values[pair] = 0.0F;
        continue;
      }
      agreement_pair<std::remove_pointer_t<decltype(type)>>(args, pair);
    }
  });
}

// d_logits of one row: its own distribution first. d is seen from its own side.
template <typename T>
HWY_INLINE void backward_row(const kernels::AgreementBackward& args, int64_t own, int64_t other,
                             float own_mean) {
  const kernels::Agreement& f = args.forward;
  const size_t n = static_cast<size_t>(f.classes);
  const T* x = static_cast<const T*>(f.logits) + own * f.classes;
  const T* y = static_cast<const T*>(f.logits) + other * f.classes;
  T* dx = static_cast<T*>(args.d_logits) + own * f.classes;
  const Logarithms of{set(f.lse[own]), set(f.lse[other])};
  const FloatVec mean = set(own_mean);
  const FloatVec half = set(args.d_value / 2);
  const auto slope = [&](FloatVec xs, FloatVec ys) {
    const FloatVec p = of.p(xs);
    const FloatVec differ = hn::Sub(p, of.q(ys));
    return hn::Mul(half, hn::MulAdd(p, hn::Sub(of.d(xs, ys), mean), differ));
  };
  if (args.accumulate) {
    map(
        n, dx, [&](FloatVec xs, FloatVec ys, FloatVec old) { return hn::Add(old, slope(xs, ys)); },
        x, y, dx);
  } else {
    map(n, dx, slope, x, y);
  }
}

void agreement_backward_pairs(const kernels::AgreementBackward& args, int64_t begin, int64_t end) {
  const kernels::Agreement& f = args.forward;
  with_type(f.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    for (int64_t pair = begin; pair < end; ++pair) {
      const int64_t other = f.pairs + pair;
      if (f.targets[pair] != f.ignore) {
        backward_row<T>(args, pair, other, f.means[pair]);
        backward_row<T>(args, other, pair, -f.means[other]);
      } else if (!args.accumulate) {
        std::fill_n(static_cast<T*>(args.d_logits) + pair * f.classes, f.classes, T(0.0F));
        std::fill_n(static_cast<T*>(args.d_logits) + other * f.classes, f.classes, T(0.0F));
      }
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {
HWY_EXPORT(agreement_pairs);
HWY_EXPORT(agreement_backward_pairs);

namespace kernels {

void agreement(const Agreement& args) {
  parallel_rows(args.pairs, args.classes, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(agreement_pairs)(args, begin, end);
  });
}

void agreement_backward(const AgreementBackward& args) {
  parallel_rows(args.forward.pairs, args.forward.classes, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(agreement_backward_pairs)(args, begin, end);
  });
}

}  // namespace kernels
}  // namespace heed
#endif  // HWY_ONCE
