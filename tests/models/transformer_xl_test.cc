// The Transformer-XL: segments with a memory are one long pass, and decoding with a bounded memory
// says what evaluation with that memory says.
#include "models/language/transformer_xl.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "autograd/tape.h"
#include "decode/text/perplexity.h"
#include "ops/loss/cross_entropy.h"
#include "ops/shape/shape.h"
#include "support/error_of.h"
#include "support/language_check.h"
#include "support/op_case.h"
#include "support/verify_check.h"

namespace heed::testing {
namespace {

struct Variant {
  std::string name;
  DType dtype = DType::f32;
  int64_t memory = 40;
  int64_t most_distance = 0;
  std::vector<int64_t> cutoffs = {};

  TransformerXlConfig config() const {
    TransformerXlConfig config;
    config.vocabulary = 37;
    config.memory = memory;
    config.most_distance = most_distance;
    config.cutoffs = cutoffs;
    config.shrink = 2;
    config.width = 32;
    config.heads = 4;
    config.layers = 3;
    config.hidden = 48;
    config.initializer_range = 0.15F;
    return config;
  }
  double tolerance() const { return dtype == DType::f32 ? 1e-4 : 0.05; }
};

class TransformerXlTest : public ::testing::TestWithParam<Variant> {
 protected:
  ParameterStore store_;
  TransformerXl model_{store_.root(), GetParam().config()};
};
// Those that look at everything.
class WholeTransformerXl : public TransformerXlTest {};

Tensor all_tokens(int64_t count, int64_t rows = 1) {
  return Tensor::from_ints(noise_tokens(rows * count, 37), {rows, count});
}

TEST_P(WholeTransformerXl, CachedDecodingEqualsFullForward) {
  store_.allocate(GetParam().dtype, 3, ParameterStore::Use::inference);
  expect_steps_equal_logits({model_, model_, GetParam().tolerance()});
}

TEST_P(WholeTransformerXl, RowsOfDifferentLengths) {
  store_.allocate(GetParam().dtype, 3, ParameterStore::Use::inference);
  expect_rows_equal_logits({model_, model_, GetParam().tolerance()});
}

TEST_P(WholeTransformerXl, SegmentsWithAMemoryAreOneLongPass) {
  store_.allocate(GetParam().dtype, 3, ParameterStore::Use::inference);
  const Tensor tokens = all_tokens(24, 2);
  const Array whole = to_array(model_.logits(tokens));
  SegmentModel::Memory memory;
  std::vector<Tensor> parts;
  for (const auto& [begin, end] : {std::pair(0, 8), std::pair(8, 9), std::pair(9, 24)}) {
    parts.push_back(model_.segment(slice(tokens, 1, begin, end), memory));
  }
  EXPECT_LE(error_between(to_array(concat(parts, 1)), whole), GetParam().tolerance());
  ASSERT_EQ(memory.size(), 3U);
  EXPECT_EQ(memory[1].shape(), (Shape{2, 24, 32}));
}

TEST_P(TransformerXlTest, SameBitsAloneAndInABatch) {
  store_.allocate(GetParam().dtype, 3, ParameterStore::Use::batch_invariant);
  expect_same_bits_alone_and_in_a_batch(model_);
}

TEST_P(TransformerXlTest, CachedAttentionEqualsThatOfTheFullForward) {
  store_.allocate(GetParam().dtype, 3, ParameterStore::Use::inference);
  expect_steps_attend_as_logits({model_, model_, GetParam().dtype == DType::f32 ? 1e-5 : 0.02});
}

TEST_P(TransformerXlTest, VerifiesAndTakesBack) {
  store_.allocate(GetParam().dtype, 3, ParameterStore::Use::batch_invariant);
  expect_verified_tokens_have_the_same_bits_as_steps(model_);
}

// However a text is cut, each position sees the same memory before it.
TEST_P(TransformerXlTest, EvaluationSaysWhatDecodingSaysStepByStep) {
  store_.allocate(GetParam().dtype, 3, ParameterStore::Use::inference);
  constexpr int64_t kLength = 40;
  const Tensor tokens = all_tokens(kLength);
  const auto in_pieces = [&](int64_t piece) {
    const auto state = model_.start();
    std::vector<Tensor> logits;
    for (int64_t begin = 0; begin < kLength; begin += piece) {
      logits.push_back(
          model_.extend(slice(tokens, 1, begin, std::min(begin + piece, kLength)), *state));
    }
    return to_array(concat(logits, 1));
  };
  const auto by_steps = [&] {
    const auto state = model_.start();
    std::vector<Tensor> logits;
    for (int64_t i = 0; i < kLength; ++i) {
      logits.push_back(
          model_.step(slice(tokens, 1, i, i + 1), *state).reshape({1, 1, model_.vocabulary()}));
    }
    return to_array(concat(logits, 1));
  };
  const Array steps = by_steps();
  for (const int64_t piece : {1, 3, 7, 16, 40}) {
    EXPECT_LE(error_between(in_pieces(piece), steps), GetParam().tolerance()) << piece;
  }
  const std::vector<int32_t> ids = noise_tokens(kLength, 37);
  double nats = 0.0;
  for (int64_t i = 0; i + 1 < kLength; ++i) {
    const auto row = steps.values.begin() + i * 37;
    const std::vector<float> logits(row, row + 37);
    nats += cross_entropy(Tensor::from(logits, {1, 37}),
                          Tensor::from_ints({&ids[static_cast<size_t>(i + 1)], 1}, {1}))
                .item();
  }
  const Perplexity found = measure_perplexity(model_, ids, {});
  EXPECT_EQ(found.tokens, kLength - 1);
  EXPECT_NEAR(found.nats, nats, GetParam().tolerance() * nats);
}

INSTANTIATE_TEST_SUITE_P(
    Variants, TransformerXlTest,
    ::testing::Values(Variant{.name = "f32"}, Variant{.name = "bf16", .dtype = DType::bf16},
                      Variant{.name = "memory", .memory = 5},
                      Variant{.name = "memory_bf16", .dtype = DType::bf16, .memory = 6},
                      Variant{.name = "no_memory", .memory = 0},
                      Variant{.name = "bands", .memory = 9, .cutoffs = {6, 20}},
                      Variant{.name = "distances", .most_distance = 3},
                      Variant{.name = "distances_and_memory", .memory = 7, .most_distance = 3}),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(Variants, WholeTransformerXl,
                         ::testing::Values(Variant{.name = "f32"},
                                           Variant{.name = "bf16", .dtype = DType::bf16},
                                           Variant{.name = "bands", .cutoffs = {6, 20}},
                                           Variant{.name = "distances", .most_distance = 3}),
                         [](const auto& info) { return info.param.name; });

// What was said before is remembered, and teaches nothing any more.
TEST(TransformerXl, NoGradientFlowsIntoTheMemory) {
  ParameterStore store;
  TransformerXlConfig config = Variant{.name = ""}.config();
  config.tied_output = false;
  config.dropout = 0.0F;
  const TransformerXl model(store.root(), config);
  store.allocate(DType::f32, 3);
  const std::vector<int32_t> before{1, 2, 3, 4};
  const std::vector<int32_t> now{5, 6, 7, 8};
  SegmentModel::Memory memory;
  model.segment(Tensor::from_ints(before, {1, 4}), memory);
  const Array kept = to_array(memory[2]);
  Tape tape;
  {
    const TapeScope scope(tape);
    const Tensor logits = model.segment(Tensor::from_ints(now, {1, 4}), memory);
    tape.backward(cross_entropy(logits, Tensor::from_ints(before, {1, 4})));
  }
  store.finish_gradients();
  const ParameterEntry& embedding = store.find("tokens.weight");
  for (int64_t token = 0; token < config.vocabulary; ++token) {
    const float* row = embedding.slot.grad.data<float>() + token * config.width;
    const bool learns = std::any_of(row, row + config.width, [](float v) { return v != 0.0F; });
    EXPECT_EQ(learns, token >= 5 && token <= 8) << token;
  }
  EXPECT_EQ(memory[2].shape(), (Shape{1, 8, config.width}));
  EXPECT_EQ(to_array(slice(memory[2], 1, 0, 4)).values, kept.values);
}

// It tells by what it remembers what comes next: of each row all segments are the same letter.
TEST(TransformerXl, TheMemoryMatters) {
  ParameterStore store;
  const TransformerXl model(store.root(), Variant{.name = ""}.config());
  store.allocate(DType::f32, 3, ParameterStore::Use::inference);
  const Tensor now = all_tokens(6);
  SegmentModel::Memory none;
  SegmentModel::Memory some;
  model.segment(all_tokens(4), some);
  EXPECT_GT(error_between(to_array(model.segment(now, some)), to_array(model.segment(now, none))),
            1e-3);
  SegmentModel::Memory wrong(2);
  EXPECT_EQ(error_of([&] { model.segment(now, wrong); }),
            "[transformer_xl] a memory of 2 layers, expected 3");
}

TEST(TransformerXl, AnotherMemoryThanInTraining) {
  ParameterStore store;
  TransformerXlConfig config = Variant{.name = "", .memory = 5}.config();
  const TransformerXl model(store.root(), config);
  store.allocate(DType::f32, 3, ParameterStore::Use::inference);
  EXPECT_EQ(model.decoding_memory(), 5);
  const auto last = [&](std::unique_ptr<DecodeState> state) {
    return to_array(model.step(all_tokens(20), *state));
  };
  const Array bounded = last(model.start());
  const Array whole = last(model.start_with(40));
  EXPECT_EQ(last(model.start_with(5)).values, bounded.values);
  EXPECT_GT(error_between(bounded, whole), 1e-3);
  const Array logits = to_array(model.logits(all_tokens(20)));
  EXPECT_LE(
      error_between(whole, Array{whole.shape, {logits.values.end() - 37, logits.values.end()}}),
      1e-4);
  EXPECT_EQ(error_of([&] { model.start_with(-1); }),
            "[transformer_xl] a memory of -1 positions, expected 0 or more");
  config.decoding_memory = 12;
  ParameterStore other;
  EXPECT_EQ(TransformerXl(other.root(), config).decoding_memory(), 12);
}

TEST(TransformerXl, LearnsByHeartAndTheSameSeedGivesTheSameBits) {
  const auto run = [] {
    ParameterStore store;
    TransformerXlConfig config = Variant{.name = ""}.config();
    config.initializer_range = 0.02F;
    config.word_dropout = 0.05F;
    config.embedding_dropout = 0.05F;
    const TransformerXl model(store.root(), config);
    store.allocate(DType::f32, 3);
    return learn_by_heart(model, store, 60);
  };
  const TrainingRun first = run();
  EXPECT_LT(first.losses.back(), 0.5F * first.losses.front());
  EXPECT_EQ(first.weights, run().weights);
}

}  // namespace
}  // namespace heed::testing
