#include "tensor/tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"

namespace heed {
namespace {

TEST(Bf16, RoundsToNearestEven) {
  EXPECT_EQ(bf16(1.0F).bits, 0x3F80);
  EXPECT_EQ(bf16(1.00390625F).bits, 0x3F80);  // halfway, to even
  EXPECT_EQ(bf16(1.01171875F).bits, 0x3F82);  // halfway, to even
  EXPECT_EQ(bf16(std::numeric_limits<float>::infinity()).bits, 0x7F80);
  EXPECT_TRUE(std::isnan(static_cast<float>(bf16(std::numeric_limits<float>::quiet_NaN()))));
}

TEST(Shape, RefusesNonsense) {
  EXPECT_THROW(Shape({2, -1}), Error);
  EXPECT_THROW(Shape({1, 1, 1, 1, 1, 1, 1}), Error);
  EXPECT_THROW((void)Shape({2, 3})[2], Error);
  EXPECT_EQ(Shape({2, 3})[-1], 3);
  EXPECT_EQ(Shape({2, 3}).str(), "[2,3]");
}

TEST(Tensor, ViewsShareElements) {
  const std::vector<float> values{0, 1, 2, 3, 4, 5};
  const Tensor x = Tensor::from(values, {3, 2});
  const Tensor row = x.rows(1, 2);
  row.data<float>()[0] = 9.0F;
  EXPECT_EQ(x.reshape({6}).to_vector(), (std::vector<float>{0, 1, 9, 3, 4, 5}));
  EXPECT_FALSE(x.unique());
  EXPECT_THROW(x.reshape({5}), Error);
  EXPECT_THROW(x.rows(2, 4), Error);
}

TEST(Tensor, ConvertsAndCopies) {
  const std::vector<float> values{1.5F, -2.25F};
  const Tensor x = Tensor::from(values, {2}, DType::bf16);
  EXPECT_EQ(x.to(DType::f32).to_vector(), values);
  EXPECT_EQ(describe(x), "bf16 [2]");
  EXPECT_THROW((void)x.item(), Error);
  EXPECT_THROW(Tensor::from(values, {3}), Error);
}

}  // namespace
}  // namespace heed
