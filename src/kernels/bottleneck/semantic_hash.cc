#include "kernels/bottleneck/semantic_hash.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/bottleneck/semantic_hash.cc"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include "base/parallel.h"
#include "kernels/block-inl.h"
#include "kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

HWY_INLINE FloatVec saturating_sigmoid(FloatVec v) {
  const FloatVec stretched = hn::MulSub(set(1.2F), whole_sigmoid(v), set(0.1F));
  return hn::Max(zero(), hn::Min(set(1.0F), stretched));
}

void semantic_hash_rows(const kernels::SemanticHash& args, int64_t begin, int64_t end) {
  const int64_t n = args.width;
  for (int64_t row = begin; row < end; ++row) {
    const int64_t at = row * n;
    Plain v({args.v + at, DType::f32});
    if (args.soft != nullptr) {
      map_blocks(0, n, {args.soft + at, DType::f32}, false, saturating_sigmoid, v);
    }
    const bool discrete = args.discrete == nullptr || args.discrete[row] != 0;
    with_type(args.y.dtype, [&](auto* type) {
      const kernels::Out y{static_cast<decltype(type)>(args.y.data) + at, args.y.dtype};
      if (discrete) {
        map_blocks(
            0, n, y, false,
            [](FloatVec x) { return hn::IfThenElseZero(hn::Gt(x, zero()), set(1.0F)); }, v);
      } else {
        map_blocks(0, n, y, false, saturating_sigmoid, v);
      }
    });
  }
}

void semantic_hash_backward_range(const kernels::SemanticHashBackward& args, int64_t begin,
                                  int64_t end) {
  Plain soft({args.soft, DType::f32});
  Plain dy(args.dy);
  map_blocks(
      begin, end, args.dx, args.accumulate,
      [](FloatVec s, FloatVec g) {
        const FloatVec p = hn::Mul(hn::Add(s, set(0.1F)), set(1.0F / 1.2F));
        const FloatVec slope = hn::Mul(set(1.2F), hn::NegMulAdd(p, p, p));
        const auto inside = hn::And(hn::Gt(s, zero()), hn::Lt(s, set(1.0F)));
        return hn::IfThenElseZero(inside, hn::Mul(g, slope));
      },
      soft, dy);
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {
HWY_EXPORT(semantic_hash_rows);
HWY_EXPORT(semantic_hash_backward_range);

namespace kernels {

void semantic_hash(const SemanticHash& args) {
  parallel_rows(args.rows, args.width, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(semantic_hash_rows)(args, begin, end);
  });
}

void semantic_hash_backward(const SemanticHashBackward& args) {
  parallel_for(args.n, kParallelGrain, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(semantic_hash_backward_range)(args, begin, end);
  });
}

}  // namespace kernels
}  // namespace heed
#endif  // HWY_ONCE
