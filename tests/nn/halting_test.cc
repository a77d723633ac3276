#include "nn/universal/halting.h"

#include <gtest/gtest.h>

#include "autograd/tape.h"
#include "nn/scopes/loss_scope.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "support/error_of.h"

namespace heed::testing {
namespace {

std::vector<float> floats(const Tensor& x) { return {x.data<float>(), x.data<float>() + x.size()}; }

void expect_near(const Tensor& found, const std::vector<float>& expected) {
  ASSERT_EQ(found.size(), std::ssize(expected));
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(floats(found)[i], expected[i], 1e-6) << "element " << i;
  }
}

// One position halts at once, one in the second step, one is forced to in the last; the fourth is
// padding.
TEST(Halting, WeightsOfAPositionAddUpToOne) {
  Halting halting({.threshold = 0.9F, .cost = 0.5F}, 1, 4,
                  Tensor::from_ints(std::vector<int32_t>{3}, {1}));
  const auto step = [&](std::vector<float> p, bool is_last) {
    return halting.weigh(Tensor::from(p, {1, 4, 1}), is_last);
  };
  expect_near(step({0.95F, 0.6F, 0.1F, 0.99F}, false), {1, 0.6F, 0.1F, 0});
  expect_near(halting.running(), {0, 1, 1, 0});
  expect_near(step({0.5F, 0.5F, 0.1F, 0.99F}, false), {0, 0.4F, 0.1F, 0});
  EXPECT_FALSE(halting.all_halted());
  expect_near(step({0.5F, 0.5F, 0.1F, 0.99F}, true), {0, 0, 0.8F, 0});
  EXPECT_TRUE(halting.all_halted());
  expect_near(halting.halted(), {1, 1, 1, 1});
  expect_near(halting.steps(), {1, 2, 3, 0});
  // Steps and what was left of 1, over the three positions: (1 + 2 + 3 + 1 + 0.4 + 0.8) / 3.
  expect_near(halting.cost(), {0.5F * 8.2F / 3.0F});
}

// d cost / d p of a step before the last is -cost / positions, and 0 for the last one.
TEST(Halting, TheCostPullsEarlierProbabilitiesUp) {
  Tape tape(1);
  Tensor first = Tensor::from(std::vector<float>{0.2F, 0.7F}, {1, 2, 1});
  Tensor second = Tensor::from(std::vector<float>{0.3F, 0.4F}, {1, 2, 1});
  {
    const TapeScope scope(tape);
    tape.watch(first);
    tape.watch(second);
    Halting halting({.threshold = 0.99F, .cost = 1.0F}, 1, 2, {});
    const Tensor before = halting.weigh(first, false);
    const Tensor weights = add(before, halting.weigh(second, true));
    expect_near(weights, {1, 1});
    tape.backward(add(halting.cost().reshape({}), scale(sum(weights), 0.0F)));
  }
  expect_near(first.slot()->grad, {-0.5F, -0.5F});
  expect_near(second.slot()->grad, {0, 0});
}

TEST(Halting, SaysWhichShapeItExpects) {
  Halting halting({}, 2, 3, {});
  EXPECT_EQ(error_of([&] {
              halting.weigh(Tensor::zeros({2, 3}), false);
            }),
            "[halting] probabilities are [2,3], expected [2,3,1]");
}

TEST(LossScope, AddsWhatWasReportedInside) {
  LossScope::report(Tensor::from(std::vector<float>{9.0F}, {1}));  // nobody listens
  EXPECT_FALSE(LossScope::open());
  const LossScope outer;
  LossScope::report(Tensor::from(std::vector<float>{1.0F}, {1}));
  {
    const LossScope inner;
    LossScope::report(Tensor::from(std::vector<float>{2.0F}, {1}));
    EXPECT_EQ(inner.added_to(Tensor::from(std::vector<float>{10.0F}, {})).item(), 12.0F);
  }
  EXPECT_EQ(outer.added_to(Tensor::from(std::vector<float>{10.0F}, {})).item(), 11.0F);
  EXPECT_EQ(error_of([] { LossScope::report(Tensor::zeros({2})); }),
            "[loss scope] a cost is [2], expected one element");
}

}  // namespace
}  // namespace heed::testing
