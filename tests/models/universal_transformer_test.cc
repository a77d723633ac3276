#include "models/translation/universal_transformer.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "nn/scopes/loss_scope.h"
#include "support/error_of.h"
#include "support/seq2seq_check.h"

namespace heed::testing {
namespace {

UniversalTransformerConfig tiny() {
  UniversalTransformerConfig config;
  config.vocabulary = 20;
  config.width = 16;
  config.heads = 2;
  config.hidden = 24;
  config.encoder_layers = 3;
  config.decoder_layers = 4;
  config.dropout = config.attention_dropout = config.hidden_dropout = 0.0F;
  return config;
}

struct Form {
  std::string name;
  UniversalTransformerConfig config;
};

std::vector<Form> forms() {
  std::vector<Form> all(8, {"", tiny()});
  all[0].name = "halting";
  all[1].name = "fixed";
  all[1].config.halting = false;
  all[2].name = "pre_norm_late";
  all[2].config.pre_norm = true;
  all[2].config.halting_threshold = 1.0F;  // the last step ends all
  all[3].name = "at_once";
  all[3].config.halting_threshold = 0.0F;
  all[4].name = "vocabularies_apart";
  all[4].config.source_vocabulary = 31;
  all[4].config.tied_output = false;
  all[4].config.positions = "relative";
  for (size_t i = 5; i < 8; ++i) {
    all[i].config.transition = "separable_convolution";
  }
  all[5].name = "convolution";
  all[6].name = "convolution_fixed_pre_norm";
  all[6].config.halting = false;
  all[6].config.pre_norm = true;
  all[6].config.transition_kernel = 4;
  all[7].name = "convolution_late";
  all[7].config.halting_threshold = 1.0F;
  return all;
}

class UniversalTransformerTest : public ::testing::TestWithParam<Form> {
 protected:
  UniversalTransformerTest() {
    store_.allocate(DType::f32, 2, ParameterStore::Use::inference);
    if (GetParam().config.source_vocabulary > 0) {
      vocabulary_.source = GetParam().config.source_vocabulary;
    }
  }
  ParameterStore store_;
  const UniversalTransformer model_{store_.root(), GetParam().config};
  Seq2SeqVocabulary vocabulary_;
};

TEST_P(UniversalTransformerTest, StepsEqualTeacherForcing) {
  expect_steps_equal_logits(model_, vocabulary_);
}
TEST_P(UniversalTransformerTest, PaddingChangesNothing) {
  expect_padding_changes_nothing(model_, vocabulary_);
}

INSTANTIATE_TEST_SUITE_P(Forms, UniversalTransformerTest, ::testing::ValuesIn(forms()),
                         [](const auto& info) { return info.param.name; });

// Every application of the layer is seen as a layer of its own.
TEST(UniversalTransformer, AttentionIsSound) {
  ParameterStore store;
  UniversalTransformerConfig config = tiny();
  config.halting = false;
  const UniversalTransformer model(store.root(), config);
  store.allocate(DType::f32, 2, ParameterStore::Use::inference);
  expect_attention_is_sound(model, {}, 3 + 4 + 4);
}

Batch two_sentences() {
  Batch batch;
  batch.source = Tensor::from_ints(std::vector<int32_t>{3, 4, 5, 2, 6, 2, 0, 0}, {2, 4});
  batch.source_lengths = Tensor::from_ints(std::vector<int32_t>{4, 2}, {2});
  batch.input = Tensor::from_ints(std::vector<int32_t>{1, 7, 8, 1, 9, 0}, {2, 3});
  batch.target_lengths = Tensor::from_ints(std::vector<int32_t>{3, 2}, {2});
  return batch;
}

// A scope sees how long each position was thought about, and padding not at all.
TEST(UniversalTransformer, TellsHowLongItPondered) {
  ParameterStore store;
  const UniversalTransformer model(store.root(), tiny());
  store.allocate(DType::f32, 2, ParameterStore::Use::inference);
  const AttentionScope scope;
  model.logits(two_sentences());
  ASSERT_EQ(scope.pondering().size(), 2U);
  EXPECT_EQ(scope.pondering()[0].kind, "encoder");
  EXPECT_EQ(scope.pondering()[1].kind, "decoder");
  const std::vector<bool> expected{true, true, true, true, true, true, false, false};
  const float* steps = scope.pondering()[0].steps.data<float>();
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(steps[i] > 0.0F, expected[i]) << "position " << i;
    EXPECT_LE(steps[i], 3.0F);
  }
}

// The cost of pondering is added to the loss only where somebody learns, and only with halting.
TEST(UniversalTransformer, PonderingCosts) {
  for (const bool halting : {true, false}) {
    UniversalTransformerConfig config = tiny();
    config.halting = halting;
    config.ponder_cost = 1.0F;
    ParameterStore store;
    const UniversalTransformer model(store.root(), config);
    store.allocate(DType::f32, 2, ParameterStore::Use::inference);
    const LossScope costs;
    model.logits(two_sentences());
    const float cost = costs.added_to(Tensor::from(std::vector<float>{0.0F}, {})).item();
    if (halting) {
      EXPECT_GT(cost, 2.0F);  // at least a step of either stack
      EXPECT_LE(cost, 3.0F + 4.0F + 2.0F);
    } else {
      EXPECT_EQ(cost, 0.0F);
    }
  }
}

TEST(UniversalTransformer, LearnsToReverse) {
  for (const bool halting : {true, false}) {
    ParameterStore store;
    UniversalTransformerConfig config = tiny();
    config.width = 32;
    config.hidden = 64;
    config.pre_norm = true;
    config.halting = halting;
    const UniversalTransformer model(store.root(), config);
    store.allocate(DType::f32, 3);
    EXPECT_LT(loss_after_copying(model, store, {.steps = 300, .reverse = true}), 0.7F)
        << (halting ? "with halting" : "with fixed steps");
  }
}

// Positions that move on before others have halted: the halting probabilities are spread out.
TEST(UniversalTransformer, StepsEqualTeacherForcingWherePositionsHaltAtDifferentSteps) {
  for (const char* transition : {"feed_forward", "separable_convolution"}) {
    UniversalTransformerConfig config = tiny();
    config.transition = transition;
    config.encoder_layers = config.decoder_layers = 6;
    ParameterStore store;
    const UniversalTransformer model(store.root(), config);
    store.allocate(DType::f32, 2, ParameterStore::Use::inference);
    for (const char* name : {"encoder.halting.weight", "decoder.halting.weight"}) {
      const Tensor& weight = store.find(name).compute;
      for (float& value : weight.span<float>()) {
        value *= 6.0F;
      }
    }
    {
      const AttentionScope scope;
      model.logits(two_sentences());
      const std::span<const float> steps = scope.pondering()[1].steps.span<float>();
      EXPECT_NE(*std::min_element(steps.begin(), steps.begin() + 3),
                *std::max_element(steps.begin(), steps.begin() + 3));
    }
    expect_steps_equal_logits(model, {});
    expect_padding_changes_nothing(model, {});
  }
}

TEST(UniversalTransformer, SaysWhatItCannotDo) {
  UniversalTransformerConfig config = tiny();
  config.residual = false;
  ParameterStore store;
  EXPECT_EQ(error_of([&] { const UniversalTransformer model(store.root(), config); }),
            "[universal transformer] residual is false, expected true");
}

}  // namespace
}  // namespace heed::testing
