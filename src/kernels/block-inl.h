// Kernels in blocks of f32: operands of any element type are widened block by block (f32 ones are
// read where they are), the maths is written once in f32, and results are narrowed on the way out.
// A block stays in the first-level cache, so the detour costs little and saves a copy of every
// kernel for every pair of element types.
#if defined(HEED_KERNELS_BLOCK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_BLOCK_INL_H_
#undef HEED_KERNELS_BLOCK_INL_H_
#else
#define HEED_KERNELS_BLOCK_INL_H_
#endif

#include <algorithm>

#include "kernels/copy.h"
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

inline constexpr int64_t kBlock = 512;

// Elements [at, at + n) as f32: where they are, or converted into `buffer`. Bytes become 0 or 1.
HWY_INLINE const float* widen(kernels::In in, int64_t at, size_t n, float* buffer) {
  if (in.dtype == DType::f32) {
    return static_cast<const float*>(in.data) + at;
  }
  if (in.dtype == DType::i8) {
    const int8_t* bytes = static_cast<const int8_t*>(in.data) + at;
    for (size_t i = 0; i < n; ++i) {
      buffer[i] = bytes[i] != 0 ? 1.0F : 0.0F;
    }
    return buffer;
  }
  map(
      n, buffer, [](FloatVec v) { return v; }, static_cast<const bf16*>(in.data) + at);
  return buffer;
}

// Where to compute elements that go to out[at...]: in place if that is all there is to do.
HWY_INLINE float* staging(kernels::Out out, int64_t at, bool accumulate, float* buffer) {
  return out.dtype == DType::f32 && !accumulate ? static_cast<float*>(out.data) + at : buffer;
}

// out[at, at + n) (+)= values, unless staging() had them computed there.
HWY_INLINE void put(kernels::Out out, int64_t at, size_t n, const float* values, bool accumulate) {
  with_type(out.dtype, [&](auto* type) {
    auto* to = static_cast<decltype(type)>(out.data) + at;
    if (accumulate) {
      map(
          n, to, [](FloatVec old, FloatVec v) { return hn::Add(old, v); }, to, values);
    } else if (static_cast<const void*>(to) != values) {
      map(
          n, to, [](FloatVec v) { return v; }, values);
    }
  });
}

// An operand with an element for each element of the result.
class Plain {
 public:
  explicit Plain(kernels::In in) : in_(in) {}
  static int64_t run(int64_t /*at*/) { return kBlock; }
  const float* get(int64_t at, size_t n) { return widen(in_, at, n, buffer_); }

 private:
  kernels::In in_;
  float buffer_[kBlock];
};

// An operand that repeats every `period` elements. A short period is laid out several times, so
// that loops stay long.
class Repeated {
 public:
  Repeated(kernels::In in, int64_t period) : in_(in), period_(period) {
    if (period > 0 && period < kBlock) {
      const float* once = widen(in, 0, static_cast<size_t>(period), buffer_);
      const int64_t length = kBlock / period * period;
      std::copy_n(once, period, tile_);
      for (int64_t i = period; i < length; ++i) {
        tile_[i] = tile_[i - period];
      }
      in_ = {tile_, DType::f32};
      period_ = length;
    }
  }
  Repeated(const Repeated&) = delete;
  Repeated& operator=(const Repeated&) = delete;

  // How many elements from `at` on lie side by side.
  int64_t run(int64_t at) const { return period_ - at % period_; }
  const float* get(int64_t at, size_t n) { return widen(in_, at % period_, n, buffer_); }

 private:
  kernels::In in_;
  int64_t period_;
  float tile_[kBlock];
  float buffer_[kBlock];
};

// out[i] (+)= fn(operands[i]...) for i in [begin, end).
template <typename Fn, typename... Operands>
HWY_INLINE void map_blocks(int64_t begin, int64_t end, kernels::Out out, bool accumulate,
                           const Fn& fn, Operands&... operands) {
  float buffer[kBlock];
  int64_t length = 0;
  for (int64_t i = begin; i < end; i += length) {
    length = std::min({kBlock, end - i, operands.run(i)...});
    const size_t n = static_cast<size_t>(length);
    float* to = staging(out, i, accumulate, buffer);
    map(n, to, fn, operands.get(i, n)...);
    put(out, i, n, to, accumulate);
  }
}

// Sum over i in [begin, end) of fn(operands[i]...): blocks in f32, their sums in double.
template <typename Fn, typename... Operands>
HWY_INLINE double sum_blocks(int64_t begin, int64_t end, const Fn& fn, Operands&... operands) {
  float values[kBlock];
  double total = 0.0;
  int64_t length = 0;
  for (int64_t i = begin; i < end; i += length) {
    length = std::min({kBlock, end - i, operands.run(i)...});
    const size_t n = static_cast<size_t>(length);
    map(n, values, fn, operands.get(i, n)...);
    total += static_cast<double>(reduce(
        n, [](FloatVec v) { return v; }, values));
  }
  return total;
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#endif  // HEED_KERNELS_BLOCK_INL_H_
