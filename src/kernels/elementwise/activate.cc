#include "kernels/elementwise/activate.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/activate.cc"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include "base/parallel.h"
#include "kernels/elementwise/activation-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

void activate_range(const kernels::Activate& args, int64_t begin, int64_t end) {
  with_type(args.dtype, [&](auto* type) {
    const auto* x = static_cast<decltype(type)>(const_cast<void*>(args.x)) + begin;
    auto* y = static_cast<decltype(type)>(args.y) + begin;
    with_activation(args.activation, [&]<Activation kKind>() {
      map(
          static_cast<size_t>(end - begin), y, [](FloatVec v) { return activate<kKind>(v); }, x);
    });
  });
}

void activate_backward_range(const kernels::ActivateBackward& args, int64_t begin, int64_t end) {
  const FloatVec scale = set(args.scale);
  const size_t n = static_cast<size_t>(end - begin);
  with_type(args.dtype, [&](auto* type) {
    using T = decltype(type);
    const auto* x = static_cast<T>(const_cast<void*>(args.x)) + begin;
    const auto* dy = static_cast<T>(const_cast<void*>(args.dy)) + begin;
    auto* dx = static_cast<T>(args.dx) + begin;
    with_activation(args.activation, [&]<Activation kKind>() {
      const auto chain = [&](FloatVec v, FloatVec g) {
        return hn::Mul(hn::Mul(g, scale), derivative<kKind>(v));
      };
      if (args.accumulate) {
        map(
            n, dx, [&](FloatVec v, FloatVec g, FloatVec old) { return hn::Add(old, chain(v, g)); },
            x, dy, dx);
      } else {
        map(n, dx, chain, x, dy);
      }
    });
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {
HWY_EXPORT(activate_range);
HWY_EXPORT(activate_backward_range);

namespace kernels {

void activate(const Activate& args) {
  if (args.activation == Activation::none && args.x == args.y) {
    return;
  }
  parallel_for(args.n, kParallelGrain, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(activate_range)(args, begin, end);
  });
}

void activate_backward(const ActivateBackward& args) {
  parallel_for(args.n, kParallelGrain, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(activate_backward_range)(args, begin, end);
  });
}

}  // namespace kernels
}  // namespace heed
#endif  // HWY_ONCE
