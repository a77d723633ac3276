#include "models/gpt.h"

#include <gtest/gtest.h>

#include "base/error.h"
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

class GptTest : public ::testing::TestWithParam<DType> {};

// A prompt at once, then token by token, gives what the whole sequence gives.
TEST_P(GptTest, CachedDecodingEqualsFullForward) {
  ParameterStore store;
  const Gpt model(store.root(), kTiny);
  store.allocate(GetParam(), 3, ParameterStore::Use::inference);
  const std::vector<int32_t> ids = numbers(12);
  const Array full = to_array(model.logits(tokens_of(ids, {1, 12})));
  GptState state;
  const auto compare = [&](const Tensor& logits, int64_t position) {
    const auto row = full.values.begin() + position * kTiny.vocabulary;
    const Array expected{{1, kTiny.vocabulary}, {row, row + kTiny.vocabulary}};
    EXPECT_LE(error_between(to_array(logits), expected), GetParam() == DType::f32 ? 1e-4 : 0.05)
        << "position " << position;
  };
  compare(model.step(tokens_of({ids.begin(), ids.begin() + 7}, {1, 7}), state), 6);
  for (int64_t i = 7; i < 12; ++i) {
    compare(model.step(tokens_of({ids[static_cast<size_t>(i)]}, {1, 1}), state), i);
  }
}

struct TrainingRun {
  std::vector<float> losses;
  std::vector<float> weights;
};

TrainingRun train(DType dtype, int steps, float dropout) {
  GptConfig config = kTiny;
  config.dropout = dropout;
  ParameterStore store;
  const Gpt model(store.root(), config);
  store.allocate(dtype, 3);
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

TEST_P(GptTest, LearnsASequenceByHeart) {
  const TrainingRun run = train(GetParam(), 90, 0.0F);
  EXPECT_GT(run.losses.front(), 3.0F);
  EXPECT_LT(run.losses.back(), 0.2F);
}

TEST_P(GptTest, SameSeedSameBits) {
  const TrainingRun first = train(GetParam(), 5, 0.1F);
  const TrainingRun second = train(GetParam(), 5, 0.1F);
  EXPECT_EQ(first.losses, second.losses);
  EXPECT_EQ(first.weights, second.weights);
}

INSTANTIATE_TEST_SUITE_P(DTypes, GptTest, ::testing::Values(DType::f32, DType::bf16),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST(Gpt, RefusesAStateOfAnotherBatch) {
  ParameterStore store;
  const Gpt model(store.root(), kTiny);
  store.allocate(DType::f32, 3, ParameterStore::Use::inference);
  GptState state;
  model.step(tokens_of({1}, {1, 1}), state);
  EXPECT_THROW(model.step(tokens_of({1, 2}, {2, 1}), state), Error);
  EXPECT_THROW(make_optimizer(store, {}), Error);
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
