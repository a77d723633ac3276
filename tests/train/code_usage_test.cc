#include "train/metrics/code_usage.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/error_of.h"

namespace heed::testing {
namespace {

TEST(CodeUsage, CountsTheCodesOfEachSlice) {
  CodeUsage usage(4, 2);
  const std::vector<int32_t> codes{0, 3, 1, 3, 0, 3, 1, 3};  // 0 1 0 1, and always 3
  usage.add(Tensor::from_ints(codes, {4, 2}));
  EXPECT_DOUBLE_EQ(usage.share(), 3.0 / 8.0);
  EXPECT_NEAR(usage.perplexity(), std::sqrt(2.0), 1e-12);  // 2 codes alike, and 1
}

TEST(CodeUsage, OfNothingIsNothing) {
  const CodeUsage usage(4, 1);
  EXPECT_EQ(usage.share(), 0.0);
  EXPECT_EQ(usage.perplexity(), 1.0);
}

TEST(CodeUsage, NamesWhatIsWrong) {
  CodeUsage usage(4, 1);
  const std::vector<int32_t> codes{4};
  EXPECT_EQ(error_of([&] {
              usage.add(Tensor::from_ints(codes, {1, 1}));
            }),
            "[code usage] a code is 4, expected 0 to 3");
  EXPECT_EQ(error_of([&] { usage.add(Tensor::from_ints(codes, {1})); }),
            "[code usage] codes is [1], expected rows of 1");
}

}  // namespace
}  // namespace heed::testing
