#include "kernels/bottleneck/nearest_code.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/bottleneck/nearest_code.cc"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include <limits>
#include <vector>

#include "base/parallel.h"
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

// Squared distances of x [width] from `count` <= 4 codes that lie one after the other.
HWY_INLINE void four_distances(const float* x, const float* codes, int64_t width, int64_t count,
                               float* distances) {
  const size_t lanes = hn::Lanes(FloatTag());
  const size_t n = static_cast<size_t>(width);
  FloatVec totals[kQuad] = {zero(), zero(), zero(), zero()};
  const auto add = [&](FloatVec v, FloatVec code, int64_t c) {
    const FloatVec d = hn::Sub(v, code);
    totals[c] = hn::MulAdd(d, d, totals[c]);
  };
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const FloatVec v = load(x + i);
    for (int64_t c = 0; c < count; ++c) {
      add(v, load(codes + c * width + i), c);
    }
  }
  if (i < n) {
    const FloatVec v = load_n(x + i, n - i);
    for (int64_t c = 0; c < count; ++c) {
      add(v, load_n(codes + c * width + i, n - i), c);
    }
  }
  hn::StoreU(sums_of_four(totals), QuadTag(), distances);
}

HWY_INLINE int32_t nearest_of(const float* x, const float* codes, int64_t count, int64_t width) {
  float best = std::numeric_limits<float>::infinity();
  int64_t nearest = 0;
  for (int64_t first = 0; first < count; first += kQuad) {
    float distances[kQuad];
    const int64_t some = count - first < kQuad ? count - first : kQuad;
    if (some == kQuad) {  // the usual case, with a count that the compiler knows
      four_distances(x, codes + first * width, width, kQuad, distances);
    } else {
      four_distances(x, codes + first * width, width, some, distances);
    }
    for (int64_t c = 0; c < some; ++c) {
      if (distances[c] < best) {
        best = distances[c];
        nearest = first + c;
      }
    }
  }
  return static_cast<int32_t>(nearest);
}

void nearest_code_rows(const kernels::NearestCode& args, int64_t begin, int64_t end) {
  const int64_t width = args.slices * args.width;
  std::vector<float> row(static_cast<size_t>(width));
  with_type(args.x.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    for (int64_t r = begin; r < end; ++r) {
      map(
          static_cast<size_t>(width), row.data(), [](FloatVec v) { return v; },
          static_cast<const T*>(args.x.data) + r * width);
      for (int64_t s = 0; s < args.slices; ++s) {
        args.nearest[r * args.slices + s] =
            nearest_of(row.data() + s * args.width, args.codebook + s * args.codes * args.width,
                       args.codes, args.width);
      }
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {
HWY_EXPORT(nearest_code_rows);

namespace kernels {

void nearest_code(const NearestCode& args) {
  parallel_rows(args.rows, args.slices * args.codes * args.width, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(nearest_code_rows)(args, begin, end);
  });
}

}  // namespace kernels
}  // namespace heed
#endif  // HWY_ONCE
