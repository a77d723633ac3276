#include "models/translation/latent_transformer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ops/shape/shape.h"
#include "support/error_of.h"
#include "support/op_case.h"
#include "support/seq2seq_check.h"

namespace heed::testing {
namespace {

LatentTransformerConfig tiny(const std::string& bottleneck = "semantic_hash", int64_t slices = 1) {
  LatentTransformerConfig config;
  config.vocabulary = 20;
  config.width = 16;
  config.heads = 2;
  config.hidden = 24;
  config.encoder_layers = 1;
  config.decoder_layers = 1;
  config.dropout = 0.0F;
  config.attention_dropout = 0.0F;
  config.hidden_dropout = 0.0F;
  config.shorten = 4;
  config.predictor_layers = 2;
  config.bottleneck = bottleneck;
  config.codes = 16;
  config.slices = slices;
  return config;
}

Tensor ints(const std::vector<int32_t>& values, const Shape& shape) {
  return Tensor::from_ints(values, shape);
}

// Targets of 5 and 9 tokens with END, 2, padded to `width`.
Batch batch_of(int64_t width) {
  const std::vector<std::vector<int32_t>> rows{{5, 6, 7, 8, 2}, {9, 8, 7, 6, 5, 4, 3, 9, 2}};
  std::vector<int32_t> target;
  for (const std::vector<int32_t>& row : rows) {
    target.insert(target.end(), row.begin(), row.end());
    target.resize(target.size() + static_cast<size_t>(width) - row.size(), kIgnore);
  }
  Batch batch;
  batch.source = ints({4, 5, 6, 7, 8, 9}, {2, 3});
  batch.source_lengths = ints({3, 2}, {2});
  batch.target = ints(target, {2, width});
  batch.target_lengths = ints({5, 9}, {2});
  return batch;
}

TEST(LatentTransformer, TeachesTokensAndCodes) {
  for (const int64_t slices : {1, 2}) {
    ParameterStore store;
    const LatentTransformer model(store.root(), tiny("semantic_hash", slices));
    store.allocate(DType::f32, 3, ParameterStore::Use::inference);
    const LatentModel::Taught taught = model.teach(batch_of(10), {});
    EXPECT_EQ(taught.logits.shape(), (Shape{2, 10, 20}));
    EXPECT_EQ(taught.latents.codes.shape(), (Shape{5, slices}));  // 2 latents, and 3
    EXPECT_EQ(taught.code_logits.shape(), (Shape{2, 4, slices, 17}));
    ASSERT_EQ(taught.code_targets.shape(), (Shape{2, 4, slices}));
    // The codes, then the end in the first slice, then nothing.
    const std::span<const int32_t> targets = taught.code_targets.span<int32_t>();
    const std::span<const int32_t> codes = taught.latents.codes.span<int32_t>();
    const auto n = static_cast<size_t>(slices);
    std::vector<int32_t> expected(codes.begin(), codes.begin() + slices * 2);
    expected.push_back(16);
    expected.resize(4 * n, kIgnore);
    expected.insert(expected.end(), codes.begin() + slices * 2, codes.end());
    expected.push_back(16);
    expected.resize(8 * n, kIgnore);
    EXPECT_TRUE(std::equal(targets.begin(), targets.end(), expected.begin(), expected.end()));
  }
}

// What is taught is what decoding says of the same codes.
TEST(LatentTransformer, SaysTheSameOfGivenCodes) {
  for (const char* bottleneck : {"semantic_hash", "vector_quantiser", "gumbel_softmax"}) {
    SCOPED_TRACE(bottleneck);
    ParameterStore store;
    const LatentTransformer model(store.root(), tiny(bottleneck, 2));
    store.allocate(DType::f32, 3, ParameterStore::Use::inference);
    const Batch batch = batch_of(12);
    const LatentModel::Taught taught = model.teach(batch, {});
    const LatentModel::Encoded sources = model.encode(batch.source, batch.source_lengths);
    Tensor codes = Tensor::zeros({2, 3, 2}, DType::i32);
    const int32_t* found = taught.latents.codes.data<int32_t>();
    std::copy_n(found, 4, codes.data<int32_t>());
    std::copy_n(found + 4, 6, codes.data<int32_t>() + 6);
    const Tensor logits = model.logits(codes, ints({2, 3}, {2}), sources);
    const std::vector<float> a = logits.to_vector();
    const std::vector<float> b = taught.logits.to_vector();
    for (size_t i = 0; i < 8 * 20; ++i) {  // the first row has two latents
      EXPECT_NEAR(a[i], b[i], 1e-4F);
    }
    for (size_t i = 12 * 20; i < 24 * 20; ++i) {
      EXPECT_NEAR(a[i], b[i], 1e-4F);
    }
  }
}

TEST(LatentTransformer, PaddingChangesNothing) {
  ParameterStore store;
  const LatentTransformer model(store.root(), tiny());
  store.allocate(DType::f32, 3, ParameterStore::Use::inference);
  const LatentModel::Taught narrow = model.teach(batch_of(9), {});
  const LatentModel::Taught wide = model.teach(batch_of(16), {});
  EXPECT_EQ(narrow.latents.codes.to_vector(), wide.latents.codes.to_vector());
  const Tensor cut = slice(wide.logits, 1, 0, 9);
  const std::vector<float> a = narrow.logits.to_vector();
  const std::vector<float> b = cut.to_vector();
  for (size_t row = 0; row < 2; ++row) {
    for (size_t i = row * 9 * 20; i < (row * 9 + (row == 0 ? 5 : 9)) * 20; ++i) {
      EXPECT_NEAR(a[i], b[i], 1e-4F);
    }
  }
}

// The prior without END, whose logit is -inf where it cannot come: the checks compare numbers.
class WithoutEnd : public Seq2SeqModel {
 public:
  WithoutEnd(const LatentTransformer& model, const Tensor& source, const Tensor& lengths)
      : model_(model), prior_(model.prior(model.encode(source, lengths))) {}

