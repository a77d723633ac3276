#include "kernels/gemv.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemv.cc"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "base/parallel.h"
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

// Four dot products at a time: four streams keep the memory busier than one. Rows are short streams
// (a hardware prefetcher warms up anew at each), so the rows kAhead bytes further on are asked for.
inline constexpr size_t kAhead = 8192;

template <typename T>
HWY_INLINE void dot4(const T* x, const T* w, size_t ldw, size_t k, float* out) {
  const size_t lanes = hn::Lanes(FloatTag());
  FloatVec sum0 = zero();
  FloatVec sum1 = zero();
  FloatVec sum2 = zero();
  FloatVec sum3 = zero();
  size_t i = 0;
  for (; i + lanes <= k; i += lanes) {
    for (size_t row = 0; row < 4; ++row) {
      hwy::Prefetch(w + row * ldw + i + kAhead / sizeof(T));
    }
    const FloatVec v = load(x + i);
    sum0 = hn::MulAdd(v, load(w + i), sum0);
    sum1 = hn::MulAdd(v, load(w + ldw + i), sum1);
    sum2 = hn::MulAdd(v, load(w + 2 * ldw + i), sum2);
    sum3 = hn::MulAdd(v, load(w + 3 * ldw + i), sum3);
  }
  if (i < k) {
    const FloatVec v = load_n(x + i, k - i);
    sum0 = hn::MulAdd(v, load_n(w + i, k - i), sum0);
    sum1 = hn::MulAdd(v, load_n(w + ldw + i, k - i), sum1);
    sum2 = hn::MulAdd(v, load_n(w + 2 * ldw + i, k - i), sum2);
    sum3 = hn::MulAdd(v, load_n(w + 3 * ldw + i, k - i), sum3);
  }
  out[0] = sum(sum0);
  out[1] = sum(sum1);
  out[2] = sum(sum2);
  out[3] = sum(sum3);
}

template <typename T>
HWY_INLINE float dot(const T* x, const T* w, size_t k) {
  const size_t lanes = hn::Lanes(FloatTag());
  FloatVec total = zero();
  size_t i = 0;
  for (; i + lanes <= k; i += lanes) {
    total = hn::MulAdd(load(x + i), load(w + i), total);
  }
  if (i < k) {
    total = hn::MulAdd(load_n(x + i, k - i), load_n(w + i, k - i), total);
  }
  return sum(total);
}

template <typename T, typename TY>
void gemv_rows(const kernels::Gemv& args, int64_t begin, int64_t end) {
  const T* x = static_cast<const T*>(args.x.data);
  const T* w = static_cast<const T*>(args.w.data);
  TY* y = static_cast<TY*>(args.y.data);
  const size_t k = static_cast<size_t>(args.k);
  const auto put = [&](int64_t row, int64_t column, float value) {
    TY& place = y[row * args.ldy + column];
    const float bias = args.bias == nullptr ? 0.0F : args.bias[column];
    place = TY(value + bias + (args.accumulate ? static_cast<float>(place) : 0.0F));
  };
  int64_t n = begin;
  for (; n + 4 <= end; n += 4) {
    for (int64_t row = 0; row < args.m; ++row) {
      float out[4];
      dot4(x + row * args.ldx, w + n * args.ldw, static_cast<size_t>(args.ldw), k, out);
      for (int64_t i = 0; i < 4; ++i) {
        put(row, n + i, out[i]);
      }
    }
  }
  for (; n < end; ++n) {
    for (int64_t row = 0; row < args.m; ++row) {
      put(row, n, dot(x + row * args.ldx, w + n * args.ldw, k));
    }
  }
}

void gemv(const kernels::Gemv& args, int64_t begin, int64_t end) {
  with_type(args.x.dtype, [&](auto* type) {
    with_type(args.y.dtype, [&](auto* y_type) {
      gemv_rows<std::remove_pointer_t<decltype(type)>, std::remove_pointer_t<decltype(y_type)>>(
          args, begin, end);
    });
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {
HWY_EXPORT(gemv);

namespace kernels {

void gemv(const Gemv& args) {
  const int64_t grain = std::max<int64_t>(4, kParallelGrain / std::max<int64_t>(1, args.k));
  parallel_for(args.n, grain, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(heed::gemv)(args, begin, end);
  });
}

}  // namespace kernels
}  // namespace heed
#endif  // HWY_ONCE
