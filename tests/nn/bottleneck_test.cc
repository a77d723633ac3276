// What every bottleneck promises, and how the code book of vector quantisation learns.
#include "nn/bottleneck/bottleneck.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "autograd/tape.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "support/error_of.h"
#include "support/op_case.h"
#include "train/optimizer.h"

namespace heed::testing {
namespace {

constexpr int64_t kWidth = 12;

Tensor latents(int64_t rows, uint64_t stream = 1) {
  const RandomStream random{17, stream};
  std::vector<float> values;
  for (int64_t i = 0; i < rows * kWidth; ++i) {
    values.push_back(random.normal(static_cast<uint64_t>(i)));
  }
  return Tensor::from(values, {rows, kWidth});
}

struct Form {
  std::string name;
  BottleneckConfig config;
};

std::vector<Form> forms() {
  return {
      {"semantic_hash", {.bottleneck = "semantic_hash", .codes = 8}},
      {"semantic_hash_slices", {.bottleneck = "semantic_hash", .codes = 4, .slices = 3}},
      {"vector_quantiser", {.bottleneck = "vector_quantiser", .codes = 5}},
      {"sliced", {.bottleneck = "vector_quantiser", .codes = 5, .slices = 3}},
      {"projected", {.bottleneck = "vector_quantiser", .codes = 5, .slices = 2, .projected = true}},
      {"gumbel_softmax", {.bottleneck = "gumbel_softmax", .codes = 6, .slices = 2}}};
}

class BottleneckTest : public ::testing::TestWithParam<Form> {};

TEST_P(BottleneckTest, CodesStandForTheVectors) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    ParameterStore store;
    const auto bottleneck = make_bottleneck(store.root(), kWidth, GetParam().config);
    store.allocate(dtype, 3, ParameterStore::Use::inference);
    const Discrete result = (*bottleneck)(latents(9).to(dtype));
    EXPECT_EQ(result.y.shape(), (Shape{9, kWidth}));
    EXPECT_EQ(result.codes.shape(), (Shape{9, GetParam().config.slices}));
    for (const int32_t code : result.codes.span<int32_t>()) {
      EXPECT_GE(code, 0);
      EXPECT_LT(code, GetParam().config.codes);
    }
    const Tensor embedded = bottleneck->embed(result.codes);
    EXPECT_EQ(embedded.dtype(), dtype);
    EXPECT_LE(error_between(to_array(embedded), to_array(result.y)),
              dtype == DType::f32 ? 1e-5 : 0.02);
  }
}

TEST_P(BottleneckTest, EmbedsARowAloneWithTheSameBits) {
  ParameterStore store;
  const auto bottleneck = make_bottleneck(store.root(), kWidth, GetParam().config);
  store.allocate(DType::f32, 3, ParameterStore::Use::batch_invariant);
  const Tensor codes = (*bottleneck)(latents(9)).codes;
  const std::vector<float> all = bottleneck->embed(codes).to_vector();
  for (int64_t row = 0; row < 9; ++row) {
    const std::vector<float> alone = bottleneck->embed(codes.rows(row, row + 1)).to_vector();
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), all.begin() + row * kWidth));
  }
}

