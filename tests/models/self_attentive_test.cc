// Structured self-attention: hops are distributions over the words, their sums are the text, and
// the penalty drives them apart.
#include "models/language/self_attentive.h"

#include <gtest/gtest.h>

#include "nn/scopes/loss_scope.h"
#include "ops/loss/cross_entropy.h"
#include "support/error_of.h"
#include "support/op_case.h"
#include "train/optimizer.h"

namespace heed::testing {
namespace {

using Ids = std::vector<int32_t>;
constexpr int64_t kHops = 3;

SelfAttentiveConfig tiny(int64_t labels = 2) {
  return {.vocabulary = 20,
          .embedding = 6,
          .hidden = 5,
          .layers = 2,
          .attention_width = 7,
          .hops = kHops,
          .penalty = 0.5F,
          .classes_hidden = 4,
          .dropout = 0.0F,
          .labels = labels};
}

struct Built {
  explicit Built(const SelfAttentiveConfig& config = tiny()) : model(store.root(), config) {
    store.allocate(DType::f32, 4, ParameterStore::Use::batch_invariant);
  }
  ParameterStore store;
  SelfAttentive model;
};

TextBatch batch_of(const std::vector<Ids>& rows, size_t width, int32_t pad = 0) {
  Ids tokens;
  Ids lengths;
  for (const Ids& row : rows) {
    tokens.insert(tokens.end(), row.begin(), row.end());
    tokens.insert(tokens.end(), width - row.size(), pad);
    lengths.push_back(static_cast<int32_t>(row.size()));
  }
  const auto count = std::ssize(rows);
  return {.tokens = Tensor::from_ints(tokens, {count, static_cast<int64_t>(width)}),
          .types = {},
          .lengths = Tensor::from_ints(lengths, {count})};
}

const std::vector<Ids> kTexts{{3, 7, 1, 9}, {5}, {2, 2, 8, 8, 4, 1}};

Array row_of(const Tensor& t, int64_t row) {
  const Array all = to_array(t);
  const int64_t each = t.size() / t.dim(0);
  const auto begin = all.values.begin() + row * each;
  return {{each}, {begin, begin + each}};
}

TEST(SelfAttentive, PaddingChangesNothing) {
  const Built built;
  const Tensor classes = built.model.classes(batch_of(kTexts, 6));
  EXPECT_LE(
      error_between(to_array(classes), to_array(built.model.classes(batch_of(kTexts, 11, 13)))),
      1e-6);
  for (size_t i = 0; i < kTexts.size(); ++i) {
    const Tensor alone = built.model.classes(batch_of({kTexts[i]}, kTexts[i].size()));
    EXPECT_LE(error_between(row_of(classes, static_cast<int64_t>(i)), row_of(alone, 0)), 1e-6);
  }
}

// M = A H by plain loops, with the A that is shown.
TEST(SelfAttentive, HopsSumTheStatesUp) {
  const Built built;
  const TextBatch batch = batch_of(kTexts, 8, 13);
  const AttentionScope scope;
  const Tensor hidden = built.model.hidden(batch);            // [3,8,10]
  const Tensor summary = built.model.summary(hidden, batch);  // [3, 3 * 10]
  ASSERT_EQ(summary.shape(), (Shape{3, kHops * 10}));
  ASSERT_EQ(scope.layers().size(), 1U);
  EXPECT_EQ(scope.layers()[0].kind, "hops");
  const Tensor a = scope.layers()[0].weights;
  ASSERT_EQ(a.shape(), (Shape{3, 1, kHops, 8}));
  for (int64_t row = 0; row < 3 * kHops; ++row) {
    const auto length = std::ssize(kTexts[static_cast<size_t>(row / kHops)]);
    double total = 0.0;
    std::vector<double> sum(10);
    for (int64_t t = 0; t < 8; ++t) {
      const float weight = a.data<float>()[row * 8 + t];
      EXPECT_EQ(weight > 0.0F, t < length);
      total += weight;
      for (int64_t c = 0; c < 10; ++c) {
        sum[static_cast<size_t>(c)] +=
            weight * hidden.data<float>()[((row / kHops) * 8 + t) * 10 + c];
      }
    }
    EXPECT_NEAR(total, 1.0, 1e-5);
    for (int64_t c = 0; c < 10; ++c) {
      EXPECT_NEAR(summary.data<float>()[row * 10 + c], sum[static_cast<size_t>(c)], 1e-5);
    }
  }
}

double cost_of(const SelfAttentive& model, const TextBatch& batch) {
  const LossScope costs;
  model.classes(batch);
  return costs.added_to(Tensor::from(std::vector<float>{0.0F}, {})).item();
}

TEST(SelfAttentive, CostsWhatHopsHaveInCommon) {
  const Built built;
  const TextBatch batch = batch_of(kTexts, 7);
  Tensor a;
  {
    AttentionScope scope;
    built.model.summary(built.model.hidden(batch), batch);
    a = scope.layers()[0].weights;  // [3,1,hops,7]
  }
  double expected = 0.0;
  for (int64_t row = 0; row < 3; ++row) {
    for (int64_t i = 0; i < kHops; ++i) {
      for (int64_t j = 0; j < kHops; ++j) {
        double overlap = i == j ? -1.0 : 0.0;
        for (int64_t t = 0; t < 7; ++t) {
          overlap += static_cast<double>(a.data<float>()[(row * kHops + i) * 7 + t]) *
                     a.data<float>()[(row * kHops + j) * 7 + t];
        }
        expected += overlap * overlap;
      }
    }
  }
  EXPECT_NEAR(cost_of(built.model, batch), 0.5 * expected / 3, 1e-5);
  SelfAttentiveConfig free = tiny();
  free.penalty = 0.0F;
  EXPECT_EQ(cost_of(Built(free).model, batch), 0.0);
}

// Whether a text has a 7: with the penalty the hops end up on different words.
TEST(SelfAttentive, LearnsAndSpreadsItsHops) {
  SelfAttentiveConfig config = tiny();
  config.layers = 1;
  config.hops = 2;
  ParameterStore store;
  const SelfAttentive model(store.root(), config);
  store.allocate(DType::f32, 4);
  const auto optimizer = make_optimizer(store, {});
  const TextBatch batch =
      batch_of({{3, 1, 2, 7}, {5, 1, 2, 8}, {7, 4, 9}, {6, 4, 4}, {2, 7, 3}, {3, 8, 5, 2}}, 4);
  const Tensor targets = Tensor::from_ints(Ids{1, 0, 1, 0, 1, 0}, {6});
  const double before = cost_of(model, batch);
  Tape tape(5);
  float loss = 0.0F;
  for (int i = 0; i < 250; ++i) {
    tape.clear();
    store.clear_gradients();
    const TapeScope scope(tape);
    const LossScope costs;
    const Tensor answer = cross_entropy(model.classes(batch), targets);
    loss = answer.item();
    tape.backward(costs.added_to(answer));
    optimizer->step(0.01F);
  }
  EXPECT_LT(loss, 0.1F);
  EXPECT_GT(before, 0.5);
  EXPECT_LT(cost_of(model, batch), 0.2);
}

TEST(SelfAttentive, SaysWhatIsMissing) {
  const Built built(tiny(0));
  EXPECT_EQ(built.model.labels(), 0);
  expect_error([&] { built.model.classes(batch_of(kTexts, 6)); },
               "[self-attentive] this model has no head for classes: train one with a recipe of "
               "task \"classify\"");
  expect_error(
      [&] {
        built.model.hidden(
            {.tokens = Tensor::from_ints(Ids{1, 2}, {2}), .types = {}, .lengths = {}});
      },
      "[self-attentive] tokens is [2], expected [B,T]");
}

}  // namespace
}  // namespace heed::testing
