// Who looks at attention, and what they get to see.
#include "nn/scopes/attention_scope.h"

#include <gtest/gtest.h>

#include <thread>

namespace heed::testing {
namespace {

Tensor weights(float value) { return Tensor::from(std::vector<float>{value}, {1, 1, 1, 1}); }

TEST(AttentionScope, WithoutOneNobodyLooks) {
  EXPECT_FALSE(AttentionScope::open());
  AttentionScope::report({"decoder", 0}, weights(1.0F));
  const AttentionScope scope;
  EXPECT_TRUE(AttentionScope::open());
  EXPECT_TRUE(scope.layers().empty());
}

TEST(AttentionScope, KeepsReportsInTheirOrder) {
  AttentionScope scope;
  AttentionScope::report({"encoder", 3}, weights(0.5F));
  AttentionScope::report({"cross", 1}, Tensor());  // no weights: nothing to see
  AttentionScope::report({"cross", 2}, weights(0.25F).to(DType::bf16));
  ASSERT_EQ(scope.layers().size(), 2U);
  EXPECT_EQ(scope.layers()[0].kind, "encoder");
  EXPECT_EQ(scope.layers()[0].layer, 3);
  EXPECT_EQ(scope.layers()[0].weights.item(), 0.5F);
  EXPECT_EQ(scope.layers()[1].kind, "cross");
  EXPECT_EQ(scope.layers()[1].layer, 2);
  EXPECT_EQ(scope.layers()[1].weights.dtype(), DType::f32);
  EXPECT_EQ(scope.take().size(), 2U);
  EXPECT_TRUE(scope.layers().empty());
}

TEST(AttentionScope, TheInnermostCounts) {
  const AttentionScope outer;
  {
    const AttentionScope inner;
    AttentionScope::report({"decoder", 0}, weights(1.0F));
    EXPECT_EQ(inner.layers().size(), 1U);
  }
  EXPECT_TRUE(outer.layers().empty());
  AttentionScope::report({"decoder", 1}, weights(1.0F));
  EXPECT_EQ(outer.layers().size(), 1U);
}

TEST(AttentionScope, BelongsToItsThread) {
  const AttentionScope scope;
  bool open = true;
  std::thread([&] {
    open = AttentionScope::open();
    AttentionScope::report({"decoder", 0}, weights(1.0F));
  }).join();
  EXPECT_FALSE(open);
  EXPECT_TRUE(scope.layers().empty());
}

}  // namespace
}  // namespace heed::testing
