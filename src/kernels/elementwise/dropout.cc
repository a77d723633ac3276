#include "kernels/elementwise/dropout.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/dropout.cc"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include "base/parallel.h"
#include "kernels/philox-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

// begin is a multiple of the group.
void dropout_range(const kernels::ApplyDropout& args, int64_t begin, int64_t end) {
  constexpr int64_t kGroup = kernels::kDropoutGroup;
  with_type(args.dtype, [&](auto* type) {
    using T = decltype(type);
    HWY_ALIGN float scales[kGroup];
    for (int64_t i = begin; i < end; i += kGroup) {
      const size_t n = static_cast<size_t>(std::min(kGroup, end - i));
      const auto* x = static_cast<T>(const_cast<void*>(args.x)) + i;
      auto* y = static_cast<T>(args.y) + i;
      keep_scales(args.dropout, static_cast<uint64_t>(i), n, scales);
      if (args.accumulate) {
        map(
            n, y, [](FloatVec v, FloatVec s, FloatVec old) { return hn::MulAdd(v, s, old); }, x,
            scales, y);
      } else {
        map(
            n, y, [](FloatVec v, FloatVec s) { return hn::Mul(v, s); }, x, scales);
      }
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {
HWY_EXPORT(dropout_range);

namespace kernels {

void apply_dropout(const ApplyDropout& args) {
  const int64_t groups = (args.n + kDropoutGroup - 1) / kDropoutGroup;
  parallel_rows(groups, kDropoutGroup, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(dropout_range)
    (args, begin * kDropoutGroup, std::min(args.n, end * kDropoutGroup));
  });
}

}  // namespace kernels
}  // namespace heed
#endif  // HWY_ONCE
