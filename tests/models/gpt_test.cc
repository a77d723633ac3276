#include "models/gpt.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "support/error_of.h"
#include "support/op_case.h"
#include "train/optimizer.h"

namespace heed::testing {
namespace {

const GptConfig kTiny{.vocabulary = 37, .context = 24, .width = 32, .heads = 4, .layers = 2};

Tensor tokens_of(const std::vector<int32_t>& ids, const Shape& shape) {
  return Tensor::from_ints(ids, shape);
}

std::vector<int32_t> numbers(int64_t count) {
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < count; ++i) {
    ids.push_back(static_cast<int32_t>((i * 11 + 5) % kTiny.vocabulary));
  }
  return ids;
}

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

// A prompt at once, then token by token, gives what the whole sequence gives.
TEST_P(GptTest, CachedDecodingEqualsFullForward) {
  ParameterStore store;
  const Gpt model(store.root(), GetParam().config());
  store.allocate(GetParam().dtype, 3, ParameterStore::Use::inference);
  const std::vector<int32_t> ids = numbers(12);
  const Array full = to_array(model.logits(tokens_of(ids, {1, 12})));
  GptState state;
  const auto compare = [&](const Tensor& logits, int64_t position) {
    const auto row = full.values.begin() + position * kTiny.vocabulary;
    const Array expected{{1, kTiny.vocabulary}, {row, row + kTiny.vocabulary}};
    EXPECT_LE(error_between(to_array(logits), expected),
              GetParam().dtype == DType::f32 ? 1e-4 : 0.05)
        << "position " << position;
  };
  compare(model.step(tokens_of({ids.begin(), ids.begin() + 7}, {1, 7}), state), 6);
  for (int64_t i = 7; i < 12; ++i) {
    compare(model.step(tokens_of({ids[static_cast<size_t>(i)]}, {1, 1}), state), i);
  }
}

// Rows that are shown token by token, each compared with its whole sequence at once.
class SteppedRows {
 public:
  static constexpr int64_t kWhole = 16;

  SteppedRows(const Gpt& model, double tolerance) : model_(model), tolerance_(tolerance) {
    for (int32_t r = 0; r < 4; ++r) {
      rows_.push_back(numbers(kWhole));
      for (int32_t& id : rows_.back()) {
        id = (id * (r + 1) + r) % static_cast<int32_t>(kTiny.vocabulary);
      }
      full_.push_back(to_array(model.logits(tokens_of(rows_.back(), {1, kWhole}))));
    }
  }

  // The beginnings of sequences, into a state that is empty.
  void show(GptState& state, const std::vector<int64_t>& which,
            const std::vector<int64_t>& lengths) {
    const int64_t longest = *std::max_element(lengths.begin(), lengths.end());
    std::vector<int32_t> padded(which.size() * static_cast<size_t>(longest), 36);
    for (size_t r = 0; r < which.size(); ++r) {
      std::copy_n(rows_[static_cast<size_t>(which[r])].begin(), lengths[r],
                  padded.begin() + static_cast<int64_t>(r) * longest);
    }
    compare(model_.step(tokens_of(padded, {std::ssize(which), longest}), state, lengths), which,
            lengths);
    of_.insert(of_.end(), which.begin(), which.end());
    lengths_.insert(lengths_.end(), lengths.begin(), lengths.end());
  }

  void say_next(GptState& state) {
    std::vector<int32_t> next;
    for (size_t r = 0; r < of_.size(); ++r) {
      next.push_back(rows_[static_cast<size_t>(of_[r])][static_cast<size_t>(lengths_[r]++)]);
    }
    compare(model_.step(tokens_of(next, {std::ssize(next), 1}), state), of_, lengths_);
  }

  void keep(GptState& state, const std::vector<int64_t>& kept) {
    model_.select(state, kept);
    const std::vector<int64_t> old_of = std::exchange(of_, {});
    const std::vector<int64_t> old_lengths = std::exchange(lengths_, {});
    for (const int64_t row : kept) {
      of_.push_back(old_of[static_cast<size_t>(row)]);
      lengths_.push_back(old_lengths[static_cast<size_t>(row)]);
      EXPECT_EQ(state.length(std::ssize(of_) - 1), lengths_.back());
    }
  }

 private:
  void compare(const Tensor& logits, const std::vector<int64_t>& which,
               const std::vector<int64_t>& lengths) const {
    ASSERT_EQ(logits.shape(), (Shape{std::ssize(which), kTiny.vocabulary}));
    const Array found = to_array(logits);
    for (size_t r = 0; r < which.size(); ++r) {
      const auto at = found.values.begin() + static_cast<int64_t>(r) * kTiny.vocabulary;
      const auto row =
          full_[static_cast<size_t>(which[r])].values.begin() + (lengths[r] - 1) * kTiny.vocabulary;
      EXPECT_LE(error_between({{kTiny.vocabulary}, {at, at + kTiny.vocabulary}},
                              {{kTiny.vocabulary}, {row, row + kTiny.vocabulary}}),
                tolerance_)
          << "row " << which[r] << " of " << lengths[r];
    }
  }

