#include "kernels/cpu.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/kernel_isa.cc"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

Isa own_isa() {
  return HWY_TARGET <= HWY_AVX3 ? Isa::avx512 : HWY_TARGET == HWY_AVX2 ? Isa::avx2 : Isa::sse4;
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {
HWY_EXPORT(own_isa);

Isa kernel_isa() { return HWY_DYNAMIC_DISPATCH(own_isa)(); }

}  // namespace heed
#endif  // HWY_ONCE
