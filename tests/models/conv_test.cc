#include "models/translation/conv.h"

#include <gtest/gtest.h>

#include "support/error_of.h"
#include "support/op_case.h"
#include "support/seq2seq_check.h"

namespace heed::testing {
namespace {

ConvConfig tiny() {
  return {.vocabulary = 20,
          .embedding = 24,
          .hidden = 32,
          .encoder_layers = 2,
          .decoder_layers = 2,
          .dropout = 0.0F,
          .longest = 16};
}

struct Form {
  std::string name;
  ConvConfig config;
};

std::vector<Form> forms() {
  std::vector<Form> all(4, {"", tiny()});
  all[0].name = "plain";
  all[1].name = "wide_kernel";
  all[1].config.kernel = 5;
  all[1].config.dropout = 0.3F;  // of training only
  all[2].name = "even_kernel";
  all[2].config.kernel = 2;
  all[3].name = "vocabularies_apart";
  all[3].config.source_vocabulary = 31;
  all[3].config.tied_output = false;
  return all;
}

class ConvS2STest : public ::testing::TestWithParam<Form> {
 protected:
  ConvS2STest() {
    store_.allocate(DType::f32, 2, ParameterStore::Use::inference);
    if (GetParam().config.source_vocabulary > 0) {
      vocabulary_.source = GetParam().config.source_vocabulary;
    }
  }
  ParameterStore store_;
  const ConvS2S model_{store_.root(), GetParam().config};
  Seq2SeqVocabulary vocabulary_;
};

TEST_P(ConvS2STest, StepsEqualTeacherForcing) { expect_steps_equal_logits(model_, vocabulary_); }
TEST_P(ConvS2STest, PaddingChangesNothing) { expect_padding_changes_nothing(model_, vocabulary_); }
TEST_P(ConvS2STest, AttentionIsSound) { expect_attention_is_sound(model_, vocabulary_, 2); }

INSTANTIATE_TEST_SUITE_P(Forms, ConvS2STest, ::testing::ValuesIn(forms()),
                         [](const auto& info) { return info.param.name; });

class ConvS2SLearning : public ::testing::TestWithParam<DType> {};

TEST_P(ConvS2SLearning, Reverses) {
  ParameterStore store;
  const ConvS2S model(store.root(), tiny());
  store.allocate(GetParam(), 2);
  EXPECT_LT(loss_after_copying(model, store, {.steps = 300, .reverse = true}), 0.5F);
}

INSTANTIATE_TEST_SUITE_P(DTypes, ConvS2SLearning, ::testing::Values(DType::f32, DType::bf16),
                         [](const auto& info) { return std::string(name_of(info.param)); });

// sigmoid(0) = 1/2, sigmoid(log 3) = 3/4
TEST(GatedLinearUnit, SecondHalfGatesTheFirst) {
  const std::vector<float> x{4.0F, 8.0F, 0.0F, std::log(3.0F)};
  const std::vector<float> y = gated_linear_unit(Tensor::from(x, {1, 4})).to_vector();
  EXPECT_NEAR(y[0], 2.0F, 1e-6);
  EXPECT_NEAR(y[1], 6.0F, 1e-5);
}

// The first weights keep the variance of what goes through a layer, dropout included.
TEST(GatedConvolution, KeepsTheVariance) {
  ParameterStore store;
  const GatedConvolution layer(store.root(), {.width = 64, .kernel = 3});
  store.allocate(DType::f32, 5);
  const RandomStream random{3, 4};
  std::vector<float> x(64 * 200);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = 0.1F * random.normal(i);
  }
  const std::vector<float> y = layer.causal(Tensor::from(x, {1, 200, 64})).to_vector();
  double squares = 0;
  for (const float value : y) {
    squares += static_cast<double>(value) * static_cast<double>(value);
  }
  EXPECT_NEAR(std::sqrt(squares / static_cast<double>(y.size())), 0.1, 0.01);
}

TEST(ConvS2S, SaysWhenASequenceIsTooLong) {
  ParameterStore store;
  const ConvS2S model(store.root(), tiny());
  store.allocate(DType::f32, 2, ParameterStore::Use::inference);
  const std::vector<int32_t> ids(17, 3);
  expect_error(
      [&] {
        model.start(Tensor::from_ints(ids, {1, 17}), {}, 1);
      },
      "[positions] a sequence of 17 tokens, expected at most 16: the positions are "
      "learned");
}

}  // namespace
}  // namespace heed::testing
