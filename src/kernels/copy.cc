#include "kernels/copy.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/copy.cc"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include "base/parallel.h"
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

void copy(const kernels::Copy& args, int64_t begin, int64_t end) {
  const auto run = [&](auto* from_type, auto* to_type) {
    const auto* from = static_cast<decltype(from_type)>(const_cast<void*>(args.from.data)) + begin;
    auto* to = static_cast<decltype(to_type)>(args.to.data) + begin;
    const size_t n = static_cast<size_t>(end - begin);
    const FloatVec scale = set(args.scale);
    if (args.accumulate) {
      map(
          n, to, [&](FloatVec x, FloatVec y) { return hn::MulAdd(scale, x, y); }, from, to);
    } else {
      map(
          n, to, [&](FloatVec x) { return hn::Mul(scale, x); }, from);
    }
  };
  with_type(args.from.dtype,
            [&](auto* from) { with_type(args.to.dtype, [&](auto* to) { run(from, to); }); });
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {
HWY_EXPORT(copy);

namespace kernels {

void copy(const Copy& args) {
  parallel_for(args.n, kParallelGrain, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(heed::copy)(args, begin, end);
  });
}

}  // namespace kernels
}  // namespace heed
#endif  // HWY_ONCE
