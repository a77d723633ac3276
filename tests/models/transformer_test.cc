#include "models/transformer.h"

#include <gtest/gtest.h>

#include "ops/cross_entropy.h"
#include "support/op_case.h"
#include "train/optimizer.h"

namespace heed::testing {
namespace {

TransformerConfig tiny(bool pre_norm, float dropout) {
  return {.vocabulary = 20,
          .width = 32,
          .heads = 4,
          .hidden = 64,
          .encoder_layers = 2,
          .decoder_layers = 2,
          .dropout = dropout,
          .attention_dropout = dropout,
          .hidden_dropout = dropout,
          .pre_norm = pre_norm};
}

// Source tokens 2..19 at random; the decoder is shown START (1) and the shifted source.
struct CopyTask {
  Tensor source, input;
  CopyTask(int64_t batch, int64_t length, uint64_t stream) {
    const RandomStream random{11, stream};
    std::vector<int32_t> from;
    std::vector<int32_t> shown;
    for (int64_t i = 0; i < batch * length; ++i) {
      from.push_back(static_cast<int32_t>(2 + random.bits(static_cast<uint64_t>(i)) % 18));
      shown.push_back(i % length == 0 ? 1 : from[static_cast<size_t>(i - 1)]);
    }
    source = Tensor::from_ints(from, {batch, length});
    input = Tensor::from_ints(shown, {batch, length});
  }
};

class TransformerTest : public ::testing::TestWithParam<std::tuple<DType, bool>> {};

TEST_P(TransformerTest, LearnsToCopy) {
  const auto [dtype, pre_norm] = GetParam();
  ParameterStore store;
  const Transformer model(store.root(), tiny(pre_norm, 0.0F));
  store.allocate(dtype, 2);
  const auto optimizer = make_optimizer(store, {});
  Tape tape(1);
  float loss_value = 0;
  for (uint64_t step = 0; step < 300; ++step) {
    const CopyTask task(16, 6, step);
    tape.clear();
    store.clear_gradients();
    {
      const TapeScope scope(tape);
      const Tensor loss =
          cross_entropy(model.decode(task.input, model.encode(task.source)), task.source);
      loss_value = loss.item();
      tape.backward(loss);
    }
    optimizer->step(3e-3F, static_cast<float>(1.0 / std::max(1.0, gradient_norm(store))));
  }
  EXPECT_LT(loss_value, 0.5F);  // guessing costs log(18) = 2.9
}

INSTANTIATE_TEST_SUITE_P(Forms, TransformerTest,
                         ::testing::Combine(::testing::Values(DType::f32, DType::bf16),
                                            ::testing::Bool()),
                         [](const auto& info) {
                           return std::string(name_of(std::get<0>(info.param))) +
                                  (std::get<1>(info.param) ? "_pre_norm" : "_post_norm");
                         });

// Padding behind a sequence changes nothing in front of it.
TEST(Transformer, LengthsHidePadding) {
  ParameterStore store;
  const Transformer model(store.root(), tiny(false, 0.1F));
  store.allocate(DType::f32, 2, ParameterStore::Use::inference);
  const std::vector<int32_t> padded{5, 6, 7, 0, 0};
  const std::vector<int32_t> length{3};
  const Tensor lengths = Tensor::from_ints(length, {1});
  const std::vector<int32_t> target{1, 5, 6};
  const Tensor y = Tensor::from_ints(target, {1, 3});
  const Tensor long_source = Tensor::from_ints(padded, {1, 5});
  const Tensor short_source = Tensor::from_ints({padded.data(), 3}, {1, 3});
  const Array a = to_array(model.decode(y, model.encode(long_source, lengths), lengths));
  const Array b = to_array(model.decode(y, model.encode(short_source)));
  EXPECT_LE(error_between(a, b), 1e-5);
}

}  // namespace
}  // namespace heed::testing
