// The loop of optimizer steps: several arrays side by side, one pass over memory.
#if defined(HEED_KERNELS_OPTIMIZER_EACH_VECTOR_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_OPTIMIZER_EACH_VECTOR_INL_H_
#undef HEED_KERNELS_OPTIMIZER_EACH_VECTOR_INL_H_
#else
#define HEED_KERNELS_OPTIMIZER_EACH_VECTOR_INL_H_
#endif

#include <hwy/cache_control.h>

#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

// Ahead of the loop by this many elements, prefetching makes four streams as fast as one. Stores
// around the caches do not pay: what is written was read just before.
constexpr int64_t kAhead = 256;

HWY_INLINE FloatVec fetch(const float* p) {
  hwy::Prefetch(p + kAhead);
  return load(p);
}

// body(load, store, i) with whole vectors, and once more with the tail's loads and stores.
template <typename Body>
HWY_INLINE void each_vector(int64_t begin, int64_t end, const Body& body) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(FloatTag()));
  int64_t i = begin;
  for (; i + lanes <= end; i += lanes) {
    body(
        fetch, [](FloatVec v, auto* p) { store(v, p); }, i);
  }
  if (i < end) {
    const size_t n = static_cast<size_t>(end - i);
    body([n](const float* p) { return load_n(p, n); },
         [n](FloatVec v, auto* p) { store_n(v, p, n); }, i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#endif  // HEED_KERNELS_OPTIMIZER_EACH_VECTOR_INL_H_
