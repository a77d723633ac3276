#include "models/language/rnn_language.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "models/registry.h"
#include "support/error_of.h"
#include "support/language_check.h"

namespace heed::testing {
namespace {

struct Variant {
  std::string name;
  DType dtype = DType::f32;
  std::string cell = "lstm";
  bool tied = false;

  RnnLanguageConfig config() const {
    RnnLanguageConfig config;
    config.vocabulary = 37;
    config.embedding = tied ? 32 : 24;
    config.hidden = 32;
    config.layers = 2;
    config.cell = cell;
    config.dropout = 0.0F;
    config.tied_output = tied;
    return config;
  }
  double tolerance() const { return dtype == DType::f32 ? 1e-4 : 0.05; }
};
std::string variant_name(const ::testing::TestParamInfo<Variant>& info) { return info.param.name; }

class RnnLanguageTest : public ::testing::TestWithParam<Variant> {
 protected:
  RnnLanguageTest() : model_(store_.root(), GetParam().config()) {}

  ParameterStore store_;
  const RnnLanguage model_;
};

TEST_P(RnnLanguageTest, StepsEqualFullForward) {
  store_.allocate(GetParam().dtype, 3, ParameterStore::Use::inference);
  expect_steps_equal_logits({model_, model_, GetParam().tolerance()});
}

TEST_P(RnnLanguageTest, RowsOfDifferentLengths) {
  store_.allocate(GetParam().dtype, 3, ParameterStore::Use::batch_invariant);
  expect_rows_equal_logits({model_, model_, GetParam().tolerance()});
}

TEST_P(RnnLanguageTest, TheSameBitsAloneAndInABatch) {
  store_.allocate(GetParam().dtype, 3, ParameterStore::Use::batch_invariant);
  expect_same_bits_alone_and_in_a_batch(model_);
}

TEST_P(RnnLanguageTest, LearnsASequenceByHeart) {
  store_.allocate(GetParam().dtype, 3);
  const TrainingRun run = learn_by_heart(model_, store_, 150, 1e-2F);
  EXPECT_GT(run.losses.front(), 3.0F);
  EXPECT_LT(run.losses.back(), 0.2F);
}

INSTANTIATE_TEST_SUITE_P(Variants, RnnLanguageTest,
                         ::testing::Values(Variant{.name = "lstm"},
                                           Variant{.name = "gru", .cell = "gru"},
                                           Variant{.name = "lstm_bf16", .dtype = DType::bf16},
                                           Variant{.name = "gru_bf16_tied",
                                                   .dtype = DType::bf16,
                                                   .cell = "gru",
                                                   .tied = true}),
                         variant_name);

TEST(RnnLanguage, Errors) {
  ParameterStore store;
  const RnnLanguage model(store.root(), Variant{}.config());
  store.allocate(DType::f32, 3, ParameterStore::Use::inference);
  const auto state = model.start();
  const std::vector<int32_t> ids{1, 2};
  const auto error_with = [&](const Shape& shape, const std::vector<int64_t>& lengths) {
    return error_of([&] { model.step(Tensor::from_ints(ids, shape), *state, lengths); });
  };
  EXPECT_EQ(error_with({1, 2}, {3}), "[rnn_language] a row has 3 tokens, expected 1 to 2");
  EXPECT_EQ(error_with({1, 2}, {}), "no error");
  EXPECT_EQ(error_with({2, 1}, {}), "[rnn_language] 2 rows for a state of 1");
  EXPECT_EQ(
      error_of([&] {
        ParameterStore other;
        make_model(
            other.root(),
            resolve_model_config(
                {{"kind", "rnn_language"}, {"tied_output", true}, {"embedding", 8}, {"hidden", 16}},
                "test"));
      }),
      "[rnn_language] embedding is 8 and hidden 16, expected the same for tied_output");
}

}  // namespace
}  // namespace heed::testing
