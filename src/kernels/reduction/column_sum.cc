#include "kernels/reduction/column_sum.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduction/column_sum.cc"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include <algorithm>

#include "base/parallel.h"
#include "base/scratch.h"
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

void column_sum_range(const kernels::ColumnSum& args, int64_t begin, int64_t end) {
  thread_local Scratch scratch;
  const size_t n = static_cast<size_t>(end - begin);
  float* total = scratch.get<float>(n);
  std::fill_n(total, n, 0.0F);
  with_type(args.x.dtype, [&](auto* type) {
    const auto* x = static_cast<decltype(type)>(const_cast<void*>(args.x.data)) + begin;
    for (int64_t row = 0; row < args.rows; ++row) {
      map(
          n, total, [](FloatVec a, FloatVec b) { return hn::Add(a, b); }, total,
          x + row * args.columns);
    }
  });
  with_type(args.out.dtype, [&](auto* type) {
    auto* out = static_cast<decltype(type)>(args.out.data) + begin;
    if (args.accumulate) {
      map(
          n, out, [](FloatVec a, FloatVec b) { return hn::Add(a, b); }, total, out);
    } else {
      map(
          n, out, [](FloatVec a) { return a; }, total);
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {
HWY_EXPORT(column_sum_range);

namespace kernels {

void column_sum(const ColumnSum& args) {
  // Strips of whole cache lines, so that threads do not share lines of the result.
  constexpr int64_t kStrip = 32;
  const int64_t strips = (args.columns + kStrip - 1) / kStrip;
  parallel_rows(strips, kStrip * std::max<int64_t>(args.rows, 1), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(column_sum_range)
    (args, begin * kStrip, std::min(args.columns, end * kStrip));
  });
}

}  // namespace kernels
}  // namespace heed
#endif  // HWY_ONCE
