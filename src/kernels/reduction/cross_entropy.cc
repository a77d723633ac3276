#include "kernels/reduction/cross_entropy.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduction/cross_entropy.cc"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "kernels/reduction/log_sum_exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

// s / V * sum over v of w_v (lse - x_v)
template <typename T>
HWY_INLINE float smoothed_loss(const kernels::CrossEntropy& args, const T* x, float lse) {
  const size_t n = static_cast<size_t>(args.classes);
  float total = 0.0F;
  if (args.weights == nullptr) {
    total = lse * static_cast<float>(args.classes) - reduce(
                                                         n, [](FloatVec v) { return v; }, x);
  } else {
    const FloatVec top = set(lse);
    total = reduce(
        n, [&](FloatVec v, FloatVec w) { return hn::Mul(w, hn::Sub(top, v)); }, x, args.weights);
  }
  return args.smoothing / static_cast<float>(args.classes) * total;
}

void cross_entropy_rows(const kernels::CrossEntropy& args, int64_t begin, int64_t end) {
  with_type(args.dtype, [&](auto* type) {
    for (int64_t row = begin; row < end; ++row) {
      const auto* x =
          static_cast<decltype(type)>(const_cast<void*>(args.logits)) + row * args.classes;
      const int32_t target = args.targets[row];
      if (target == args.ignore) {
        args.losses[row] = 0.0F;
        args.lse[row] = 0.0F;
        continue;
      }
      const float lse = log_sum_exp(x, static_cast<size_t>(args.classes));
      const float weight = args.weights == nullptr ? 1.0F : args.weights[target];
      float loss = weight * (1.0F - args.smoothing) * (lse - static_cast<float>(x[target]));
      if (args.smoothing > 0.0F) {
        loss += smoothed_loss(args, x, lse);
      }
      args.losses[row] = loss;
      args.lse[row] = lse;
    }
  });
}

// d_x_v = d_loss (total softmax_v - s / V w_v - (1 - s) w_t [v = t]), where total is the sum of the
// weights that the row's loss carries: (1 - s) w_t + s / V sum of w.
template <typename T>
HWY_INLINE void backward_row(const kernels::CrossEntropyBackward& args, int64_t row,
                             float weight_sum) {
  const kernels::CrossEntropy& f = args.forward;
  const size_t n = static_cast<size_t>(f.classes);
  const T* x = static_cast<const T*>(f.logits) + row * f.classes;
  T* dx = static_cast<T*>(args.d_logits) + row * f.classes;
  const int32_t target = f.targets[row];
  if (target == f.ignore) {
    if (!args.accumulate) {
      std::fill_n(dx, n, T(0.0F));
    }
    return;
  }
  const float d_loss = args.d_uniform ? args.d_losses[0] : args.d_losses[row];
  const bool here = target >= 0;
  const int32_t place = here ? target : 0;
  const int64_t classes = f.all_classes > 0 ? f.all_classes : f.classes;
  const float share = f.smoothing / static_cast<float>(classes);
  const float on_target = (1.0F - f.smoothing) * (f.weights == nullptr ? 1.0F : f.weights[place]);
  const FloatVec factor = set(d_loss * (on_target + share * weight_sum));
  const FloatVec lse = set(f.lse[row]);
  const FloatVec uniform = set(-d_loss * share);
  const FloatVec one = set(1.0F);
  const float target_before = static_cast<float>(args.accumulate ? dx[place] : x[place]);
  const float target_softmax = std::exp(static_cast<float>(x[place]) - f.lse[row]);
  const auto slope = [&](FloatVec v, FloatVec w) {
    return hn::MulAdd(factor, exp(hn::Sub(v, lse)), hn::Mul(uniform, w));
  };
  if (args.accumulate && f.weights != nullptr) {
    map(
        n, dx, [&](FloatVec v, FloatVec w, FloatVec old) { return hn::Add(old, slope(v, w)); }, x,
        f.weights, dx);
  } else if (args.accumulate) {
    map(
        n, dx, [&](FloatVec v, FloatVec old) { return hn::Add(old, slope(v, one)); }, x, dx);
  } else if (f.weights != nullptr) {
    map(n, dx, slope, x, f.weights);
  } else {
    map(
        n, dx, [&](FloatVec v) { return slope(v, one); }, x);
  }
  if (!here) {
    return;
  }
  // The target again as a whole: subtracting from a rounded bf16 would lose what is left of it.
  const float weight = f.weights == nullptr ? 1.0F : f.weights[target];
  const float at_target =
      d_loss * ((on_target + share * weight_sum) * target_softmax - share * weight - on_target);
  dx[target] = T(at_target + (args.accumulate ? target_before : 0.0F));
}

void cross_entropy_backward_rows(const kernels::CrossEntropyBackward& args, int64_t begin,
                                 int64_t end, float weight_sum) {
  with_type(args.forward.dtype, [&](auto* type) {
    for (int64_t row = begin; row < end; ++row) {
      backward_row<std::remove_pointer_t<decltype(type)>>(args, row, weight_sum);
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {
HWY_EXPORT(cross_entropy_rows);
HWY_EXPORT(cross_entropy_backward_rows);

namespace kernels {

void cross_entropy(const CrossEntropy& args) {
  parallel_rows(args.rows, args.classes, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(cross_entropy_rows)(args, begin, end);
  });
}

void cross_entropy_backward(const CrossEntropyBackward& args) {
  const CrossEntropy& f = args.forward;
  float weight_sum = static_cast<float>(f.all_classes > 0 ? f.all_classes : f.classes);
  if (f.weights != nullptr) {
    weight_sum = 0.0F;
    for (int64_t i = 0; i < f.classes; ++i) {
      weight_sum += f.weights[i];
    }
  }
  parallel_rows(f.rows, f.classes, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(cross_entropy_backward_rows)(args, begin, end, weight_sum);
  });
}

}  // namespace kernels
}  // namespace heed
#endif  // HWY_ONCE
