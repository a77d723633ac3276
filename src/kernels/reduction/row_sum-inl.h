// Weighted sums of rows, the shape that most backward passes of data movement take: the rows are
// added in the order given, in f32, and the result is rounded once.
#if defined(HEED_KERNELS_REDUCTION_ROW_SUM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_REDUCTION_ROW_SUM_INL_H_
#undef HEED_KERNELS_REDUCTION_ROW_SUM_INL_H_
#else
#define HEED_KERNELS_REDUCTION_ROW_SUM_INL_H_
#endif

#include <type_traits>

#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

template <typename From>
struct WeightedRow {
  const From* data;
  float weight = 1.0F;
};

// out[i] (+)= sum over r < count of row(r).weight * row(r).data[i], for i in [0, n).
template <typename From, typename To, typename RowAt>
HWY_INLINE void sum_rows(int64_t count, const RowAt& row, size_t n, To* out, bool accumulate) {
  const size_t lanes = hn::Lanes(FloatTag());
  size_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    To* at = out + i;
    FloatVec a = accumulate ? load(at) : zero();
    FloatVec b = accumulate ? load(at + lanes) : zero();
    FloatVec c = accumulate ? load(at + 2 * lanes) : zero();
    FloatVec d = accumulate ? load(at + 3 * lanes) : zero();
    for (int64_t r = 0; r < count; ++r) {
      const WeightedRow<From> given = row(r);
      const FloatVec weight = set(given.weight);
      const From* from = given.data + i;
      a = hn::MulAdd(weight, load(from), a);
      b = hn::MulAdd(weight, load(from + lanes), b);
      c = hn::MulAdd(weight, load(from + 2 * lanes), c);
      d = hn::MulAdd(weight, load(from + 3 * lanes), d);
    }
    store(a, at);
    store(b, at + lanes);
    store(c, at + 2 * lanes);
    store(d, at + 3 * lanes);
  }
  for (; i < n; i += lanes) {
    const size_t left = n - i < lanes ? n - i : lanes;
    FloatVec a = accumulate ? load_n(out + i, left) : zero();
    for (int64_t r = 0; r < count; ++r) {
      const WeightedRow<From> given = row(r);
      a = hn::MulAdd(set(given.weight), load_n(given.data + i, left), a);
    }
    store_n(a, out + i, left);
  }
}

// Calls fn with typed null pointers for both element types.
template <typename Fn>
HWY_INLINE void with_types(DType from, DType to, const Fn& fn) {
  with_type(from, [&](auto* f) { with_type(to, [&](auto* t) { fn(f, t); }); });
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#endif  // HEED_KERNELS_REDUCTION_ROW_SUM_INL_H_
