#include "models/language/gpt.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "support/error_of.h"
#include "support/language_check.h"
#include "support/op_case.h"
#include "support/verify_check.h"
#include "train/optimizer.h"

namespace heed::testing {
namespace {

const GptConfig kTiny{.vocabulary = 37, .context = 24, .width = 32, .heads = 4, .layers = 2};

Tensor tokens_of(const std::vector<int32_t>& ids, const Shape& shape) {
  return Tensor::from_ints(ids, shape);
}

std::vector<int32_t> numbers(int64_t count) { return noise_tokens(count, kTiny.vocabulary); }

struct Variant {
  DType dtype;
  std::string attention = "";

  GptConfig config() const {
    GptConfig config = kTiny;
    config.attention = attention;
    config.window = 5;
    return config;
  }
};
std::string variant_name(const ::testing::TestParamInfo<Variant>& info) {
  return name_of(info.param.dtype) +
         (info.param.attention.empty() ? "" : "_" + info.param.attention);
}

// Everything that decodes.
class GptTest : public ::testing::TestWithParam<Variant> {};
// What can be trained.
class GptTraining : public ::testing::TestWithParam<Variant> {};

TEST_P(GptTest, CachedDecodingEqualsFullForward) {
  ParameterStore store;
  const Gpt model(store.root(), GetParam().config());
  store.allocate(GetParam().dtype, 3, ParameterStore::Use::inference);
  expect_steps_equal_logits({model, model, GetParam().dtype == DType::f32 ? 1e-4 : 0.05});
}

TEST_P(GptTest, CachedAttentionEqualsThatOfTheFullForward) {
  ParameterStore store;
  const Gpt model(store.root(), GetParam().config());
  store.allocate(GetParam().dtype, 3, ParameterStore::Use::inference);
  expect_steps_attend_as_logits({model, model, GetParam().dtype == DType::f32 ? 1e-5 : 0.02});
}

TEST_P(GptTest, RowsOfDifferentLengths) {
  ParameterStore store;
  const Gpt model(store.root(), GetParam().config());
  store.allocate(GetParam().dtype, 3, ParameterStore::Use::batch_invariant);
  expect_rows_equal_logits({model, model, GetParam().dtype == DType::f32 ? 1e-4 : 0.06});
}

// For inference a row's numbers do not depend on the other rows, to the bit.
TEST_P(GptTest, TheSameBitsAloneAndInABatch) {
  ParameterStore store;
  const Gpt model(store.root(), GetParam().config());
  store.allocate(GetParam().dtype, 3, ParameterStore::Use::batch_invariant);
  expect_same_bits_alone_and_in_a_batch(model);
}

TEST_P(GptTest, VerifiedTokensHaveTheSameBitsAsSteps) {
  ParameterStore store;
  const Gpt model(store.root(), GetParam().config());
  store.allocate(GetParam().dtype, 3, ParameterStore::Use::batch_invariant);
  expect_verified_tokens_have_the_same_bits_as_steps(model);
}

TrainingRun train(const Variant& variant, int steps, float dropout) {
  GptConfig config = variant.config();
  config.dropout = dropout;
  ParameterStore store;
  const Gpt model(store.root(), config);
  store.allocate(variant.dtype, 3);
  return learn_by_heart(model, store, steps);
}

TEST_P(GptTraining, LearnsASequenceByHeart) {
  const TrainingRun run = train(GetParam(), 90, 0.0F);
  EXPECT_GT(run.losses.front(), 3.0F);
  EXPECT_LT(run.losses.back(), 0.2F);
}

TEST_P(GptTraining, SameSeedSameBits) {
  const TrainingRun first = train(GetParam(), 5, 0.1F);
  const TrainingRun second = train(GetParam(), 5, 0.1F);
  EXPECT_EQ(first.losses, second.losses);
  EXPECT_EQ(first.weights, second.weights);
}

INSTANTIATE_TEST_SUITE_P(Variants, GptTest,
                         ::testing::Values(Variant{DType::f32}, Variant{DType::bf16},
                                           Variant{DType::i8}, Variant{DType::f32, "LM"},
                                           Variant{DType::bf16, "LMF"}, Variant{DType::i8, "ML"}),
                         variant_name);
INSTANTIATE_TEST_SUITE_P(Variants, GptTraining,
                         ::testing::Values(Variant{DType::f32}, Variant{DType::bf16},
                                           Variant{DType::f32, "LM"}, Variant{DType::bf16, "LM"}),
                         variant_name);

TEST(Gpt, RefusesLettersItDoesNotKnow) {
  ParameterStore store;
  GptConfig config = kTiny;
  config.attention = "FX";
  EXPECT_EQ(error_of([&] { Gpt(store.root(), config); }),
            "[gpt] model.attention is \"FX\", expected letters F, L and M");
}

// Nothing that is out of a local window changes the next word, and what compressed keys sum up
// counts only when they are complete.
TEST(Gpt, LooksNoFurtherThanItsAttentionLets) {
  const auto changed = [](const std::string& attention, int64_t place) {
    ParameterStore store;
    GptConfig config = kTiny;
    config.layers = 1;
    config.attention = attention;
    config.window = 4;
    const Gpt model(store.root(), config);
    store.allocate(DType::f32, 3, ParameterStore::Use::inference);
    std::vector<int32_t> ids = numbers(12);
    GptState before;
    const std::vector<float> first = model.step(tokens_of(ids, {1, 12}), before).to_vector();
    ids[static_cast<size_t>(place)] = (ids[static_cast<size_t>(place)] + 1) % 37;
    GptState after;
    return model.step(tokens_of(ids, {1, 12}), after).to_vector() != first;
  };
  for (int64_t place = 0; place < 12; ++place) {
    EXPECT_TRUE(changed("F", place)) << place;
    EXPECT_EQ(changed("L", place), place >= 8) << place;
    EXPECT_TRUE(changed("M", place)) << place;  // 12 tokens are four whole keys
  }
}

TEST(Gpt, RefusesAStateOfAnotherBatch) {
  ParameterStore store;
  const Gpt model(store.root(), kTiny);
  store.allocate(DType::f32, 3, ParameterStore::Use::inference);
  GptState state;
  model.step(tokens_of({1}, {1, 1}), state);
  EXPECT_THROW(model.step(tokens_of({1, 2}, {2, 1}), state), Error);
  EXPECT_THROW(make_optimizer(store, {}), Error);
}

TEST(Gpt, RefusesLengthsThatDoNotFit) {
  ParameterStore store;
  const Gpt model(store.root(), kTiny);
  store.allocate(DType::f32, 3, ParameterStore::Use::inference);
  const auto error_with = [&](GptState& state, const std::vector<int64_t>& lengths) {
    return error_of([&] { model.step(tokens_of({1, 2, 3, 4, 5, 6}, {2, 3}), state, lengths); });
  };
  GptState state;
  EXPECT_EQ(error_with(state, {3}),
            "[gpt] 1 lengths for 2 rows after 0 tokens, expected one each at the beginning");
  EXPECT_EQ(error_with(state, {3, 0}), "[gpt] a row has 0 tokens, expected 1 to 3");
  EXPECT_EQ(error_with(state, {4, 1}), "[gpt] a row has 4 tokens, expected 1 to 3");
  EXPECT_EQ(error_with(state, {3, 1}), "no error");
  EXPECT_EQ(error_with(state, {3, 1}),
            "[gpt] 2 lengths for 2 rows after 3 tokens, expected one each at the beginning");
  EXPECT_EQ(error_with(state, {}), "no error");
}

TEST(Gpt, SaysWhenTheContextIsFull) {
  ParameterStore store;
  const Gpt model(store.root(), kTiny);
  store.allocate(DType::f32, 3, ParameterStore::Use::inference);
  try {
    model.logits(tokens_of(numbers(25), {1, 25}));
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "[gpt] 25 tokens after 0, expected at most 24 in all");
  }
}

}  // namespace
}  // namespace heed::testing
