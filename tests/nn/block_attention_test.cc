// Attention over blocks: what the plan lets a query see, and the same numbers step by step.
#include "nn/block_attention.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "support/error_of.h"
#include "support/op_case.h"

namespace heed::testing {
namespace {

constexpr int64_t kWidth = 16;
constexpr int64_t kHeads = 2;

Tensor noise(const Shape& shape) {
  const RandomStream random{7, 0};
  std::vector<float> values;
  for (int64_t i = 0; i < shape.size(); ++i) {
    values.push_back(2.0F * random.uniform(static_cast<uint64_t>(i)) - 1.0F);
  }
  return Tensor::from(values, shape);
}

struct Made {
  ParameterStore store;
  BlockAttention attention;
  explicit Made(BlockPlan plan)
      : attention(store.root(), {.width = kWidth,
                                 .heads = kHeads,
                                 .plan = std::make_shared<BlockPlan>(std::move(plan))}) {
    store.allocate(DType::f32, 5, ParameterStore::Use::inference);
  }
};

// Blocks of three; the third looks at every second position, the last only at the first block.
BlockPlan uneven() { return {3, {{}, {0, 2}, {0, 2, 4}, {0, 1, 2}}}; }

TEST(BlockPlan, LinesHaveTheirMemoryBeforeThem) {
  const BlockPlan plan = plan_line(12, 4, 6);
  EXPECT_EQ(plan.blocks(), 3);
  EXPECT_EQ(plan.keys(), 10);
  EXPECT_EQ(plan.reach(), 6);
  EXPECT_TRUE(plan.memory(0).empty());
  EXPECT_EQ(plan.memory(1), (std::vector<int32_t>{0, 1, 2, 3}));
  EXPECT_EQ(plan.memory(2), (std::vector<int32_t>{2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(
      error_of([] { plan_line(10, 4, 1); }),
      "[block attention] blocks of 4 with memories of 1 for 10 positions, expected a divisor");
  EXPECT_EQ(error_of([] {
              BlockPlan(2, {{}, {2}});
            }),
            "[block attention] the memory of block 1 must be ascending positions below 2");
}

// One block is plain causal attention: the parameters have the same names and values.
TEST(BlockAttention, OneBlockIsCausalAttention) {
  const Made made(plan_line(9, 9, 0));
  ParameterStore store;
  const SelfAttention plain(store.root(), {.width = kWidth, .heads = kHeads});
  store.allocate(DType::f32, 5, ParameterStore::Use::inference);
  const Tensor x = noise({2, 9, kWidth});
  EXPECT_LT(
      error_between(to_array(made.attention(x, {}).y), to_array(plain(x, {.causal = true}).y)),
      1e-6);
}

TEST(BlockAttention, WeightsLieWhereThePlanSays) {
  const Made made(uneven());
  const Tensor weights = made.attention(noise({2, 12, kWidth}), {.weights = true}).weights;
  ASSERT_EQ(weights.shape(), (Shape{2, kHeads, 12, 12}));
  const BlockPlan plan = uneven();
  for (int64_t i = 0; i < weights.size(); i += 12) {
    const int64_t query = i / 12 % 12;
    const std::vector<int32_t>& memory = plan.memory(query / 3);
    double total = 0.0;
    for (int64_t key = 0; key < 12; ++key) {
      const float weight = weights.data<float>()[i + key];
      const bool own = key / 3 == query / 3 && key <= query;
      const bool remembered = std::find(memory.begin(), memory.end(), key) != memory.end();
      EXPECT_EQ(weight > 0.0F, own || remembered) << query << " " << key;
      total += weight;
    }
    EXPECT_NEAR(total, 1.0, 1e-5);
  }
}

TEST(BlockAttention, StepByStepTheSame) {
  for (const BlockPlan& plan : {uneven(), plan_line(12, 4, 3), plan_line(12, 12, 0)}) {
    const Made made(plan);
    const Tensor x = noise({3, 12, kWidth});
    const Array whole = to_array(made.attention(x, {}).y);
    BlockCache cache(3);
    for (int64_t t = 0; t < 12; ++t) {
      const auto at = [&](int64_t i) { return (i / kWidth * 12 + t) * kWidth + i % kWidth; };
      const Tensor next = Tensor::empty({3, 1, kWidth});
      for (int64_t i = 0; i < next.size(); ++i) {
        next.data<float>()[i] = x.data<float>()[at(i)];
      }
      const Array y = to_array(made.attention(next, {.caches = {&cache}}).y);
      for (int64_t i = 0; i < next.size(); ++i) {
        EXPECT_NEAR(y.values[static_cast<size_t>(i)], whole.values[static_cast<size_t>(at(i))],
                    1e-5);
      }
    }
    EXPECT_LE(cache.past.dim(1), plan.reach() + plan.block());
    EXPECT_EQ(error_of([&] {
                made.attention(noise({3, 1, kWidth}), {.caches = {&cache}});
              }),
              "[block attention] all 12 positions are decoded");
  }
}

}  // namespace
}  // namespace heed::testing
