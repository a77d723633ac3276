// What every Highway kernel shares: loading f32 and bf16 as f32 vectors, storing them back, tails,
// and loops over rows. Included once per instruction set through hwy/foreach_target.h.
#if defined(HEED_KERNELS_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_SIMD_INL_H_
#undef HEED_KERNELS_SIMD_INL_H_
#else
#define HEED_KERNELS_SIMD_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <cstring>

#include "tensor/dtype.h"

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using FloatVec = hn::Vec<FloatTag>;

HWY_INLINE FloatVec load(const float* p) { return hn::LoadU(FloatTag(), p); }
HWY_INLINE FloatVec load(const bf16* p) {
  const hn::RebindToUnsigned<FloatTag> wide;
  const hn::Rebind<uint16_t, FloatTag> narrow;
  const auto bits = hn::LoadU(narrow, reinterpret_cast<const uint16_t*>(p));
  return hn::BitCast(FloatTag(), hn::ShiftLeft<16>(hn::PromoteTo(wide, bits)));
}

HWY_INLINE void store(FloatVec v, float* p) { hn::StoreU(v, FloatTag(), p); }
// Rounds to nearest, ties to even.
HWY_INLINE void store(FloatVec v, bf16* p) {
  const hn::RebindToUnsigned<FloatTag> wide;
  const hn::Rebind<uint16_t, FloatTag> narrow;
  const auto word = hn::BitCast(wide, v);
  const auto odd = hn::And(hn::ShiftRight<16>(word), hn::Set(wide, 1));
  const auto rounded = hn::ShiftRight<16>(hn::Add(word, hn::Add(odd, hn::Set(wide, 0x7FFF))));
  const hn::Rebind<int32_t, FloatTag> signed_wide;
  hn::StoreU(hn::DemoteTo(narrow, hn::BitCast(signed_wide, rounded)), narrow,
             reinterpret_cast<uint16_t*>(p));
}

// The first n < Lanes elements; the other lanes are zero. Never touches memory past them.
template <typename T>
HWY_INLINE FloatVec load_n(const T* p, size_t n) {
  HWY_ALIGN T buffer[HWY_MAX_BYTES / sizeof(float)] = {};
  std::memcpy(buffer, p, n * sizeof(T));
  return load(buffer);
}
template <typename T>
HWY_INLINE void store_n(FloatVec v, T* p, size_t n) {
  HWY_ALIGN T buffer[HWY_MAX_BYTES / sizeof(float)];
  store(v, buffer);
  std::memcpy(p, buffer, n * sizeof(T));
}
#if HWY_TARGET <= HWY_AVX2  // masked loads and stores of f32 touch only what they should
HWY_INLINE FloatVec load_n(const float* p, size_t n) {
  return hn::MaskedLoad(hn::FirstN(FloatTag(), n), FloatTag(), p);
}
HWY_INLINE void store_n(FloatVec v, float* p, size_t n) {
  hn::BlendedStore(v, hn::FirstN(FloatTag(), n), FloatTag(), p);
}
#endif

HWY_INLINE FloatVec set(float value) { return hn::Set(FloatTag(), value); }
HWY_INLINE FloatVec zero() { return hn::Zero(FloatTag()); }
HWY_INLINE float sum(FloatVec v) { return hn::GetLane(hn::SumOfLanes(FloatTag(), v)); }
HWY_INLINE float max(FloatVec v) { return hn::GetLane(hn::MaxOfLanes(FloatTag(), v)); }

inline constexpr int64_t kQuad = 4;
using QuadTag = hn::FixedTag<float, kQuad>;

// Adds the 128-bit blocks of a vector, upper half to lower half, until one is left.
template <class D, class V>
HWY_INLINE hn::Vec<QuadTag> add_blocks(D d, V v) {
  if constexpr (hn::MaxLanes(d) == kQuad) {
    return v;
  } else {
    const hn::Half<D> half;
    return add_blocks(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
}

// The sums of four vectors' lanes, each in the same order.
HWY_INLINE hn::Vec<QuadTag> sums_of_four(const FloatVec* v) {
  const FloatTag d;
  const hn::Repartition<double, FloatTag> wide;
  const auto ab = hn::Add(hn::InterleaveLower(d, v[0], v[1]), hn::InterleaveUpper(d, v[0], v[1]));
  const auto cd = hn::Add(hn::InterleaveLower(d, v[2], v[3]), hn::InterleaveUpper(d, v[2], v[3]));
  const auto low = hn::InterleaveLower(wide, hn::BitCast(wide, ab), hn::BitCast(wide, cd));
  const auto high = hn::InterleaveUpper(wide, hn::BitCast(wide, ab), hn::BitCast(wide, cd));
  return add_blocks(d, hn::Add(hn::BitCast(d, low), hn::BitCast(d, high)));
}

// out[i] = fn(in[i]...) for i in [0, n): fn takes and returns vectors. Out may be one of the
// inputs.
template <typename Out, typename Fn, typename... In>
HWY_INLINE void map(size_t n, Out* out, const Fn& fn, const In*... in) {
  const size_t lanes = hn::Lanes(FloatTag());
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    store(fn(load(in + i)...), out + i);
  }
  if (i < n) {
    store_n(fn(load_n(in + i, n - i)...), out + i, n - i);
  }
}

// Sum over i of fn(in[i]...). Lanes past the end hold fn(0...), so fn must map zeros to zero.
template <typename Fn, typename... In>
HWY_INLINE float reduce(size_t n, const Fn& fn, const In*... in) {
  const size_t lanes = hn::Lanes(FloatTag());
  FloatVec total0 = zero();
  FloatVec total1 = zero();
  size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    total0 = hn::Add(total0, fn(load(in + i)...));
    total1 = hn::Add(total1, fn(load(in + i + lanes)...));
  }
  for (; i + lanes <= n; i += lanes) {
    total0 = hn::Add(total0, fn(load(in + i)...));
  }
  if (i < n) {
    total1 = hn::Add(total1, fn(load_n(in + i, n - i)...));
  }
  return sum(hn::Add(total0, total1));
}

// Calls fn with a typed null pointer for the element type: fn((float*)0) or fn((bf16*)0).
template <typename Fn>
HWY_INLINE void with_type(DType dtype, const Fn& fn) {
  if (dtype == DType::f32) {
    fn(static_cast<float*>(nullptr));
  } else {
    fn(static_cast<bf16*>(nullptr));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#endif  // HEED_KERNELS_SIMD_INL_H_
