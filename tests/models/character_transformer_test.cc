// The deep character model: decodes as it reads, learns, is told positions in every layer, and
// predicts from every layer.
#include "models/language/character_transformer.h"

#include <gtest/gtest.h>

#include "support/error_of.h"
#include "support/language_check.h"
#include "support/op_case.h"
#include "support/verify_check.h"

namespace heed::testing {
namespace {

struct DeepVariant {
  DType dtype;
  bool pre_norm = true;

  CharacterTransformerConfig config() const {
    CharacterTransformerConfig config;
    config.vocabulary = 37;
    config.context = 24;
    config.width = 32;
    config.heads = 2;
    config.layers = 4;
    config.pre_norm = pre_norm;
    config.initializer_range = 0.1F;
    return config;
  }
};
std::string deep_name(const ::testing::TestParamInfo<DeepVariant>& info) {
  return std::string(name_of(info.param.dtype)) + (info.param.pre_norm ? "" : "_post_norm");
}

class CharacterTransformerTest : public ::testing::TestWithParam<DeepVariant> {
 protected:
  double tolerance() const { return GetParam().dtype == DType::f32 ? 1e-4 : 0.06; }
};

TEST_P(CharacterTransformerTest, CachedDecodingEqualsFullForward) {
  ParameterStore store;
  const CharacterTransformer model(store.root(), GetParam().config());
  store.allocate(GetParam().dtype, 3, ParameterStore::Use::inference);
  expect_steps_equal_logits({model, model, tolerance()});
}

TEST_P(CharacterTransformerTest, CachedAttentionEqualsThatOfTheFullForward) {
  ParameterStore store;
  const CharacterTransformer model(store.root(), GetParam().config());
  store.allocate(GetParam().dtype, 3, ParameterStore::Use::inference);
  expect_steps_attend_as_logits({model, model, GetParam().dtype == DType::f32 ? 1e-5 : 0.02});
}

TEST_P(CharacterTransformerTest, RowsOfDifferentLengths) {
  ParameterStore store;
  const CharacterTransformer model(store.root(), GetParam().config());
  store.allocate(GetParam().dtype, 3, ParameterStore::Use::batch_invariant);
  expect_rows_equal_logits({model, model, tolerance()});
}

TEST_P(CharacterTransformerTest, TheSameBitsAloneAndInABatch) {
  ParameterStore store;
  const CharacterTransformer model(store.root(), GetParam().config());
  store.allocate(GetParam().dtype, 3, ParameterStore::Use::batch_invariant);
  expect_same_bits_alone_and_in_a_batch(model);
}

TEST_P(CharacterTransformerTest, VerifiedTokensHaveTheSameBitsAsSteps) {
  ParameterStore store;
  const CharacterTransformer model(store.root(), GetParam().config());
  store.allocate(GetParam().dtype, 3, ParameterStore::Use::batch_invariant);
  expect_verified_tokens_have_the_same_bits_as_steps(model);
}

// What can be trained.
class CharacterTransformerTraining : public ::testing::TestWithParam<DeepVariant> {};

TEST_P(CharacterTransformerTraining, LearnsASequenceByHeart) {
  ParameterStore store;
  const CharacterTransformer model(store.root(), GetParam().config());
  store.allocate(GetParam().dtype, 3);
  const TrainingRun run = learn_by_heart(model, store, 90);
  EXPECT_GT(run.losses.front(), 3.0F);
  EXPECT_LT(run.losses.back(), 0.2F);
}

INSTANTIATE_TEST_SUITE_P(Variants, CharacterTransformerTest,
                         ::testing::Values(DeepVariant{DType::f32}, DeepVariant{DType::bf16},
                                           DeepVariant{DType::i8}, DeepVariant{DType::f32, false}),
                         deep_name);
INSTANTIATE_TEST_SUITE_P(Variants, CharacterTransformerTraining,
                         ::testing::Values(DeepVariant{DType::f32}, DeepVariant{DType::bf16},
                                           DeepVariant{DType::f32, false}),
                         deep_name);

const DeepVariant kPlain{DType::f32};

Tensor some_tokens(int64_t rows, int64_t steps) {
  return Tensor::from_ints(noise_tokens(rows * steps, 37), {rows, steps});
}

// The last layer predicts from what the full pass has, and reading the vectors of lower layers does
// not change it.
TEST(CharacterTransformer, EveryLayerPredicts) {
  ParameterStore store;
  const CharacterTransformer model(store.root(), kPlain.config());
  store.allocate(DType::f32, 3);
  const Tensor tokens = some_tokens(2, 9);
  const std::vector<Tensor> all = model.layer_vectors(tokens, 0);
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(model.layer_vectors(tokens, 2).size(), 2U);
  EXPECT_EQ(model.layer_vectors(tokens, 3).size(), 1U);
  const std::vector<float> wanted = model.logits(tokens).to_vector();
  const std::vector<float> found = model.predict(all[3], 3, 0).to_vector();
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_NEAR(found[i], wanted[i], 1e-4);
  }
  for (int64_t layer = 0; layer < 4; ++layer) {
    const Tensor logits = model.predict(all[static_cast<size_t>(layer)], layer, 1);
    EXPECT_EQ(logits.shape(), (Shape{2, 9, 37}));
    EXPECT_NE(logits.to_vector(), wanted);
  }
}

// Changing a position's vector of the third layer changes what is said there, and nothing before.
TEST(CharacterTransformer, TellsEveryLayerThePositions) {
  ParameterStore store;
  const CharacterTransformer model(store.root(), kPlain.config());
  store.allocate(DType::f32, 3);
  const Tensor tokens = some_tokens(1, 6);
  const std::vector<float> before = model.logits(tokens).to_vector();
  float* table = store.find("positions.2.weight").value.data<float>();
  table[4 * 32 + 5] += 1.0F;
  const std::vector<float> after = model.logits(tokens).to_vector();
  for (size_t position = 0; position < 6; ++position) {
    const auto at = static_cast<int64_t>(position) * 37;
    const bool same = std::equal(before.begin() + at, before.begin() + at + 37, after.begin() + at);
    EXPECT_EQ(same, position < 4) << position;
  }
}

TEST(CharacterTransformer, HasOnlyWhatItsLossesNeed) {
  CharacterTransformerConfig config = kPlain.config();
  config.intermediate_losses = false;
  config.targets = 1;
  config.layer_positions = false;
  ParameterStore store;
  const CharacterTransformer model(store.root(), config);
  store.allocate(DType::f32, 3);
  EXPECT_EQ(model.layer_vectors(some_tokens(1, 5), 0).size(), 1U);
  int64_t positions = 0;
  int64_t predictors = 0;
  for (const ParameterEntry& entry : store.entries()) {
    positions += entry.name.starts_with("positions.") ? 1 : 0;
    predictors += entry.name.starts_with("predictors.") ? 1 : 0;
  }
  EXPECT_EQ(positions, 1);
  EXPECT_EQ(predictors, 1);
  const Tensor x = Tensor::zeros({1, 32});
  EXPECT_EQ(error_of([&] { model.predict(x, 2, 0); }),
            "[character_transformer] layer 2 predicts target 0, expected layers 3 to 3 and targets "
            "0 to 0");
}

TEST(CharacterTransformer, SaysWhenTheContextIsFull) {
  ParameterStore store;
  const CharacterTransformer model(store.root(), kPlain.config());
  store.allocate(DType::f32, 3, ParameterStore::Use::inference);
  EXPECT_EQ(error_of([&] { model.logits(some_tokens(1, 25)); }),
            "[positions] a sequence of 25 tokens, expected at most 24: the positions are learned");
}

}  // namespace
}  // namespace heed::testing
