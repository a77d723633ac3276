#include "kernels/reduction/norm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduction/norm.cc"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include "base/parallel.h"
#include "base/scratch.h"
#include "kernels/philox-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

// s = x + dropout(branch), as f32 for the statistics and as T for the backward pass.
template <typename T>
HWY_INLINE void residual_row(const kernels::Norm& args, int64_t row, float* s, float* scales) {
  const size_t n = static_cast<size_t>(args.width);
  const T* x = static_cast<const T*>(args.x) + row * args.width;
  if (args.branch == nullptr) {
    map(
        n, s, [](FloatVec v) { return v; }, x);
    return;
  }
  const T* branch = static_cast<const T*>(args.branch) + row * args.width;
  if (args.dropout.active()) {
    keep_scales(args.dropout, static_cast<uint64_t>(row * kernels::padded_width(args.width)), n,
                scales);
    map(
        n, s, [](FloatVec v, FloatVec b, FloatVec k) { return hn::MulAdd(b, k, v); }, x, branch,
        scales);
  } else {
    map(
        n, s, [](FloatVec v, FloatVec b) { return hn::Add(v, b); }, x, branch);
  }
  T* sum = static_cast<T*>(args.sum) + row * args.width;
  map(
      n, sum, [](FloatVec v) { return v; }, s);
}

template <typename T>
HWY_INLINE void norm_row(const kernels::Norm& args, int64_t row, const float* s) {
  const size_t n = static_cast<size_t>(args.width);
  const float width = static_cast<float>(args.width);
  const float mean = args.rms ? 0.0F
                              : reduce(
                                    n, [](FloatVec v) { return v; }, s) /
                                    width;
  const FloatVec mean_vec = set(mean);
  // reduce pads with zeros, which would count as -mean here, so the tail goes alone.
  const size_t whole = n - n % hn::Lanes(FloatTag());
  float squares = reduce(
      whole,
      [&](FloatVec v) {
        const FloatVec centred = hn::Sub(v, mean_vec);
        return hn::Mul(centred, centred);
      },
      s);
  for (size_t i = whole; i < n; ++i) {
    squares += (s[i] - mean) * (s[i] - mean);
  }
  const float rstd = 1.0F / std::sqrt(squares / width + args.epsilon);
  if (args.rstd != nullptr) {
    args.rstd[row] = rstd;
  }
  if (args.mean != nullptr) {
    args.mean[row] = mean;
  }
  T* y = static_cast<T*>(args.y) + row * args.width;
  const FloatVec rstd_vec = set(rstd);
  const auto hat = [&](FloatVec v) { return hn::Mul(hn::Sub(v, mean_vec), rstd_vec); };
  if (args.gamma == nullptr && args.beta == nullptr) {
    map(n, y, hat, s);
  } else if (args.gamma == nullptr) {
    map(
        n, y, [&](FloatVec v, FloatVec b) { return hn::Add(hat(v), b); }, s, args.beta);
  } else if (args.beta == nullptr) {
    map(
        n, y, [&](FloatVec v, FloatVec g) { return hn::Mul(hat(v), g); }, s, args.gamma);
  } else {
    map(
        n, y, [&](FloatVec v, FloatVec g, FloatVec b) { return hn::MulAdd(hat(v), g, b); }, s,
        args.gamma, args.beta);
  }
}

void norm_rows(const kernels::Norm& args, int64_t begin, int64_t end) {
  thread_local Scratch scratch;
  float* s = scratch.get<float>(static_cast<size_t>(2 * kernels::padded_width(args.width)));
  float* scales = s + kernels::padded_width(args.width);
  with_type(args.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    for (int64_t row = begin; row < end; ++row) {
      residual_row<T>(args, row, s, scales);
      norm_row<T>(args, row, s);
    }
  });
}

// ds of one row. With h = (s - mean) rstd and g = dy gamma:
//   ds = rstd (g - mean(g) - h mean(g h)) + d_sum     (RMS norm: without mean(g))
//   d_gamma += dy h, d_beta += dy
template <typename T>
HWY_INLINE void d_sum_row(const kernels::NormBackward& args, int64_t row, float* ds, float* hat,
                          float* d_gamma, float* d_beta) {
  const size_t n = static_cast<size_t>(args.width);
  const int64_t at = row * args.width;
  const T* dy = static_cast<const T*>(args.dy) + at;
  const FloatVec mean = set(args.rms ? 0.0F : args.mean[row]);
  const FloatVec rstd = set(args.rstd[row]);
  map(
      n, hat, [&](FloatVec v) { return hn::Mul(hn::Sub(v, mean), rstd); },
      static_cast<const T*>(args.s) + at);
  if (d_gamma != nullptr) {
    map(
        n, d_gamma, [](FloatVec g, FloatVec h, FloatVec old) { return hn::MulAdd(g, h, old); }, dy,
        hat, d_gamma);
  }
  if (d_beta != nullptr) {
    map(
        n, d_beta, [](FloatVec g, FloatVec old) { return hn::Add(g, old); }, dy, d_beta);
  }
  if (args.gamma != nullptr) {
    map(
        n, ds, [](FloatVec g, FloatVec w) { return hn::Mul(g, w); }, dy, args.gamma);
  } else {
    map(
        n, ds, [](FloatVec g) { return g; }, dy);
  }
  const float width = static_cast<float>(args.width);
  const FloatVec mean_g = set(args.rms ? 0.0F
                                       : reduce(
                                             n, [](FloatVec g) { return g; }, ds) /
                                             width);
  const FloatVec mean_gh =
      set(reduce(
              n, [](FloatVec g, FloatVec h) { return hn::Mul(g, h); }, ds, hat) /
          width);
  const auto slope = [&](FloatVec g, FloatVec h) {
    return hn::Mul(rstd, hn::NegMulAdd(h, mean_gh, hn::Sub(g, mean_g)));
  };
  if (args.d_sum != nullptr) {
    map(
        n, ds, [&](FloatVec g, FloatVec h, FloatVec e) { return hn::Add(slope(g, h), e); }, ds, hat,
        static_cast<const T*>(args.d_sum) + at);
  } else {
    map(n, ds, slope, ds, hat);
  }
}

