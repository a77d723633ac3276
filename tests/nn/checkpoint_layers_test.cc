// Layers that are computed again in the backward pass: the same loss, the same gradients to the
// bit, dropout included, and less memory.
#include <gtest/gtest.h>

#include "autograd/checkpoint.h"
#include "base/random.h"
#include "nn/layer_stack.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "ops/shape/cast.h"
#include "tensor/arena.h"

namespace heed::testing {
namespace {

struct StackVariant {
  DType dtype;
  bool pre_norm;
  bool memory;
};

struct Pass {
  std::vector<float> y;
  std::vector<float> gradients;  // of all parameters
  std::vector<float> dx, dmemory;
  uint64_t draws = 0;
  size_t peak = 0;
  int64_t blocks = 0;
};

Tensor noise(const Shape& shape, uint64_t stream, DType dtype) {
  const RandomStream random{11, stream};
  std::vector<float> values(static_cast<size_t>(shape.size()));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(random.bits(i) % 2000) / 1000.0F - 1.0F;
  }
  return Tensor::from(values, shape).to(dtype);
}

StackConfig stack_config(const StackVariant& variant) {
  constexpr int64_t kWidth = 32;
  StackConfig config;
  config.layer = {.width = kWidth,
                  .mixer = mixer<SelfAttention>({.width = kWidth, .heads = 2, .dropout = 0.2F}),
                  .hidden = 64,
                  .dropout = 0.1F,
                  .hidden_dropout = 0.3F,
                  .pre_norm = variant.pre_norm};
  if (variant.memory) {
    config.layer.cross = CrossAttentionConfig{.width = kWidth, .heads = 2, .dropout = 0.2F};
  }
  config.layers = 8;
  return config;
}

// The stack's input is used a second time beside the stack, so that its gradient has collected
// something when the first layer's arrives.
Pass run_stack(const StackVariant& variant, bool recompute) {
  ParameterStore store;
  const LayerStack stack(store.root(), stack_config(variant));
  store.allocate(variant.dtype, 3);
  store.clear_gradients();
  Tape tape(9);
  const TapeScope scope(tape);
  const CheckpointScope layers(recompute);
  Tensor x = noise({4, 24, 32}, 1, variant.dtype);
  Tensor memory = variant.memory ? noise({4, 10, 32}, 2, variant.dtype) : Tensor();
  tape.watch(x);
  if (variant.memory) {
    tape.watch(memory);
  }
  const size_t before = Arena::global().live_bytes();
  Arena::global().reset_peak();
  Pass pass;
  {
    const Tensor y = stack(x, {.causal = true}, {.vectors = memory});
    const Tensor both = add(y, square(x));
    pass.y = y.to_vector();
    tape.backward(both, noise({4, 24, 32}, 3, variant.dtype));
  }
  pass.peak = Arena::global().peak_bytes() - before;
  store.finish_gradients();
  pass.gradients = store.gradients().to_vector();
  pass.dx = x.slot()->grad.to_vector();
  if (variant.memory) {
    pass.dmemory = memory.slot()->grad.to_vector();
  }
  pass.draws = tape.draws();
  pass.blocks = layers.blocks();
  return pass;
}

class CheckpointLayers : public ::testing::TestWithParam<StackVariant> {};

TEST_P(CheckpointLayers, GiveTheSameBitsWithLessMemory) {
  const Pass kept = run_stack(GetParam(), false);
  const Pass again = run_stack(GetParam(), true);
  EXPECT_EQ(kept.blocks, 0);
  EXPECT_EQ(again.blocks, 8);
  EXPECT_EQ(kept.y, again.y);
  EXPECT_EQ(kept.draws, again.draws);
  EXPECT_TRUE(kept.gradients == again.gradients);
  EXPECT_TRUE(kept.dx == again.dx);
  EXPECT_TRUE(kept.dmemory == again.dmemory);
  EXPECT_LT(static_cast<double>(again.peak), 0.6 * static_cast<double>(kept.peak));
}

INSTANTIATE_TEST_SUITE_P(Variants, CheckpointLayers,
                         ::testing::Values(StackVariant{DType::f32, true, false},
                                           StackVariant{DType::bf16, true, false},
                                           StackVariant{DType::bf16, false, false},
                                           StackVariant{DType::f32, false, true},
                                           StackVariant{DType::bf16, true, true}),
                         [](const auto& info) {
                           return std::string(name_of(info.param.dtype)) +
                                  (info.param.pre_norm ? "_pre_norm" : "_post_norm") +
                                  (info.param.memory ? "_memory" : "");
                         });

// Two outputs of which one is not used, an input that wants no gradient and one that is not there.
TEST(CheckpointAll, KeepsToWhatIsWanted) {
  const auto block = [](const std::vector<Tensor>& in) {
    EXPECT_FALSE(in[2].defined());
    return std::vector<Tensor>{mul(in[0], in[1]), Tensor(), square(in[0])};
  };
  Tape tape(1);
  const TapeScope scope(tape);
  Tensor x = Tensor::from(std::vector<float>{2, 3}, {2});
  tape.watch(x);
  const Tensor constant = Tensor::from(std::vector<float>{5, 7}, {2});
  const std::vector<Tensor> outputs = checkpoint_all(block, {x, constant, Tensor()});
  ASSERT_EQ(outputs.size(), 3U);
  EXPECT_FALSE(outputs[1].defined());
  EXPECT_EQ(outputs[2].to_vector(), (std::vector<float>{4, 9}));
  tape.backward(sum(outputs[0]));
  EXPECT_EQ(x.slot()->grad.to_vector(), (std::vector<float>{5, 7}));
}

// The same tensor twice: both contributions count.
TEST(CheckpointAll, AddsUpWhatOneTensorGetsTwice) {
  Tape tape(1);
  const TapeScope scope(tape);
  Tensor x = Tensor::from(std::vector<float>{2, 3}, {2});
  tape.watch(x);
  const auto block = [](const std::vector<Tensor>& in) {
    return std::vector<Tensor>{mul(in[0], in[1])};
  };
  tape.backward(sum(checkpoint_all(block, {x, x}).front()));
  EXPECT_EQ(x.slot()->grad.to_vector(), (std::vector<float>{4, 6}));
}

TEST(CheckpointScope, AsksOnlyATapeThatRecords) {
  const CheckpointScope wanted;
  EXPECT_FALSE(CheckpointScope::asks());  // inference
  Tape tape(1);
  const TapeScope scope(tape);
  EXPECT_TRUE(CheckpointScope::asks());
  {
    const CheckpointScope not_here(false);
    EXPECT_FALSE(CheckpointScope::asks());
  }
  const PauseScope pause(&tape);
  EXPECT_FALSE(CheckpointScope::asks());
  EXPECT_EQ(wanted.blocks(), 1);
}

}  // namespace
}  // namespace heed::testing