// Gradients reach the input and every trained parameter, however much is discrete.
TEST_P(BottleneckTest, GradientsPass) {
  for (const float discrete : {0.0F, 1.0F}) {
    ParameterStore store;
    const auto bottleneck = make_bottleneck(store.root(), kWidth, GetParam().config);
    store.allocate(DType::f32, 3);
    Tape tape(7);
    const TapeScope scope(tape);
    Tensor x = latents(16);
    tape.watch(x);
    const Tensor y = (*bottleneck)(x, discrete).y;
    tape.backward(sum(mul(y, latents(16, 2))));
    EXPECT_TRUE(x.slot()->written);
    store.finish_gradients();
    for (const ParameterEntry& entry : store.entries()) {
      const std::vector<float> gradient = entry.slot.grad.to_vector();
      const bool learns =
          std::any_of(gradient.begin(), gradient.end(), [](float g) { return g != 0.0F; });
      EXPECT_EQ(learns, entry.trained) << entry.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, BottleneckTest, ::testing::ValuesIn(forms()),
                         [](const auto& info) { return info.param.name; });

// A quantiser in training, of 4 codes for vectors of 2 elements.
struct TinyQuantiser {
  explicit TinyQuantiser(DType dtype = DType::f32) {
    bottleneck = make_bottleneck(store.root(), 2,
                                 {.bottleneck = "vector_quantiser",
                                  .codes = 4,
                                  .codebook_decay = 0.5F,
                                  .revive_below = 0.1F});
    store.allocate(dtype, 1);
  }
  void learn(const std::vector<float>& values, uint64_t stream = 0) {
    const Discrete pass = (*bottleneck)(Tensor::from(values, {std::ssize(values) / 2, 2}));
    bottleneck->learn({&pass, 1}, {9, stream});
  }
  std::vector<float> buffer(const char* name) { return store.find(name).value.to_vector(); }

  ParameterStore store;
  std::unique_ptr<Bottleneck> bottleneck;
};

TEST(VectorQuantiser, FollowsTheVectorsByMovingAverages) {
  TinyQuantiser quantiser;
  const auto set = [&](const char* name, const std::vector<float>& values) {
    std::copy(values.begin(), values.end(), quantiser.store.find(name).value.data<float>());
  };
  set("codebook", {0, 0, 10, 10, -10, -10, 10, -10});
  set("counts", {2, 2, 2, 2});
  set("sums", {0, 0, 20, 20, -20, -20, 20, -20});
  quantiser.learn({1, 1, 3, 1, 11, 9, -9, -9});
  // n = 2/2 + hits/2, m = m/2 + sum/2: code 0 has two hits, 1 and 2 one each, 3 none.
  EXPECT_EQ(quantiser.buffer("counts"), (std::vector<float>{2.0F, 1.5F, 1.5F, 1.0F}));
  EXPECT_EQ(quantiser.buffer("sums"),
            (std::vector<float>{2, 1, 15.5F, 14.5F, -14.5F, -14.5F, 10, -10}));
  const std::vector<float> codebook = quantiser.buffer("codebook");
  EXPECT_EQ(codebook[0], 1.0F);
  EXPECT_EQ(codebook[1], 0.5F);
  EXPECT_EQ(codebook[6], 10.0F);  // as before
}

TEST(VectorQuantiser, BeginsWithTheDataAndRevivesDeadCodes) {
  TinyQuantiser quantiser;
  quantiser.learn({100, 100, 101, 100, 100, 101, 101, 101});
  for (const float value : quantiser.buffer("codebook")) {
    EXPECT_GE(value, 99.0F);  // none is left where it was drawn
  }
  // All vectors are now near one code: the others die and move there.
  for (uint64_t step = 0; step < 40; ++step) {
    quantiser.learn({-5, 0, -5, 1, -6, 0, -6, 1}, step);
  }
  std::set<float> places;
  const std::vector<float> codebook = quantiser.buffer("codebook");
  for (size_t i = 0; i < codebook.size(); i += 2) {
    EXPECT_LE(codebook[i], -5.0F);
  }
}

TEST(VectorQuantiser, LearnsTheSameBitsFromTheSameNumbers) {
  TinyQuantiser a;
  TinyQuantiser b;
  TinyQuantiser c;
  const std::vector<float> values{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  a.learn(values, 4);
  b.learn(values, 4);
  c.learn(values, 5);
  EXPECT_EQ(a.buffer("codebook"), b.buffer("codebook"));
  EXPECT_NE(a.buffer("codebook"), c.buffer("codebook"));
}

// Neither gradients nor weight decay touch what is not trained; it is f32 beside bf16 matrices.
TEST(VectorQuantiser, KeepsItsCodebookFromTheOptimizer) {
  for (const char* kind : {"adam", "adamw", "sgd", "adafactor", "sm3"}) {
    SCOPED_TRACE(kind);
    TinyQuantiser quantiser(DType::bf16);
    EXPECT_EQ(quantiser.store.find("codebook").compute.dtype(), DType::f32);
    EXPECT_EQ(quantiser.store.find("out.weight").compute.dtype(), DType::bf16);
    const std::vector<float> before = quantiser.buffer("codebook");
    const auto optimizer = make_optimizer(
        quantiser.store, {.kind = kind, .weight_decay = 0.1F, .decay_vectors = true});
    quantiser.store.clear_gradients();
    optimizer->step(0.5F);
    EXPECT_EQ(quantiser.buffer("codebook"), before);
  }
}

TEST(Bottleneck, NamesWhatIsWrong) {
  const auto make = [](const BottleneckConfig& config) {
    ParameterStore store;
    make_bottleneck(store.root(), kWidth, config);
  };
  EXPECT_EQ(error_of([&] { make({.bottleneck = "semantic_hash", .codes = 12}); }),
            "[semantic_hash] there are 12 codes, expected a power of two");
  EXPECT_EQ(error_of([&] { make({.bottleneck = "vector_quantiser", .slices = 5}); }),
            "[vector_quantiser] 5 slices of a vector of 12 elements, expected a divisor");
  EXPECT_EQ(error_of([&] { make({.bottleneck = "jug"}); }),
            "[bottleneck] the kind is jug, expected semantic_hash, vector_quantiser or "
            "gumbel_softmax");
}

}  // namespace
}  // namespace heed::testing
