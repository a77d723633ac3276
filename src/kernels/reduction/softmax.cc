#include "kernels/reduction/softmax.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduction/softmax.cc"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include <cmath>
#include <limits>

#include "base/parallel.h"
#include "base/scratch.h"
#include "kernels/block-inl.h"
#include "kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

constexpr float kNothing = -std::numeric_limits<float>::infinity();

// NaN is passed over; it shows up in the exponentials.
HWY_INLINE float row_max(size_t n, const float* x) {
  const size_t lanes = hn::Lanes(FloatTag());
  float best = kNothing;
  size_t i = 0;
  if (n >= lanes) {
    FloatVec most = set(best);
    for (; i + lanes <= n; i += lanes) {
      most = hn::Max(load(x + i), most);
    }
    best = max(most);
  }
  for (; i < n; ++i) {
    best = x[i] > best ? x[i] : best;
  }
  return best;
}

// Sums blocks in f32 and the blocks' sums in double; fn must map zeros to zero.
template <typename Fn, typename... In>
HWY_INLINE double block_sum(size_t n, const Fn& fn, const In*... in) {
  double total = 0.0;
  for (size_t i = 0; i < n; i += kBlock) {
    total += static_cast<double>(reduce(std::min<size_t>(kBlock, n - i), fn, (in + i)...));
  }
  return total;
}

// What makes a row's exponentials a distribution, and logits logarithms of one.
struct RowScale {
  float inverse;  // 1 / sum, or 0 for a row without mass
  float log_sum;  // log(sum), or 0
};
HWY_INLINE RowScale row_scale(double sum) {
  return sum == 0.0 ? RowScale{0.0F, 0.0F}
                    : RowScale{static_cast<float>(1.0 / sum), static_cast<float>(std::log(sum))};
}

// One contiguous row. `work` has room for 2 n.
HWY_INLINE void softmax_row(const kernels::Softmax& args, int64_t at, float* work) {
  const size_t n = static_cast<size_t>(args.n);
  const float* x = widen(args.x, at, n, work);
  float* e = work + n;
  const float most = row_max(n, x);
  const FloatVec shift = set(most == kNothing ? 0.0F : most);
  map(
      n, e, [&](FloatVec v) { return bounded_exp(hn::Sub(v, shift)); }, x);
  const RowScale scale = row_scale(block_sum(
      n, [](FloatVec v) { return v; }, e));
  float* y = staging(args.y, at, false, e);
  if (args.log) {
    const FloatVec log_sum = set(scale.log_sum);
    map(
        n, y, [&](FloatVec v) { return hn::Sub(hn::Sub(v, shift), log_sum); }, x);
  } else {
    const FloatVec inverse = set(scale.inverse);
    map(
        n, y, [&](FloatVec v) { return hn::Mul(v, inverse); }, e);
  }
  put(args.y, at, n, y, false);
}

void softmax_rows(const kernels::Softmax& args, int64_t begin, int64_t end) {
  thread_local Scratch scratch;
  float* work = scratch.get<float>(static_cast<size_t>(2 * args.n));
  for (int64_t row = begin; row < end; ++row) {
    softmax_row(args, row * args.n, work);
  }
}

// `width` columns side by side, the axis running down: three passes, all along the columns.
void softmax_strip(const kernels::Softmax& args, int64_t at, size_t width) {
  float shift[kBlock];
  float sum[kBlock];
  float buffer[kBlock];
  const auto each_row = [&](const auto& body) {
    for (int64_t row = 0; row < args.n; ++row) {
      const int64_t place = at + row * args.inner;
      body(place, widen(args.x, place, width, buffer));
    }
  };
  std::fill_n(shift, width, kNothing);
  std::fill_n(sum, width, 0.0F);
  each_row([&](int64_t, const float* x) {
    map(
        width, shift, [](FloatVec v, FloatVec m) { return hn::Max(v, m); }, x, shift);
  });
  std::replace(shift, shift + width, kNothing, 0.0F);
  const auto exponential = [](FloatVec v, FloatVec m) { return bounded_exp(hn::Sub(v, m)); };
  each_row([&](int64_t, const float* x) {
    map(
        width, sum,
        [&](FloatVec v, FloatVec m, FloatVec s) { return hn::Add(s, exponential(v, m)); }, x, shift,
        sum);
  });
  for (size_t i = 0; i < width; ++i) {
    const RowScale scale = row_scale(static_cast<double>(sum[i]));
    sum[i] = args.log ? scale.log_sum : scale.inverse;
  }
  float results[kBlock];
  each_row([&](int64_t place, const float* x) {
    float* y = staging(args.y, place, false, results);
    if (args.log) {
      map(
          width, y, [](FloatVec v, FloatVec m, FloatVec l) { return hn::Sub(hn::Sub(v, m), l); }, x,
          shift, sum);
    } else {
      map(
          width, y,
          [&](FloatVec v, FloatVec m, FloatVec s) { return hn::Mul(exponential(v, m), s); }, x,
          shift, sum);
    }
    put(args.y, place, width, y, false);
  });
}

