#include "kernels/cpu.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace heed {
namespace {

// Also where HEED_MAX_ISA lowers it: this test runs once for each value of it.
TEST(Cpu, KernelsRunOnTheInstructionSetInUse) {
  EXPECT_EQ(name_of(kernel_isa()), name_of(std::min(max_isa(), Isa::avx512)));
  const Isa before = max_isa();
  for (const Isa isa : usable_isas()) {
    set_max_isa(isa);
    EXPECT_EQ(name_of(kernel_isa()), name_of(std::min(isa, Isa::avx512)));
  }
  set_max_isa(before);
}

}  // namespace
}  // namespace heed