  const Gpt& model_;
  double tolerance_;
  std::vector<std::vector<int32_t>> rows_;
  std::vector<Array> full_;  // logits of each
  std::vector<int64_t> of_;  // which of rows_ each row of the state is
  std::vector<int64_t> lengths_;
};

TEST_P(GptTest, RowsOfDifferentLengths) {
  ParameterStore store;
  const Gpt model(store.root(), GetParam().config());
  store.allocate(GetParam().dtype, 3, ParameterStore::Use::batch_invariant);
  SteppedRows rows(model, GetParam().dtype == DType::f32 ? 1e-4 : 0.06);
  GptState state;
  rows.show(state, {0, 1, 2, 3}, {3, 9, 1, 6});
  rows.say_next(state);
  rows.say_next(state);
  rows.keep(state, {2, 0, 3});  // the longest leaves
  rows.say_next(state);
  rows.keep(state, {1, 1, 0});
  rows.say_next(state);
  rows.keep(state, {0});
  GptState fresh;  // others come in
  rows.show(fresh, {1, 3}, {4, 2});
  model.join(state, fresh);
  for (int i = 0; i < 5; ++i) {
    rows.say_next(state);
  }
}

// For inference a row's numbers do not depend on the other rows, to the bit.
TEST_P(GptTest, TheSameBitsAloneAndInABatch) {
  ParameterStore store;
  const Gpt model(store.root(), GetParam().config());
  store.allocate(GetParam().dtype, 3, ParameterStore::Use::batch_invariant);
  const std::vector<int64_t> lengths{3, 9, 1, 6};
  const std::vector<int32_t> ids = numbers(4 * 16);
  const auto at = [&](size_t row) { return ids.begin() + static_cast<int64_t>(row) * 16; };
  const auto row_of = [&](const Tensor& logits, size_t row) {
    const std::vector<float> all = logits.to_vector();
    const auto begin = all.begin() + static_cast<int64_t>(row) * kTiny.vocabulary;
    return std::vector<float>(begin, begin + kTiny.vocabulary);
  };
  std::vector<int32_t> padded(4 * 9, 0);
  for (size_t r = 0; r < 4; ++r) {
    std::copy_n(at(r), lengths[r], padded.begin() + static_cast<int64_t>(r) * 9);
  }
  GptState together;
  std::vector<Tensor> steps{model.step(tokens_of(padded, {4, 9}), together, lengths)};
  for (int64_t i = 0; i < 5; ++i) {
    std::vector<int32_t> next;
    for (size_t r = 0; r < 4; ++r) {
      next.push_back(at(r)[lengths[r] + i]);
    }
    steps.push_back(model.step(tokens_of(next, {4, 1}), together));
  }
  for (size_t r = 0; r < 4; ++r) {
    GptState alone;
    EXPECT_EQ(row_of(model.step(tokens_of({at(r), at(r) + lengths[r]}, {1, lengths[r]}), alone), 0),
              row_of(steps[0], r))
        << "row " << r;
    for (int64_t i = 0; i < 5; ++i) {
      EXPECT_EQ(row_of(model.step(tokens_of({at(r)[lengths[r] + i]}, {1, 1}), alone), 0),
                row_of(steps[static_cast<size_t>(i + 1)], r))
          << "row " << r << " step " << i;
    }
  }
}

struct TrainingRun {
  std::vector<float> losses;
  std::vector<float> weights;
};

TrainingRun train(const Variant& variant, int steps, float dropout) {
  GptConfig config = variant.config();
  config.dropout = dropout;
  ParameterStore store;
  const Gpt model(store.root(), config);
  store.allocate(variant.dtype, 3);
  const auto optimizer = make_optimizer(store, {});
  Tape tape(5);
  const std::vector<int32_t> ids = numbers(2 * 17);
  const Tensor input = tokens_of({ids.begin(), ids.begin() + 32}, {2, 16});
  const Tensor target = tokens_of({ids.begin() + 1, ids.begin() + 33}, {2, 16});
  TrainingRun run;
  for (int i = 0; i < steps; ++i) {
    tape.clear();
    store.clear_gradients();
    {
      const TapeScope scope(tape);
      const Tensor loss = model.loss(input, target);
      run.losses.push_back(loss.item());
      tape.backward(loss);
    }
    optimizer->step(3e-3F);
  }
  run.weights = store.values().to_vector();
  return run;
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
  EXPECT_EQ(error_with(state, {}),
            "[cache] 3 positions at once for rows of different lengths, expected 1");
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
