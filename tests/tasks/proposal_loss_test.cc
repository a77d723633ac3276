// The loss of the heads of blockwise decoding: of some drawn at random it is the mean of those, and
// of all of them the mean of all.
#include "tasks/blockwise/proposal_loss.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "base/random.h"
#include "ops/pointwise.h"

namespace heed {
namespace {

// Head h says h times its input.
struct ScaledHeads : BlockwiseModel {
  int64_t block() const override { return 5; }
  Tensor propose(const Tensor& /*hidden*/) const override { return {}; }
  Tensor propose(const Tensor& hidden, int64_t head) const override {
    return scale(hidden, static_cast<float>(head));
  }
};

Tensor random_hidden() {
  const RandomStream random{1, 2};
  std::vector<float> values;
  for (uint64_t i = 0; i < 2 * 6 * 7; ++i) {
    values.push_back(random.normal(i));
  }
  return Tensor::from(values, {2, 6, 7});
}

class ProposalLossTest : public ::testing::Test {
 protected:
  ProposalLoss loss(int64_t first) const { return {model_, first, hidden_, targets_}; }
  // Of so many heads, drawn for the first time with this seed.
  double drawn(int64_t first, int64_t heads, uint64_t seed) const {
    Tape tape(seed);
    const TapeScope scope(tape);
    return loss(first).of_drawn(heads, {}).item();
  }

  ScaledHeads model_;
  Tensor hidden_ = random_hidden();  // [2,6,7]
  Tensor targets_ =
      Tensor::from_ints(std::vector<int32_t>{0, 1, 2, 3, 4, 5, 6, 5, 4, 3, 2, 1}, {2, 6});
};

TEST_F(ProposalLossTest, AllHeadsAreTheMeanOfAll) {
  EXPECT_NEAR(drawn(2, 4, 1), loss(2).of_all(), 1e-5);
  EXPECT_NEAR(drawn(2, 64, 1), loss(2).of_all(), 1e-5);
}

TEST_F(ProposalLossTest, OneHeadIsOneOfThem) {
  std::set<double> seen;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    seen.insert(drawn(2, 1, seed));
  }
  EXPECT_EQ(seen.size(), 4U);
}

TEST_F(ProposalLossTest, HeadsOfAStepDiffer) {
  std::set<double> seen;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    seen.insert(std::round(drawn(2, 3, seed) * 1e4));
  }
  EXPECT_EQ(seen.size(), 4U);  // each leaves one of four out
}

TEST_F(ProposalLossTest, TheModelItselfCountsAsMuchAsItsProposals) {
  const double own = 5 * loss(1).of_all() - 4 * loss(2).of_all();
  EXPECT_NEAR(drawn(1, 4, 1), (own + loss(2).of_all()) / 2, 1e-5);
}

}  // namespace
}  // namespace heed
