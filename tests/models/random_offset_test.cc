// Sequences that begin at random positions: in training only, source and target together, from the
// tape's random numbers.
#include <gtest/gtest.h>

#include <set>

#include "autograd/tape.h"
#include "models/registry.h"
#include "nn/positions.h"
#include "support/error_of.h"
#include "support/language_check.h"

namespace heed::testing {
namespace {

TEST(RandomOffsets, AreDrawnFromTheTape) {
  EXPECT_TRUE(random_offsets(4, 10).empty());
  Tape tape(3);
  const TapeScope scope(tape);
  EXPECT_TRUE(random_offsets(4, 0).empty());
  EXPECT_EQ(tape.draws(), 0U);
  const std::vector<int64_t> first = random_offsets(400, 10);
  const std::vector<int64_t> second = random_offsets(400, 10);
  EXPECT_EQ(tape.draws(), 2U);
  EXPECT_NE(first, second);
  EXPECT_EQ(std::set(first.begin(), first.end()).size(), 11U);
  EXPECT_EQ(*std::min_element(first.begin(), first.end()), 0);
  EXPECT_EQ(*std::max_element(first.begin(), first.end()), 10);
  tape.set_draws(0);
  EXPECT_EQ(random_offsets(400, 10), first);
}

struct Built {
  Built(const std::string& kind, int64_t offset, const Json& more = Json::object()) {
    Json config{{"kind", kind},
                {"vocabulary", 20},
                {"width", 16},
                {"heads", 2},
                {"hidden", 24},
                {"encoder_layers", 2},
                {"decoder_layers", 2},
                {"dropout", 0.0},
                {"attention_dropout", 0.0},
                {"hidden_dropout", 0.0},
                {"random_offset", offset}};
    config.update(more);
    any = make_model(store.root(), resolve_model_config(config, "test"));
    store.allocate(DType::f32, 3);
  }
  std::vector<float> logits() const {
    const Tensor tokens = Tensor::from_ints(noise_tokens(18, 20), {2, 9});
    const Tensor lengths = Tensor::from_ints(std::vector<int32_t>{9, 6}, {2});
    return dynamic_cast<const Seq2SeqModel&>(*any)
        .logits({.source = tokens,
                 .source_lengths = lengths,
                 .input = tokens,
                 .target = tokens,
                 .target_lengths = lengths})
        .to_vector();
  }
  std::vector<float> trained(Tape& tape) const {
    const TapeScope scope(tape);
    return logits();
  }

  ParameterStore store;
  std::unique_ptr<Model> any;
};

class RandomOffsetTest : public ::testing::TestWithParam<std::string> {};

TEST_P(RandomOffsetTest, InTrainingOnly) {
  const Built plain(GetParam(), 0);
  const Built moved(GetParam(), 50);
  EXPECT_EQ(plain.logits(), moved.logits());
  Tape tape(3);
  const std::vector<float> first = moved.trained(tape);
  EXPECT_NE(first, plain.logits());
  EXPECT_EQ(tape.draws(), 1U);  // one for source and target
  EXPECT_NE(moved.trained(tape), first);
  Tape again(3);
  EXPECT_EQ(moved.trained(again), first);
  Tape other(3);
  EXPECT_EQ(plain.trained(other), plain.logits());
}

// Relative positions do not tell where a sequence begins, so nothing changes.
TEST_P(RandomOffsetTest, DistancesStay) {
  const Built moved(GetParam(), 50, {{"positions", "relative"}});
  Tape tape(3);
  EXPECT_EQ(moved.trained(tape), moved.logits());
}

TEST_P(RandomOffsetTest, StaysWithinLearnedPositions) {
  const Built moved(GetParam(), 1000, {{"positions", "learned"}, {"longest", 12}});
  Tape tape(3);
  for (int i = 0; i < 20; ++i) {
    EXPECT_FALSE(moved.trained(tape).empty());
  }
  const Built full(GetParam(), 1000, {{"positions", "learned"}, {"longest", 9}});
  EXPECT_EQ(full.trained(tape), full.logits());
}

INSTANTIATE_TEST_SUITE_P(Kinds, RandomOffsetTest,
                         ::testing::Values("transformer", "universal_transformer",
                                           "blockwise_transformer"),
                         [](const auto& info) { return info.param; });

TEST(RandomOffset, WhereItMeansNothing) {
  EXPECT_EQ(
      error_of([] { const Built built("parallel_transformer", 5); }),
      "[parallel transformer] random_offset is 5, expected 0: all positions are said at once");
  EXPECT_EQ(error_of([] { const Built built("latent_transformer", 5); }),
            "[latent_transformer] random_offset is 5, expected 0: latents count from the first "
            "position");
}

// A model that goes on from another one's weights is trained as its own recipe says.
TEST(RandomOffset, IsNotInherited) {
  const auto of = [](int64_t offset) {
    return resolve_model_config({{"kind", "transformer"}, {"random_offset", offset}}, "test");
  };
  EXPECT_EQ(begun_with(of(7), of(360), "other")["random_offset"], 7);
}

}  // namespace
}  // namespace heed::testing
