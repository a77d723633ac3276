// A Transformer with proposals: what it says itself is what the Transformer without them says, and
// its heads agree with each other however they are asked.
#include "models/translation/blockwise_transformer.h"

#include <gtest/gtest.h>

#include "kernels/matmul/matmul.h"
#include "support/error_of.h"
#include "support/op_case.h"
#include "support/seq2seq_check.h"

namespace heed::testing {
namespace {

BlockwiseTransformerConfig tiny_blockwise() {
  BlockwiseTransformerConfig config;
  config.vocabulary = 20;
  config.width = 32;
  config.heads = 4;
  config.hidden = 48;
  config.encoder_layers = 1;
  config.decoder_layers = 2;
  config.dropout = config.attention_dropout = config.hidden_dropout = 0.0F;
  config.proposals.block = 4;
  return config;
}

struct Made {
  ParameterStore store;
  BlockwiseTransformer model;
  explicit Made(const BlockwiseTransformerConfig& config) : model(store.root(), config) {
    store.allocate(DType::f32, 2, ParameterStore::Use::batch_invariant);
  }
};

TEST(BlockwiseTransformer, SaysWhatTheTransformerSaysToTheBit) {
  const Made made(tiny_blockwise());
  ParameterStore store;
  const Transformer base(store.root(), tiny_blockwise());
  store.allocate(DType::f32, 2, ParameterStore::Use::batch_invariant);
  const Tensor ids = Tensor::from_ints(std::vector<int32_t>{1, 7, 3, 9, 4, 6}, {2, 3});
  Batch batch;
  batch.source = batch.input = ids;
  batch.source_lengths = batch.target_lengths = Tensor::from_ints(std::vector<int32_t>{3, 2}, {2});
  const std::vector<float> expected = base.logits(batch).to_vector();
  EXPECT_EQ(made.model.logits(batch).to_vector(), expected);
  EXPECT_EQ(made.model.propose(made.model.hidden(batch), 1).to_vector(), expected);
  expect_steps_equal_logits(made.model, {});
  expect_padding_changes_nothing(made.model, {});
}

TEST(BlockwiseTransformer, HeadsAreTheSameTogetherAndAlone) {
  const Made made(tiny_blockwise());
  const Tensor source = Tensor::from_ints(std::vector<int32_t>{5, 7, 3, 9, 4, 6}, {2, 3});
  const auto state =
      made.model.start(source, Tensor::from_ints(std::vector<int32_t>{3, 2}, {2}), 1);
  const std::vector<int64_t> one{1, 1};
  const Verified verified =
      made.model.verify(Tensor::from_ints(std::vector<int32_t>{1, 1}, {2, 1}), one, *state);
  const Tensor together = made.model.propose(verified.hidden);  // [2,3,V]
  ASSERT_EQ(together.shape(), (Shape{2, 3, 20}));
  const std::vector<float> all = together.to_vector();
  for (int64_t head = 2; head <= 4; ++head) {
    const kernels::RoughProducts rough;  // as all heads together are always computed
    const std::vector<float> alone = made.model.propose(verified.hidden, head).to_vector();
    for (int64_t row = 0; row < 2; ++row) {
      EXPECT_TRUE(std::equal(alone.begin() + row * 20, alone.begin() + row * 20 + 20,
                             all.begin() + (row * 3 + head - 2) * 20))
          << "head " << head << " row " << row;
    }
  }
  EXPECT_EQ(made.model.propose(verified.hidden, 1).to_vector(), verified.logits.to_vector());
  EXPECT_EQ(error_of([&] { made.model.propose(verified.hidden, 5); }),
            "[proposals] head 5, expected 1 to 4");
}

// So that `train.from` finds everything but the heads.
TEST(BlockwiseTransformer, HasTheParametersOfATransformerAndThoseOfItsHeads) {
  Made made(tiny_blockwise());
  ParameterStore base;
  const Transformer transformer(base.root(), tiny_blockwise());
  size_t shared = 0;
  for (const ParameterEntry& entry : made.store.entries()) {
    if (!entry.name.starts_with("blockwise.")) {
      EXPECT_EQ(base.find(entry.name).shape, entry.shape);
      ++shared;
    }
  }
  EXPECT_EQ(shared, base.entries().size());
  EXPECT_EQ(made.store.entries().size() - shared, 3U * 4U);
  EXPECT_EQ(made.store.find("blockwise.4.linear1.weight").shape, (Shape{48, 32}));
}

}  // namespace
}  // namespace heed::testing
