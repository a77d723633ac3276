#include "kernels/image/window_distance.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/image/window_distance.cc"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

HWY_INLINE FloatVec add_tap(FloatVec sum, FloatVec pixels, const kernels::WindowTap& tap) {
  const FloatVec difference = hn::Sub(pixels, set(tap.value));
  return hn::MulAdd(hn::Mul(set(tap.weight), difference), difference, sum);
}

// The sums stay in registers while the taps go by; four at once hide the latency of the additions.
void window_distance(const kernels::WindowDistance& args) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(FloatTag()));
  for (int64_t y = 0; y < args.rows; ++y) {
    const float* image = args.image + y * args.stride;
    float* distance = args.distance + y * args.columns;
    int64_t x = 0;
    for (; x + 4 * lanes <= args.columns; x += 4 * lanes) {
      FloatVec sum0 = zero(), sum1 = zero(), sum2 = zero(), sum3 = zero();
      for (int64_t i = 0; i < args.count; ++i) {
        const kernels::WindowTap& tap = args.taps[i];
        const float* pixels = image + x + tap.offset;
        sum0 = add_tap(sum0, load(pixels), tap);
        sum1 = add_tap(sum1, load(pixels + lanes), tap);
        sum2 = add_tap(sum2, load(pixels + 2 * lanes), tap);
        sum3 = add_tap(sum3, load(pixels + 3 * lanes), tap);
      }
      store(sum0, distance + x);
      store(sum1, distance + x + lanes);
      store(sum2, distance + x + 2 * lanes);
      store(sum3, distance + x + 3 * lanes);
    }
    for (; x < args.columns; x += lanes) {
      const size_t n = static_cast<size_t>(args.columns - x < lanes ? args.columns - x : lanes);
      FloatVec sum = zero();
      for (int64_t i = 0; i < args.count; ++i) {
        const kernels::WindowTap& tap = args.taps[i];
        sum = add_tap(sum, load_n(image + x + tap.offset, n), tap);
      }
      store_n(sum, distance + x, n);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {
HWY_EXPORT(window_distance);

namespace kernels {

void window_distance(const WindowDistance& args) {
  HWY_DYNAMIC_DISPATCH(heed::window_distance)(args);
}

}  // namespace kernels
}  // namespace heed
#endif  // HWY_ONCE