// One row of the backward pass: dx = ds, d_branch = kept(ds) / (1 - p).
template <typename T>
HWY_INLINE void norm_backward_row(const kernels::NormBackward& args, int64_t row, float* work,
                                  float* d_gamma, float* d_beta) {
  const size_t n = static_cast<size_t>(args.width);
  const size_t stride = static_cast<size_t>(kernels::padded_width(args.width));
  const int64_t at = row * args.width;
  float* ds = work;
  float* hat = work + stride;
  if (args.dy == nullptr) {
    map(
        n, ds, [](FloatVec v) { return v; }, static_cast<const T*>(args.d_sum) + at);
  } else {
    d_sum_row<T>(args, row, ds, hat, d_gamma, d_beta);
  }
  const auto put = [&](void* target, bool accumulate, const float* values) {
    T* out = static_cast<T*>(target) + at;
    if (accumulate) {
      map(
          n, out, [](FloatVec v, FloatVec old) { return hn::Add(v, old); }, values, out);
    } else {
      map(
          n, out, [](FloatVec v) { return v; }, values);
    }
  };
  if (args.dx != nullptr) {
    put(args.dx, args.accumulate_dx, ds);
  }
  if (args.d_branch != nullptr) {
    if (args.dropout.active()) {
      keep_scales(args.dropout, static_cast<uint64_t>(row) * stride, n, hat);
      map(
          n, ds, [](FloatVec v, FloatVec k) { return hn::Mul(v, k); }, ds, hat);
    }
    put(args.d_branch, args.accumulate_branch, ds);
  }
}

// Sums for gamma and beta go to this chunk's own rows; either may be null.
void norm_backward_rows(const kernels::NormBackward& args, int64_t begin, int64_t end,
                        float* d_gamma, float* d_beta) {
  thread_local Scratch scratch;
  float* work = scratch.get<float>(static_cast<size_t>(2 * kernels::padded_width(args.width)));
  with_type(args.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    for (int64_t row = begin; row < end; ++row) {
      norm_backward_row<T>(args, row, work, d_gamma, d_beta);
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {
HWY_EXPORT(norm_rows);
HWY_EXPORT(norm_backward_rows);

namespace kernels {

void norm(const Norm& args) {
  parallel_rows(args.rows, args.width, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(norm_rows)(args, begin, end);
  });
}

void norm_backward(const NormBackward& args) {
  // Chunks depend on the size alone, so the sums do not depend on the number of threads.
  const int64_t chunks = fixed_chunks(args.rows);
  const int64_t width = args.width;
  const bool sums = args.dy != nullptr && (args.d_gamma != nullptr || args.d_beta != nullptr);
  thread_local Scratch scratch;
  float* partial = scratch.get<float>(static_cast<size_t>(sums ? 2 * chunks * width : 1));
  parallel_rows(chunks, args.rows * width / chunks, [&](int64_t first, int64_t last) {
    for (int64_t chunk = first; chunk < last; ++chunk) {
      float* d_gamma = sums ? partial + 2 * chunk * width : nullptr;
      if (sums) {
        std::fill_n(d_gamma, 2 * width, 0.0F);
      }
      HWY_DYNAMIC_DISPATCH(norm_backward_rows)
      (args, args.rows * chunk / chunks, args.rows * (chunk + 1) / chunks, d_gamma,
       sums ? d_gamma + width : nullptr);
    }
  });
  const auto combine = [&](float* out, bool accumulate, const float* first) {
    for (int64_t i = 0; out != nullptr && i < width; ++i) {
      float total = accumulate ? out[i] : 0.0F;
      for (int64_t chunk = 0; sums && chunk < chunks; ++chunk) {
        total += first[2 * chunk * width + i];
      }
      out[i] = total;
    }
  };
  combine(args.d_gamma, args.accumulate_gamma, partial);
  combine(args.d_beta, args.accumulate_beta, partial + width);
}

}  // namespace kernels
}  // namespace heed
#endif  // HWY_ONCE
