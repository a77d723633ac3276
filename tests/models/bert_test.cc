// BERT: padding and other texts of a batch leave no trace, text types matter, heads that are not
// there are errors, and it learns.
#include "models/language/bert.h"

#include <gtest/gtest.h>

#include "ops/loss/cross_entropy.h"
#include "support/error_of.h"
#include "support/op_case.h"
#include "train/optimizer.h"

namespace heed::testing {
namespace {

using Ids = std::vector<int32_t>;

const BertConfig kTiny{.vocabulary = 23,
                       .longest = 12,
                       .types = 2,
                       .width = 16,
                       .heads = 2,
                       .layers = 2,
                       .hidden = 24,
                       .dropout = 0.0F,
                       .attention_dropout = 0.0F,
                       .head_dropout = 0.0F,
                       .initializer_range = 0.3F,
                       .masked_head = true,
                       .next_head = true,
                       .labels = 3};

struct Built {
  explicit Built(const BertConfig& config = kTiny, DType dtype = DType::f32,
                 ParameterStore::Use use = ParameterStore::Use::batch_invariant)
      : model(store.root(), config) {
    store.allocate(dtype, 7, use);
  }
  ParameterStore store;
  Bert model;
};

// Padded with a token that is not like any other.
TextBatch batch_of(const std::vector<Ids>& texts, int64_t width,
                   const std::vector<Ids>& types = {}) {
  const auto rows = std::ssize(texts);
  Ids tokens(static_cast<size_t>(rows * width), 21);
  Ids kinds(tokens.size(), 0);
  Ids lengths;
  for (size_t r = 0; r < texts.size(); ++r) {
    const auto at = static_cast<int64_t>(r) * width;
    std::copy(texts[r].begin(), texts[r].end(), tokens.begin() + at);
    if (!types.empty()) {
      std::copy(types[r].begin(), types[r].end(), kinds.begin() + at);
    }
    lengths.push_back(static_cast<int32_t>(texts[r].size()));
  }
  return {.tokens = Tensor::from_ints(tokens, {rows, width}),
          .types = types.empty() ? Tensor() : Tensor::from_ints(kinds, {rows, width}),
          .lengths = Tensor::from_ints(lengths, {rows})};
}

// Row r of [B,...], cut to the first `count` values.
Array row_of(const Tensor& t, int64_t row, int64_t count) {
  const Array all = to_array(t);
  const int64_t each = t.size() / t.dim(0);
  const auto begin = all.values.begin() + row * each;
  return {{count}, {begin, begin + count}};
}

const std::vector<Ids> kTexts{{1, 5, 9, 2}, {1, 2}, {1, 8, 8, 13, 20, 4, 2}, {7}};

class BertTest : public ::testing::TestWithParam<DType> {};

TEST_P(BertTest, TheSameAloneAndPaddedInABatch) {
  const Built bert(kTiny, GetParam());
  const TextBatch together = batch_of(kTexts, 9);
  const Tensor hidden = bert.model.hidden(together);
  const Tensor classes = bert.model.classes(together);
  const Tensor follows = bert.model.follows(hidden, together);
  ASSERT_EQ(hidden.shape(), (Shape{4, 9, 16}));
  ASSERT_EQ(classes.shape(), (Shape{4, 3}));
  ASSERT_EQ(follows.shape(), (Shape{4, 2}));
  const double tolerance = GetParam() == DType::f32 ? 1e-5 : 0.05;
  for (size_t r = 0; r < kTexts.size(); ++r) {
    const auto length = std::ssize(kTexts[r]);
    const TextBatch alone = batch_of({kTexts[r]}, length);
    const auto row = static_cast<int64_t>(r);
    const Tensor own = bert.model.hidden(alone);
    EXPECT_LE(error_between(row_of(hidden, row, length * 16), row_of(own, 0, length * 16)),
              tolerance);
    EXPECT_LE(error_between(row_of(classes, row, 3), row_of(bert.model.classes(alone), 0, 3)),
              tolerance);
    EXPECT_LE(error_between(row_of(follows, row, 2), row_of(bert.model.follows(own, alone), 0, 2)),
              tolerance);
  }
}

INSTANTIATE_TEST_SUITE_P(DTypes, BertTest, ::testing::Values(DType::f32, DType::bf16),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST(Bert, TypesAndPlacesMatter) {
  const Built bert;
  const auto hidden = [&](const Ids& text, const std::vector<Ids>& types = {}) {
    return bert.model.hidden(batch_of({text}, std::ssize(text), types)).to_vector();
  };
  const auto plain = hidden({1, 5, 2});
  EXPECT_EQ(plain, hidden({1, 5, 2}, {{0, 0, 0}}));
  EXPECT_NE(plain, hidden({1, 5, 2}, {{0, 0, 1}}));
  EXPECT_NE(hidden({1, 5, 2}, {{0, 1, 1}}), hidden({1, 5, 2}, {{0, 0, 1}}));
  // Both ways: the first token's vector depends on the last token, and on the order.
  const auto other = hidden({1, 5, 3});
  EXPECT_NE(plain[0], other[0]);
  EXPECT_NE(hidden({1, 5, 6, 2})[0], hidden({1, 6, 5, 2})[0]);
}

TEST(Bert, AttentionIsSound) {
  const Built bert;
  const TextBatch batch = batch_of(kTexts, 9);
  std::vector<LayerAttention> maps;
  {
    AttentionScope scope;
    const Tensor hidden = bert.model.hidden(batch);
    maps = scope.take();
    EXPECT_EQ(hidden.to_vector(), bert.model.hidden(batch).to_vector());
  }
  ASSERT_EQ(maps.size(), 2U);
  for (const LayerAttention& map : maps) {
    EXPECT_EQ(map.kind, "encoder");
    ASSERT_EQ(map.weights.shape(), (Shape{4, 2, 9, 9}));
    const float* weights = map.weights.data<float>();
    for (int64_t i = 0; i < 4 * 2 * 9; ++i) {
      const auto length = std::ssize(kTexts[static_cast<size_t>(i / 18)]);
      double sum = 0.0;
      for (int64_t key = 0; key < 9; ++key) {
        sum += weights[i * 9 + key];
        EXPECT_TRUE(key < length || weights[i * 9 + key] == 0.0F);
      }
      EXPECT_NEAR(sum, 1.0, 1e-5);
    }
  }
}

TEST(Bert, MaskedWords) {
  const Built bert;
  const TextBatch batch = batch_of(kTexts, 9);
  const Tensor hidden = bert.model.hidden(batch);
  const Tensor some = bert.model.words(hidden, Tensor::from_ints(Ids{1, 18 + 4, 1}, {3}));
  ASSERT_EQ(some.shape(), (Shape{3, 23}));
  EXPECT_EQ(row_of(some, 0, 23).values, row_of(some, 2, 23).values);
  const Tensor one = bert.model.words(hidden, Tensor::from_ints(Ids{22}, {1}));
  EXPECT_LE(error_between(row_of(some, 1, 23), row_of(one, 0, 23)), 1e-5);
  EXPECT_THROW(bert.model.words(hidden, Tensor::from_ints(Ids{36}, {1})), Error);
}

TEST(Bert, WithoutHeads) {
  BertConfig config = kTiny;
  config.masked_head = false;
  config.next_head = false;
  config.labels = 0;
  config.pooler = false;
  const Built bert(config);
  const TextBatch batch = batch_of(kTexts, 9);
  const Tensor hidden = bert.model.hidden(batch);
  EXPECT_EQ(bert.model.labels(), 0);
  EXPECT_EQ(error_of([&] { bert.model.classes(batch); }),
            "[bert] this model has no head for classes: train one with a recipe of task "
            "\"classify\"");
  EXPECT_EQ(error_of([&] { bert.model.words(hidden, Tensor::from_ints(Ids{1}, {1})); }),
            "[bert] this model has no head for masked words");
  EXPECT_EQ(error_of([&] { bert.model.follows(hidden, batch); }),
            "[bert] this model has no head for following texts");
  // Without a pooler the summary is the first vector itself.
  EXPECT_EQ(row_of(bert.model.summary(hidden, batch), 2, 16).values, row_of(hidden, 2, 16).values);
}

TEST(Bert, TextsItCannotRead) {
  const Built bert;
  EXPECT_EQ(error_of([&] { bert.model.hidden(batch_of({Ids(13, 4)}, 13)); }),
            "[bert] 13 tokens in a text, expected at most 12");
  EXPECT_EQ(error_of([&] { bert.model.hidden(batch_of({Ids(12, 4)}, 12)); }), "no error");
  EXPECT_THROW(bert.model.hidden(batch_of({{1, 23, 2}}, 3)), Error);
  EXPECT_THROW(bert.model.hidden(batch_of({{1, 2}}, 2, {{0, 2}})), Error);
  EXPECT_THROW(bert.model.hidden({Tensor::from_ints(Ids{1, 2}, {2}), Tensor(), Tensor()}), Error);
}

// Texts are of the class of their marker, 3, 4 or 5, wherever it stands.
TEST(Bert, LearnsToTellClassesApart) {
  BertConfig config = kTiny;
  config.initializer_range = 0.02F;
  config.dropout = 0.1F;
  Built bert(config, DType::f32, ParameterStore::Use::training);
  const auto optimizer = make_optimizer(bert.store, {});
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
  for (int step = 0; step < 250; ++step) {
    Ids labels;
    const TextBatch batch = draw_batch(labels);
    tape.clear();
    bert.store.clear_gradients();
    {
      const TapeScope scope(tape);
      const Tensor loss = cross_entropy(bert.model.classes(batch), Tensor::from_ints(labels, {16}));
      tape.backward(loss);
    }
    optimizer->step(3e-3F);
  }
  int right = 0;
  for (int trial = 0; trial < 10; ++trial) {
    Ids labels;
    const TextBatch batch = draw_batch(labels);
    const std::vector<float> scores = bert.model.classes(batch).to_vector();
    for (size_t r = 0; r < labels.size(); ++r) {
      const auto begin = scores.begin() + static_cast<int64_t>(3 * r);
      right += std::max_element(begin, begin + 3) - begin == labels[r] ? 1 : 0;
    }
  }
  EXPECT_GT(right, 150);  // of 160; by chance 53
}

}  // namespace
}  // namespace heed::testing
