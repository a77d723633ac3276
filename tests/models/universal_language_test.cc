#include "models/language/universal_language.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "nn/scopes/loss_scope.h"
#include "support/error_of.h"
#include "support/language_check.h"
#include "support/verify_check.h"

namespace heed::testing {
namespace {

UniversalLanguageConfig tiny() {
  UniversalLanguageConfig config;
  config.vocabulary = 37;
  config.context = kLanguageCheckTokens;
  config.width = 16;
  config.heads = 2;
  config.steps = 4;
  config.hidden = 24;
  config.dropout = config.attention_dropout = config.hidden_dropout = 0.0F;
  return config;
}

struct Form {
  std::string name;
  UniversalLanguageConfig config;
  float spread = 1.0F;  // of the probabilities of halting
};

std::vector<Form> forms() {
  std::vector<Form> all(7, {"", tiny()});
  all[0].name = "halting";
  all[0].spread = 6.0F;
  all[1].name = "fixed";
  all[1].config.halting = false;
  all[2].name = "post_norm_learned";
  all[2].config.pre_norm = false;
  all[2].config.positions = "learned";
  all[3].name = "relative_late";
  all[3].config.positions = "relative";
  all[3].config.relative_distance = 4;
  all[3].config.halting_threshold = 1.0F;
  for (size_t i = 4; i < 7; ++i) {
    all[i].config.transition = "separable_convolution";
  }
  all[4].name = "convolution_halting";
  all[4].spread = 6.0F;
  all[5].name = "convolution_fixed";
  all[5].config.halting = false;
  all[5].config.transition_kernel = 5;
  all[6].name = "convolution_post_norm";
  all[6].config.pre_norm = false;
  all[6].config.tied_output = false;
  return all;
}

struct Built {
  explicit Built(const Form& form, DType dtype = DType::f32,
                 ParameterStore::Use use = ParameterStore::Use::batch_invariant)
      : model(store.root(), form.config) {
    store.allocate(dtype, 3, use);
    if (form.config.halting && dtype == DType::f32) {
      for (float& value : store.find("decoder.halting.weight").compute.span<float>()) {
        value *= form.spread;
      }
    }
  }
  ParameterStore store;
  UniversalLanguage model;
};

class UniversalLanguageTest : public ::testing::TestWithParam<Form> {
 protected:
  const Built built_{GetParam()};
  const UniversalLanguage& model_ = built_.model;
};

TEST_P(UniversalLanguageTest, CachedDecodingEqualsFullForward) {
  expect_steps_equal_logits({model_, model_});
}
TEST_P(UniversalLanguageTest, RowsOfDifferentLengths) {
  expect_rows_equal_logits({model_, model_});
}
TEST_P(UniversalLanguageTest, TheSameBitsAloneAndInABatch) {
  expect_same_bits_alone_and_in_a_batch(model_);
}
TEST_P(UniversalLanguageTest, VerifiedTokensHaveTheSameBitsAsSteps) {
  expect_verified_tokens_have_the_same_bits_as_steps(model_);
}
TEST_P(UniversalLanguageTest, InBf16) {
  const Built narrow(GetParam(), DType::bf16);
  if (!GetParam().config.halting) {  // rounding may move a position by a step
    expect_steps_equal_logits({narrow.model, narrow.model, 0.06});
  }
  expect_same_bits_alone_and_in_a_batch(narrow.model);
}
TEST_P(UniversalLanguageTest, LearnsASequenceByHeart) {
  UniversalLanguageConfig config = GetParam().config;
  config.width = 32;
  ParameterStore store;
  const UniversalLanguage model(store.root(), config);
  store.allocate(DType::f32, 3);
  const TrainingRun run = learn_by_heart(model, store, 90);
  EXPECT_LT(run.losses.back(), 0.3F);
  EXPECT_GT(run.losses.front(), 2.0F);
}

INSTANTIATE_TEST_SUITE_P(Forms, UniversalLanguageTest, ::testing::ValuesIn(forms()),
                         [](const auto& info) { return info.param.name; });

// Without halting every application of the layer is seen, step by step as of all at once.
TEST(UniversalLanguage, CachedAttentionEqualsThatOfTheFullForward) {
  for (const Form& form : forms()) {
    if (!form.config.halting) {
      const Built built(form);
      expect_steps_attend_as_logits({built.model, built.model, 1e-5});
    }
  }
}

TEST(UniversalLanguage, TellsHowLongItPonderedAndWhatItCosts) {
  Form form = forms()[0];
  form.config.ponder_cost = 1.0F;
  const Built built(form);
  const AttentionScope scope;
  const LossScope costs;
  built.model.logits(Tensor::from_ints(noise_tokens(12, 37), {1, 12}));
  ASSERT_EQ(scope.pondering().size(), 1U);
  EXPECT_EQ(scope.pondering()[0].kind, "decoder");
  const std::span<const float> steps = scope.pondering()[0].steps.span<float>();
  ASSERT_EQ(steps.size(), 12U);
  EXPECT_GE(*std::min_element(steps.begin(), steps.end()), 1.0F);
  EXPECT_LT(*std::min_element(steps.begin(), steps.end()),
            *std::max_element(steps.begin(), steps.end()));
  const float cost = costs.added_to(Tensor::from(std::vector<float>{0.0F}, {})).item();
  EXPECT_GT(cost, 1.0F);
  EXPECT_LE(cost, 5.0F);
}

// Those before it are not shown, but counted.
TEST(UniversalLanguage, TheFirstTokenStandsWhereItIsSaid) {
  const Built built(forms()[1]);
  const Tensor tokens = Tensor::from_ints(noise_tokens(6, 37), {1, 6});
  EXPECT_NE(built.model.logits(tokens).to_vector(), built.model.logits(tokens, 3).to_vector());
  const Built relative(forms()[3]);
  EXPECT_EQ(relative.model.logits(tokens).to_vector(),
            relative.model.logits(tokens, 3).to_vector());
}

TEST(UniversalLanguage, SaysWhatItCannotRead) {
  const Built built(forms()[0]);
  const Tensor long_text = Tensor::from_ints(noise_tokens(25, 37), {1, 25});
  const std::string error =
      "[universal language model] 25 tokens after 0, expected at most 24 in all";
  EXPECT_EQ(error_of([&] { built.model.logits(long_text); }), error);
  const auto state = built.model.start();
  EXPECT_EQ(error_of([&] { built.model.step(long_text, *state); }), error);
  built.model.step(Tensor::from_ints(noise_tokens(24, 37), {1, 24}), *state);
  EXPECT_EQ(error_of([&] {
              built.model.step(Tensor::from_ints(noise_tokens(1, 37), {1, 1}), *state);
            }),
            "[universal language model] 1 tokens after 24, expected at most 24 in all");
}

}  // namespace
}  // namespace heed::testing
