// Copies that convert, scale and add, at every instruction set.
#include "kernels/copy.h"

#include <gtest/gtest.h>

#include "support/kernel_buffer.h"

namespace heed::testing {
namespace {

TEST(Copy, ConvertsAndAdds) {
  for_each_isa([] {
    for (const DType from : kFloatTypes) {
      for (const DType to : kFloatTypes) {
        for (const int64_t n : kLengths) {
          for (const bool accumulate : {false, true}) {
            SCOPED_TRACE(::testing::Message() << "n " << n << " accumulate " << accumulate);
            const Buffer x = Buffer(n, from, 3).fill(141);
            Buffer y = Buffer(n, to, 1).fill(142);
            std::vector<double> expected = y.values();
            for (int64_t i = 0; i < n; ++i) {
              double& value = expected[static_cast<size_t>(i)];
              value = (accumulate ? value : 0.0) - 1.5 * x.get(i);
            }
            kernels::copy(
                {.n = n, .from = x.in(), .to = y.out(), .scale = -1.5F, .accumulate = accumulate});
            expect_close(y, expected);
          }
        }
      }
    }
  });
}

// Ties go to even, as the scalar conversion has it; infinities and NaN stay what they are.
TEST(Copy, RoundsToBf16AsTheScalarDoes) {
  const uint32_t words[] = {0x3F800000, 0x3F808000, 0x3F818000, 0x3F807FFF, 0x3F808001, 0x7F7FFFFF,
                            0x7F800000, 0xFF800000, 0x00000001, 0x80000000, 0x7FC00000, 0xFFC00000,
                            0x0000FFFF, 0x3F80FFFF, 0xBF808000, 0xBF818000, 0x7F7F7FFF};
  const int64_t n = static_cast<int64_t>(std::size(words));
  Buffer x(n);
  std::memcpy(x.raw(), words, sizeof(words));
  for_each_isa([&] {
    Buffer y(n, DType::bf16);
    kernels::copy({.n = n, .from = x.in(), .to = y.out()});
    for (int64_t i = 0; i < n; ++i) {
      EXPECT_EQ(y.data<bf16>()[i].bits, bf16(x.data<float>()[i]).bits) << std::hex << words[i];
    }
  });
}

}  // namespace
}  // namespace heed::testing