// s is sum(y dy) or, for the logarithm, sum(dy).
template <bool kLog>
HWY_INLINE FloatVec softmax_slope(FloatVec y, FloatVec dy, FloatVec s) {
  return kLog ? hn::NegMulAdd(bounded_exp(y), s, dy) : hn::Mul(y, hn::Sub(dy, s));
}
template <bool kLog>
HWY_INLINE FloatVec softmax_term(FloatVec y, FloatVec dy) {
  return kLog ? dy : hn::Mul(y, dy);
}

template <bool kLog>
HWY_INLINE void softmax_backward_row(const kernels::SoftmaxBackward& args, int64_t at,
                                     float* work) {
  const size_t n = static_cast<size_t>(args.n);
  const float* y = widen(args.y, at, n, work);
  const float* dy = widen(args.dy, at, n, work + n);
  const FloatVec total = set(static_cast<float>(block_sum(
      n, [](FloatVec v, FloatVec g) { return softmax_term<kLog>(v, g); }, y, dy)));
  float* dx = staging(args.dx, at, args.accumulate, work + 2 * n);
  map(
      n, dx, [&](FloatVec v, FloatVec g) { return softmax_slope<kLog>(v, g, total); }, y, dy);
  put(args.dx, at, n, dx, args.accumulate);
}

void softmax_backward_rows(const kernels::SoftmaxBackward& args, int64_t begin, int64_t end) {
  thread_local Scratch scratch;
  float* work = scratch.get<float>(static_cast<size_t>(3 * args.n));
  for (int64_t row = begin; row < end; ++row) {
    if (args.log) {
      softmax_backward_row<true>(args, row * args.n, work);
    } else {
      softmax_backward_row<false>(args, row * args.n, work);
    }
  }
}

template <bool kLog>
HWY_INLINE void backward_strip(const kernels::SoftmaxBackward& args, int64_t at, size_t width) {
  float total[kBlock] = {};
  float y_buffer[kBlock];
  float dy_buffer[kBlock];
  float results[kBlock];
  const auto each_row = [&](const auto& body) {
    for (int64_t row = 0; row < args.n; ++row) {
      const int64_t place = at + row * args.inner;
      body(place, widen(args.y, place, width, y_buffer), widen(args.dy, place, width, dy_buffer));
    }
  };
  each_row([&](int64_t, const float* y, const float* dy) {
    map(
        width, total,
        [](FloatVec v, FloatVec g, FloatVec t) { return hn::Add(t, softmax_term<kLog>(v, g)); }, y,
        dy, total);
  });
  each_row([&](int64_t place, const float* y, const float* dy) {
    float* dx = staging(args.dx, place, args.accumulate, results);
    map(
        width, dx, [](FloatVec v, FloatVec g, FloatVec t) { return softmax_slope<kLog>(v, g, t); },
        y, dy, total);
    put(args.dx, place, width, dx, args.accumulate);
  });
}

void softmax_backward_strip(const kernels::SoftmaxBackward& args, int64_t at, size_t width) {
  if (args.log) {
    backward_strip<true>(args, at, width);
  } else {
    backward_strip<false>(args, at, width);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {
HWY_EXPORT(softmax_rows);
HWY_EXPORT(softmax_strip);
HWY_EXPORT(softmax_backward_rows);
HWY_EXPORT(softmax_backward_strip);

namespace kernels {
namespace {

// Calls body(start, width) for strips of columns side by side, spread over threads.
template <typename Args, typename Body>
void for_strips(const Args& args, const Body& body) {
  constexpr int64_t kStrip = 256;  // at most a block
  const int64_t strips = (args.inner + kStrip - 1) / kStrip;
  const int64_t work = args.n * std::min(kStrip, args.inner);
  parallel_rows(args.outer * strips, work, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t column = task % strips * kStrip;
      body(task / strips * args.n * args.inner + column,
           static_cast<size_t>(std::min(kStrip, args.inner - column)));
    }
  });
}

}  // namespace

void softmax(const Softmax& args) {
  if (args.inner == 1) {
    parallel_rows(args.outer, args.n, [&](int64_t begin, int64_t end) {
      HWY_DYNAMIC_DISPATCH(softmax_rows)(args, begin, end);
    });
    return;
  }
  for_strips(args, [&](int64_t at, size_t width) {
    HWY_DYNAMIC_DISPATCH(softmax_strip)(args, at, width);
  });
}

void softmax_backward(const SoftmaxBackward& args) {
  if (args.inner == 1) {
    parallel_rows(args.outer, args.n, [&](int64_t begin, int64_t end) {
      HWY_DYNAMIC_DISPATCH(softmax_backward_rows)(args, begin, end);
    });
    return;
  }
  for_strips(args, [&](int64_t at, size_t width) {
    HWY_DYNAMIC_DISPATCH(softmax_backward_strip)(args, at, width);
  });
}

}  // namespace kernels
}  // namespace heed
#endif  // HWY_ONCE
