// Bahdanau's translator: steps equal teacher forcing, no trace of padding, sound attention, its
// gated unit by plain loops, and that it learns.
#include "models/translation/bahdanau.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/error_of.h"
#include "support/op_case.h"
#include "support/seq2seq_check.h"

namespace heed::testing {
namespace {

BahdanauConfig tiny() {
  return {.vocabulary = 20,
          .embedding = 24,
          .hidden = 32,
          .attention_width = 16,
          .maxout = 12,
          .dropout = 0.0F};
}

struct Form {
  std::string name;
  BahdanauConfig config;
};

std::vector<Form> forms() {
  std::vector<Form> all{{"plain", tiny()}, {"tied", tiny()}, {"vocabularies_apart", tiny()}};
  all[0].config.dropout = 0.3F;  // of training only
  all[1].config.tied_output = true;
  all[1].config.maxout = 24;
  all[2].config.source_vocabulary = 31;
  return all;
}

class BahdanauTest : public ::testing::TestWithParam<Form> {
 protected:
  BahdanauTest() {
    store_.allocate(DType::f32, 2, ParameterStore::Use::inference);
    if (GetParam().config.source_vocabulary > 0) {
      vocabulary_.source = GetParam().config.source_vocabulary;
    }
  }
  ParameterStore store_;
  const Bahdanau model_{store_.root(), GetParam().config};
  Seq2SeqVocabulary vocabulary_;
};

TEST_P(BahdanauTest, StepsEqualTeacherForcing) { expect_steps_equal_logits(model_, vocabulary_); }
TEST_P(BahdanauTest, PaddingChangesNothing) { expect_padding_changes_nothing(model_, vocabulary_); }
TEST_P(BahdanauTest, AttentionIsSound) { expect_attention_is_sound(model_, vocabulary_, 1); }

INSTANTIATE_TEST_SUITE_P(Forms, BahdanauTest, ::testing::ValuesIn(forms()),
                         [](const auto& info) { return info.param.name; });

class BahdanauLearning : public ::testing::TestWithParam<DType> {};

TEST_P(BahdanauLearning, Reverses) {
  BahdanauConfig config = tiny();
  config.hidden = 48;
  ParameterStore store;
  const Bahdanau model(store.root(), config);
  store.allocate(GetParam(), 2);
  EXPECT_LT(
      loss_after_copying(model, store, {.steps = 250, .learning_rate = 5e-3F, .reverse = true}),
      0.5F);
}

INSTANTIATE_TEST_SUITE_P(DTypes, BahdanauLearning, ::testing::Values(DType::f32, DType::bf16),
                         [](const auto& info) { return std::string(name_of(info.param)); });

// Where no context is looked at, all that is known of a source came through the first state.
TEST(Bahdanau, BeginsWithTheBackwardLayer) {
  ParameterStore store;
  const Bahdanau model(store.root(), tiny());
  store.allocate(DType::f32, 2);
  const auto clear = [&](const std::string& name) {
    const Tensor& values = store.find(name).value;
    std::fill_n(values.data<float>(), values.size(), 0.0F);
  };
  const auto first_logits = [&](const std::vector<int32_t>& source) {
    const std::vector<int32_t> lengths{static_cast<int32_t>(source.size())};
    const auto state = model.start(Tensor::from_ints(source, {1, std::ssize(source)}),
                                   Tensor::from_ints(lengths, {1}), 1);
    return to_array(model.step(Tensor::from_ints(std::vector<int32_t>{1}, {1}), *state));
  };
  clear("decoder.context.weight");
  clear("deep.context.weight");
  const Array one = first_logits({4, 5, 6});
  EXPECT_GT(error_between(one, first_logits({7, 5, 6})), 1e-4);
  EXPECT_GT(error_between(one, first_logits({4, 5, 8})), 1e-5);
  clear("encoder.forwards.weight_ih");
  EXPECT_EQ(first_logits({4, 5, 6}).values, one.values);
  clear("encoder.backwards.weight_ih");
  EXPECT_EQ(first_logits({4, 5, 6}).values, first_logits({7, 5, 6}).values);
}

TEST(Bahdanau, TiedOutputNeedsTheEmbeddingsSize) {
  BahdanauConfig config = tiny();
  config.tied_output = true;
  ParameterStore store;
  expect_error([&] { Bahdanau(store.root(), config); },
               "[bahdanau] maxout is 12, expected 24 as embedding, which tied_output uses as the "
               "output projection");
}

// --- The unit

double sigmoid_of(double x) { return 1.0 / (1.0 + std::exp(-x)); }

TEST(ContextGru, IsAsThePaperHasIt) {
  constexpr int64_t kInputs = 3;
  constexpr int64_t kContext = 4;
  constexpr int64_t kWidth = 2;
  ParameterStore store;
  const ContextGru unit(store.root(), {kInputs, kContext, kWidth});
  store.allocate(DType::f32, 5, ParameterStore::Use::inference);
  const auto product = [&](const std::string& name, int64_t row, const std::vector<double>& x) {
    const Tensor& weight = store.find(name).value;
    double sum = 0.0;
    for (int64_t i = 0; i < weight.dim(1); ++i) {
      sum += weight.data<float>()[row * weight.dim(1) + i] * x[static_cast<size_t>(i)];
    }
    return sum;
  };
  const std::vector<double> x{0.5, -1.0, 2.0};
  const std::vector<double> c{1.0, 0.25, -0.5, 0.75};
  const std::vector<double> s{0.3, -0.6};
  const auto tensor = [](const std::vector<double>& values) {
    const std::vector<float> floats(values.begin(), values.end());
    return Tensor::from(floats, {1, std::ssize(values)});
  };
  const std::vector<float> next = unit(unit.project(tensor(x)), tensor(c), tensor(s)).to_vector();
  const auto given = [&](int64_t row) {
    return product("input.weight", row, x) + product("context.weight", row, c);
  };
  std::vector<double> gated(kWidth);
  for (int64_t i = 0; i < kWidth; ++i) {
    const auto at = static_cast<size_t>(i);
    gated[at] = sigmoid_of(given(kWidth + i) + product("gates.weight", kWidth + i, s)) * s[at];
  }
  for (int64_t i = 0; i < kWidth; ++i) {
    const auto at = static_cast<size_t>(i);
    const double z = sigmoid_of(given(i) + product("gates.weight", i, s));
    const double n = std::tanh(given(2 * kWidth + i) + product("state.weight", i, gated));
    EXPECT_NEAR(next[at], (1.0 - z) * s[at] + z * n, 1e-6);
  }
}

}  // namespace
}  // namespace heed::testing