  // The sources of the batch, as start() would get them.
  Tensor logits(const Batch& batch) const override {
    const auto prior = model_.prior(model_.encode(batch.source, batch.source_lengths));
    return codes_of(prior->logits(batch));
  }
  std::unique_ptr<DecodeState> start(const Tensor& source, const Tensor& lengths,
                                     int64_t beam) const override {
    prior_ = model_.prior(model_.encode(source, lengths));
    return prior_->start(source, lengths, beam);
  }
  Tensor step(const Tensor& tokens, DecodeState& state) const override {
    return codes_of(prior_->step(tokens, state));
  }
  void select(DecodeState& state, std::span<const int64_t> sources,
              std::span<const int64_t> rows) const override {
    prior_->select(state, sources, rows);
  }
  int64_t target_vocabulary() const override { return prior_->target_vocabulary(); }

 private:
  static Tensor codes_of(const Tensor& logits) { return slice(logits, -1, 0, logits.dim(-1) - 1); }

  const LatentTransformer& model_;
  mutable std::unique_ptr<Seq2SeqModel> prior_;
};

class LatentPriorTest : public ::testing::TestWithParam<int64_t> {};

TEST_P(LatentPriorTest, CachedStepsEqualTeacherForcing) {
  ParameterStore store;
  const LatentTransformer model(store.root(), tiny("semantic_hash", GetParam()));
  store.allocate(DType::f32, 2, ParameterStore::Use::inference);
  const WithoutEnd prior(model, ints({4}, {1, 1}), ints({1}, {1}));
  expect_steps_equal_logits(prior, {.source = 20, .target = 16});
  expect_padding_changes_nothing(prior, {.source = 20, .target = 16});
}

INSTANTIATE_TEST_SUITE_P(Slices, LatentPriorTest, ::testing::Values(1, 2, 3));

// There is a latent at least, and the end comes between two latents alone.
TEST(LatentPrior, EndsBetweenLatents) {
  ParameterStore store;
  const LatentTransformer model(store.root(), tiny("semantic_hash", 2));
  store.allocate(DType::f32, 2, ParameterStore::Use::inference);
  const Tensor source = ints({4, 5}, {1, 2});
  const Tensor lengths = ints({2}, {1});
  const auto prior = model.prior(model.encode(source, lengths));
  const auto state = prior->start(source, lengths, 1);
  const Tensor code = ints({3}, {1});
  for (const bool may_end : {false, false, true, false, true, false}) {
    const Tensor logits = prior->step(code, *state);
    EXPECT_EQ(std::isfinite(logits.to_vector()[16]), may_end);
  }
  EXPECT_EQ(error_of([&] {
              prior->start(ints({4, 5}, {2, 1}), ints({1, 1}, {2}), 1);
            }),
            "[latent prior] 2 sources, expected the 1 that were encoded");
}

TEST(LatentTransformer, NamesWhatIsWrong) {
  const auto make = [](const LatentTransformerConfig& config) {
    ParameterStore store;
    const LatentTransformer model(store.root(), config);
  };
  LatentTransformerConfig config = tiny();
  config.shorten = 6;
  EXPECT_EQ(error_of([&] { make(config); }),
            "[latent_transformer] shorten is 6, expected a power of two");
  config = tiny();
  config.positions = "relative";
  EXPECT_EQ(error_of([&] { make(config); }),
            "[latent_transformer] residual is true, timing_every_layer false and positions "
            "relative, expected true, false and any but relative");
}

}  // namespace
}  // namespace heed::testing
