#include "kernels/read_memory.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/read_memory.cc"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include <atomic>

#include "base/parallel.h"
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

inline constexpr size_t kUnit = 256;  // bytes a turn

uint32_t read_range(const uint32_t* words, size_t bytes) {
  const hn::ScalableTag<uint32_t> d;
  const size_t lanes = hn::Lanes(d);
  auto sum = hn::Zero(d);
  for (size_t at = 0; at < bytes / sizeof(uint32_t); at += kUnit / sizeof(uint32_t)) {
    for (size_t i = 0; i < kUnit / sizeof(uint32_t); i += lanes) {
      sum = hn::Xor(sum, hn::LoadU(d, words + at + i));
    }
  }
  HWY_ALIGN uint32_t last[HWY_MAX_BYTES / sizeof(uint32_t)];
  hn::Store(sum, d, last);
  uint32_t result = 0;
  for (size_t i = 0; i < lanes; ++i) {
    result ^= last[i];
  }
  return result;
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {
HWY_EXPORT(read_range);

namespace kernels {

uint32_t read_memory(const void* data, size_t bytes) {
  constexpr int64_t kUnit = 256;
  std::atomic<uint32_t> result = 0;
  parallel_for(static_cast<int64_t>(bytes) / kUnit, 4096, [&](int64_t begin, int64_t end) {
    const auto* words =
        reinterpret_cast<const uint32_t*>(static_cast<const std::byte*>(data) + begin * kUnit);
    result ^= HWY_DYNAMIC_DISPATCH(read_range)(words, static_cast<size_t>((end - begin) * kUnit));
  });
  return result;
}

}  // namespace kernels
}  // namespace heed
#endif  // HWY_ONCE
