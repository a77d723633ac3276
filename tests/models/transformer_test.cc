#include "models/translation/transformer.h"

#include <gtest/gtest.h>

#include <functional>

#include "support/seq2seq_check.h"
#include "support/verify_check.h"

namespace heed::testing {
namespace {

TransformerConfig tiny() {
  return {.vocabulary = 20,
          .width = 32,
          .heads = 4,
          .hidden = 64,
          .encoder_layers = 2,
          .decoder_layers = 2,
          .dropout = 0.0F,
          .attention_dropout = 0.0F,
          .hidden_dropout = 0.0F};
}

struct Form {
  std::string name;
  TransformerConfig config;
};

Form form(const char* name, const std::function<void(TransformerConfig&)>& change) {
  Form result{name, tiny()};
  change(result.config);
  return result;
}

std::vector<Form> forms() {
  using Config = TransformerConfig;
  return {
      form("post_norm", [](Config& c) { c.dropout = c.attention_dropout = 0.1F; }),
      form("pre_norm", [](Config& c) { c.pre_norm = true; }),
      form("no_final_norm", [](Config& c) { c.final_norm = false; }),
      form("pre_norm_no_final_norm",
           [](Config& c) {
             c.pre_norm = true;
             c.final_norm = false;
           }),
      form("sinusoidal_halves",
           [](Config& c) {
             c.positions = "sinusoidal_halves";
             c.first_position = 1;
           }),
      form("learned", [](Config& c) { c.positions = "learned"; }),
      form("relative",
           [](Config& c) {
             c.positions = "relative";
             c.relative_distance = 2;
           }),
      form("no_residual", [](Config& c) { c.residual = false; }),
      form("timing_every_layer",
           [](Config& c) {
             c.residual = false;
             c.timing_every_layer = true;
           }),
      form("pre_norm_timing_every_layer",
           [](Config& c) {
             c.pre_norm = true;
             c.residual = false;
             c.timing_every_layer = true;
           }),
      form("vocabularies_apart",
           [](Config& c) {
             c.source_vocabulary = 31;
             c.tied_output = false;
             c.output_bias = true;
             c.activation = "gelu";
           }),
      form("tied_output_with_bias", [](Config& c) { c.output_bias = true; }),
  };
}

class TransformerTest : public ::testing::TestWithParam<Form> {
 protected:
  TransformerTest() {
    store_.allocate(DType::f32, 2, ParameterStore::Use::inference);
    if (GetParam().config.source_vocabulary > 0) {
      vocabulary_.source = GetParam().config.source_vocabulary;
    }
  }
  ParameterStore store_;
  const Transformer model_{store_.root(), GetParam().config};
  Seq2SeqVocabulary vocabulary_;
};

TEST_P(TransformerTest, StepsEqualTeacherForcing) {
  expect_steps_equal_logits(model_, vocabulary_);
}
TEST_P(TransformerTest, PaddingChangesNothing) {
  expect_padding_changes_nothing(model_, vocabulary_);
}
TEST_P(TransformerTest, AttentionIsSound) {
  expect_attention_is_sound(model_, vocabulary_, 2 + 2 * 2);  // encoder; decoder and cross
}

TEST_P(TransformerTest, VerifiedTokensHaveTheSameBitsAsSteps) {
  TransformerConfig config = GetParam().config;
  config.longest = 14;
  ParameterStore store;
  const Transformer model(store.root(), config);
  store.allocate(DType::f32, 2, ParameterStore::Use::batch_invariant);
  expect_verified_tokens_have_the_same_bits_as_steps(
      {.model = model,
       .vocabulary = config.vocabulary,
       .start =
           [&](const std::vector<int64_t>& rows) {
             const std::vector<int32_t> all{5, 7, 3, 9, 4, 0, 8, 0, 0};
             const std::vector<int32_t> longest{3, 2, 1};
             std::vector<int32_t> source, lengths;
             for (const int64_t row : rows) {
               source.insert(source.end(), all.begin() + 3 * row, all.begin() + 3 * row + 3);
               lengths.push_back(longest[static_cast<size_t>(row)]);
             }
             const auto count = std::ssize(rows);
             return model.start(Tensor::from_ints(source, {count, 3}),
                                Tensor::from_ints(lengths, {count}), 1);
           },
       .step = [&](const Tensor& tokens,
                   DecodeState& state) { return model.step(tokens, state); }});
}

INSTANTIATE_TEST_SUITE_P(Forms, TransformerTest, ::testing::ValuesIn(forms()),
                         [](const auto& info) { return info.param.name; });

// With a joint vocabulary source and target share their embedding, but not their positions.
TEST(Transformer, AJointVocabularyHasPositionsOfItsOwnOnBothSides) {
  TransformerConfig config = tiny();
  config.positions = "learned";
  ParameterStore store;
  const Transformer model(store.root(), config);
  store.allocate(DType::f32, 2, ParameterStore::Use::inference);
  const Tensor ids = Tensor::from_ints(std::vector<int32_t>{5, 7, 3}, {1, 3});
  const std::vector<float> memory = model.encode(ids).to_vector();
  const auto logits = [&] {
    return model.decode(ids, Tensor::from(memory, {1, 3, config.width})).to_vector();
  };
  const std::vector<float> before = logits();
  store.find("encoder.positions.weight").value.data<float>()[0] += 1.0F;
  EXPECT_NE(model.encode(ids).to_vector(), memory);
  EXPECT_EQ(logits(), before);
  const std::vector<float> read = model.encode(ids).to_vector();
  store.find("decoder.positions.weight").value.data<float>()[0] += 1.0F;
  EXPECT_EQ(model.encode(ids).to_vector(), read);
  EXPECT_NE(logits(), before);
}

// Hypotheses about one source are queries of one attention to it.
TEST(Transformer, StepsShowTheirAttention) {
  ParameterStore store;
  const Transformer model(store.root(), tiny());
  store.allocate(DType::f32, 2, ParameterStore::Use::inference);
  const Tensor source = Tensor::from_ints(std::vector<int32_t>{5, 7, 3, 9, 4, 0}, {2, 3});
  const Tensor lengths = Tensor::from_ints(std::vector<int32_t>{3, 2}, {2});
  AttentionScope scope;
  const auto state = model.start(source, lengths, 2);
  EXPECT_EQ(scope.take().size(), 2U);  // the encoder's layers
  const Tensor tokens = Tensor::from_ints(std::vector<int32_t>{1, 4, 1, 6}, {4});
  for (int64_t step = 1; step < 4; ++step) {
    model.step(tokens, *state);
    const std::vector<LayerAttention> found = scope.take();
    ASSERT_EQ(found.size(), 4U);
    for (size_t i = 0; i < 4; ++i) {
      const bool cross = i % 2 == 1;
      EXPECT_EQ(found[i].kind, cross ? "cross" : "decoder");
      EXPECT_EQ(found[i].layer, static_cast<int64_t>(i / 2));
      EXPECT_EQ(found[i].weights.shape(), cross ? (Shape{2, 4, 2, 3}) : (Shape{4, 4, 1, step}));
    }
  }
}

struct Lesson {
  std::string name;
  DType dtype;
  bool pre_norm;
};

class TransformerLearning : public ::testing::TestWithParam<Lesson> {};

TEST_P(TransformerLearning, Copies) {
  TransformerConfig config = tiny();
  config.pre_norm = GetParam().pre_norm;
  ParameterStore store;
  const Transformer model(store.root(), config);
  store.allocate(GetParam().dtype, 2);
  EXPECT_LT(loss_after_copying(model, store, {.steps = 300}), 0.5F);
}

INSTANTIATE_TEST_SUITE_P(Forms, TransformerLearning,
                         ::testing::Values(Lesson{"f32_post_norm", DType::f32, false},
                                           Lesson{"f32_pre_norm", DType::f32, true},
                                           Lesson{"bf16_post_norm", DType::bf16, false},
                                           Lesson{"bf16_pre_norm", DType::bf16, true}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace heed::testing
