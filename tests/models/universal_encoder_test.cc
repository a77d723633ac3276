// The Universal Transformer's encoder: padding and other texts of a batch leave no trace, in each
// form; heads that are not there are errors; it learns, and tells how long it pondered.
#include "models/language/universal_encoder.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "autograd/tape.h"
#include "ops/loss/cross_entropy.h"
#include "support/error_of.h"
#include "support/op_case.h"
#include "train/optimizer.h"

namespace heed::testing {
namespace {

using Ids = std::vector<int32_t>;

UniversalEncoderConfig tiny() {
  UniversalEncoderConfig config;
  config.vocabulary = 23;
  config.longest = 12;
  config.width = 16;
  config.heads = 2;
  config.steps = 4;
  config.hidden = 24;
  config.dropout = config.attention_dropout = config.hidden_dropout = config.head_dropout = 0.0F;
  config.masked_head = config.next_head = true;
  config.labels = 3;
  return config;
}

struct Form {
  std::string name;
  UniversalEncoderConfig config;
};

std::vector<Form> forms() {
  std::vector<Form> all(6, {"", tiny()});
  all[0].name = "halting";
  all[1].name = "fixed";
  all[1].config.halting = false;
  all[2].name = "post_norm_learned";
  all[2].config.pre_norm = false;
  all[2].config.positions = "learned";
  all[3].name = "relative";
  all[3].config.positions = "relative";
  all[4].name = "convolution";
  all[4].config.transition = "separable_convolution";
  all[5].name = "convolution_fixed";
  all[5].config.transition = "separable_convolution";
  all[5].config.transition_kernel = 6;
  all[5].config.halting = false;
  return all;
}

struct Built {
  explicit Built(const UniversalEncoderConfig& config,
                 ParameterStore::Use use = ParameterStore::Use::batch_invariant)
      : model(store.root(), config) {
    store.allocate(DType::f32, 7, use);
  }
  ParameterStore store;
  UniversalEncoder model;
};

// Padded with a token that is not like any other.
TextBatch batch_of(const std::vector<Ids>& texts, int64_t width) {
  const auto rows = std::ssize(texts);
  Ids tokens(static_cast<size_t>(rows * width), 21);
  Ids lengths;
  for (size_t r = 0; r < texts.size(); ++r) {
    std::copy(texts[r].begin(), texts[r].end(), tokens.begin() + static_cast<int64_t>(r) * width);
    lengths.push_back(static_cast<int32_t>(texts[r].size()));
  }
  return {.tokens = Tensor::from_ints(tokens, {rows, width}),
          .types = Tensor(),
          .lengths = Tensor::from_ints(lengths, {rows})};
}

std::vector<float> row_of(const Tensor& t, int64_t row, int64_t count) {
  const std::vector<float> all = t.to_vector();
  const auto begin = all.begin() + row * (t.size() / t.dim(0));
  return {begin, begin + count};
}

const std::vector<Ids> kTexts{{1, 5, 9, 2}, {1, 2}, {1, 8, 8, 13, 20, 4, 2}, {7}};

class UniversalEncoderTest : public ::testing::TestWithParam<Form> {};

TEST_P(UniversalEncoderTest, TheSameBitsAloneAndPaddedInABatch) {
  const Built built(GetParam().config);
  const TextBatch together = batch_of(kTexts, 9);
  const Tensor hidden = built.model.hidden(together);
  const Tensor classes = built.model.classes(together);
  const Tensor follows = built.model.follows(hidden, together);
  ASSERT_EQ(hidden.shape(), (Shape{4, 9, 16}));
  ASSERT_EQ(classes.shape(), (Shape{4, 3}));
  for (size_t r = 0; r < kTexts.size(); ++r) {
    const auto length = std::ssize(kTexts[r]);
    const auto row = static_cast<int64_t>(r);
    const TextBatch alone = batch_of({kTexts[r]}, length);
    const Tensor own = built.model.hidden(alone);
    EXPECT_EQ(row_of(hidden, row, length * 16), row_of(own, 0, length * 16)) << r;
    EXPECT_EQ(row_of(classes, row, 3), row_of(built.model.classes(alone), 0, 3)) << r;
    EXPECT_EQ(row_of(follows, row, 2), row_of(built.model.follows(own, alone), 0, 2)) << r;
    const Tensor first = Tensor::from_ints(Ids{static_cast<int32_t>(row * 9)}, {1});
    EXPECT_EQ(row_of(built.model.words(hidden, first), 0, 23),
              row_of(built.model.words(own, Tensor::from_ints(Ids{0}, {1})), 0, 23))
        << r;
  }
}

// Texts are of the class of their marker, 3, 4 or 5, wherever it stands.
TEST_P(UniversalEncoderTest, LearnsToTellClassesApart) {
  Built built(GetParam().config, ParameterStore::Use::training);
  const auto optimizer = make_optimizer(built.store, {});
  Tape tape(5);
  const RandomStream random{3, 1};
  uint64_t drawn = 0;
  const auto draw_batch = [&](Ids& labels) {
    std::vector<Ids> texts(16);
    for (Ids& text : texts) {
      for (uint32_t left = 3 + random.bits(drawn++) % 6; left > 0; --left) {
        text.push_back(static_cast<int32_t>(6 + random.bits(drawn++) % 15));
      }
      labels.push_back(static_cast<int32_t>(random.bits(drawn++) % 3));
      text[random.bits(drawn++) % text.size()] = 3 + labels.back();
      text.insert(text.begin(), 1);
    }
    return batch_of(texts, 10);
  };
  for (int step = 0; step < 200; ++step) {
    Ids labels;
    const TextBatch batch = draw_batch(labels);
    tape.clear();
    built.store.clear_gradients();
    {
      const TapeScope scope(tape);
      tape.backward(cross_entropy(built.model.classes(batch), Tensor::from_ints(labels, {16})));
    }
    optimizer->step(3e-3F);
  }
  int right = 0;
  for (int trial = 0; trial < 5; ++trial) {
    Ids labels;
    const std::vector<float> scores = built.model.classes(draw_batch(labels)).to_vector();
    for (size_t r = 0; r < labels.size(); ++r) {
      const auto begin = scores.begin() + static_cast<int64_t>(3 * r);
      right += std::max_element(begin, begin + 3) - begin == labels[r] ? 1 : 0;
    }
  }
  EXPECT_GT(right, 70);  // of 80; by chance 27
}

INSTANTIATE_TEST_SUITE_P(Forms, UniversalEncoderTest, ::testing::ValuesIn(forms()),
                         [](const auto& info) { return info.param.name; });

TEST(UniversalEncoder, TypesAndPlacesMatter) {
  const Built built(tiny());
  TextBatch batch = batch_of({{1, 5, 6, 2}}, 4);
  const std::vector<float> plain = built.model.hidden(batch).to_vector();
  batch.types = Tensor::from_ints(Ids{0, 0, 1, 1}, {1, 4});
  EXPECT_NE(built.model.hidden(batch).to_vector(), plain);
  EXPECT_NE(built.model.hidden(batch_of({{1, 6, 5, 2}}, 4)).to_vector()[0], plain[0]);
}

TEST(UniversalEncoder, TellsHowLongItPondered) {
  const Built built(tiny());
  const AttentionScope scope;
  built.model.hidden(batch_of(kTexts, 9));
  ASSERT_EQ(scope.pondering().size(), 1U);
  EXPECT_EQ(scope.pondering()[0].kind, "encoder");
  const std::span<const float> steps = scope.pondering()[0].steps.span<float>();
  ASSERT_EQ(steps.size(), 36U);
  for (size_t i = 0; i < steps.size(); ++i) {
    EXPECT_EQ(steps[i] > 0.0F, i % 9 < kTexts[i / 9].size()) << i;
  }
}

TEST(UniversalEncoder, WhatIsNotThere) {
  UniversalEncoderConfig config = tiny();
  config.masked_head = config.next_head = config.pooler = false;
  config.labels = 0;
  const Built built(config);
  const TextBatch batch = batch_of(kTexts, 9);
  const Tensor hidden = built.model.hidden(batch);
  EXPECT_EQ(error_of([&] { built.model.classes(batch); }),
            "[universal encoder] this model has no head for classes: train one with a recipe of "
            "task \"classify\"");
  EXPECT_EQ(error_of([&] { built.model.words(hidden, Tensor::from_ints(Ids{1}, {1})); }),
            "[universal encoder] this model has no head for masked words");
  EXPECT_EQ(row_of(built.model.summary(hidden, batch), 2, 16), row_of(hidden, 2, 16));
  EXPECT_EQ(error_of([&] { built.model.hidden(batch_of({Ids(13, 4)}, 13)); }),
            "[universal encoder] 13 tokens in a text, expected at most 12");
}

}  // namespace
}  // namespace heed::testing
