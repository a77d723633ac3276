// The separable convolution against plain loops, its gradients, and what padding may not do.
#include "nn/transition/separable_convolution.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "autograd/tape.h"
#include "base/random.h"
#include "nn/attention.h"
#include "nn/transformer.h"
#include "ops/reduce.h"
#include "ops/shape/shape.h"
#include "support/error_of.h"
#include "support/op_case.h"

namespace heed::testing {
namespace {

constexpr int64_t kWidth = 6;
constexpr int64_t kHidden = 10;

Tensor noise(const Shape& shape, uint64_t stream = 0) {
  const RandomStream random{3, stream};
  std::vector<float> values;
  for (int64_t i = 0; i < shape.size(); ++i) {
    values.push_back(2.0F * random.uniform(static_cast<uint64_t>(i)) - 1.0F);
  }
  return Tensor::from(values, shape);
}

struct Convolution {
  explicit Convolution(int64_t kernel, Activation activation = Activation::relu,
                       ParameterStore::Use use = ParameterStore::Use::inference)
      : mixer(store.root(),
              {.width = kWidth, .hidden = kHidden, .kernel = kernel, .activation = activation}) {
    store.allocate(DType::f32, 5, use);
  }
  std::vector<float> values(const char* name) { return store.find(name).compute.to_vector(); }

  ParameterStore store;
  SeparableConvolution mixer;
};

// x [T,C] -> [T,O]: column by column over the positions, then over the columns.
std::vector<double> separable(const std::vector<double>& x, const std::vector<float>& depthwise,
                              const std::vector<float>& weight, int64_t left) {
  const auto width = static_cast<int64_t>(depthwise.size() / 3);
  const auto steps = std::ssize(x) / width;
  const auto outputs = std::ssize(weight) / width;
  const auto at = [&](int64_t t, int64_t c) {
    return t < 0 || t >= steps ? 0.0 : x[static_cast<size_t>(t * width + c)];
  };
  std::vector<double> y;
  for (int64_t t = 0; t < steps; ++t) {
    for (int64_t o = 0; o < outputs; ++o) {
      double sum = 0.0;
      for (int64_t c = 0; c < width; ++c) {
        double near = 0.0;
        for (int64_t k = 0; k < 3; ++k) {
          near += depthwise[static_cast<size_t>(k * width + c)] * at(t + k - left, c);
        }
        sum += near * weight[static_cast<size_t>(o * width + c)];
      }
      y.push_back(sum);
    }
  }
  return y;
}

// The biases are zero in the beginning.
TEST(SeparableConvolution, EqualsPlainLoops) {
  Convolution made(3);
  const Tensor x = noise({1, 7, kWidth});
  for (const bool causal : {true, false}) {
    const int64_t left = causal ? 2 : 1;
    std::vector<double> h = separable(to_array(x).values, made.values("depthwise1"),
                                      made.values("pointwise1.weight"), left);
    for (double& value : h) {
      value = std::max(value, 0.0);
    }
    const std::vector<double> expected =
        separable(h, made.values("depthwise2"), made.values("pointwise2.weight"), left);
    const Tensor found = made.mixer(x, {.causal = causal}).y;
    EXPECT_LT(error_between(to_array(found), {{1, 7, kWidth}, expected}), 1e-5) << causal;
  }
}

// Also not where a bias makes something of nothing.
TEST(SeparableConvolution, PaddingDoesNotLeak) {
  Convolution made(4);
  for (ParameterEntry& entry : made.store.entries()) {
    if (entry.name.ends_with("bias")) {
      std::fill_n(entry.compute.data<float>(), entry.compute.size(), 0.5F);
    }
  }
  const Tensor x = noise({1, 5, kWidth});
  const Tensor alone = made.mixer(x, {}).y;
  const Tensor padded = concat({x, noise({1, 3, kWidth}, 9)}, 1);
  const std::vector<int32_t> length{5};
  const Tensor found = made.mixer(padded, {.lengths = Tensor::from_ints(length, {1})}).y;
  EXPECT_EQ(slice(found, 1, 0, 5).to_vector(), alone.to_vector());
  EXPECT_NE(slice(made.mixer(padded, {}).y, 1, 0, 5).to_vector(), alone.to_vector());
}

// dL/dp by differences of the loss, for a few elements of every parameter and of x. GELU has no
// corners that a difference could step over.
TEST(SeparableConvolution, Gradients) {
  Convolution made(3, Activation::gelu, ParameterStore::Use::training);
  Tensor x = noise({2, 5, kWidth});
  const Tensor weights = noise({2, 5, kWidth}, 4);
  const std::vector<int32_t> lengths{5, 3};
  const MixerContext context{.lengths = Tensor::from_ints(lengths, {2})};
  const auto loss = [&] { return sum(mul(made.mixer(x, context).y, weights)); };
  Tape tape(1);
  {
    const TapeScope scope(tape);
    tape.watch(x);
    tape.backward(loss());
  }
  const auto expect_gradient = [&](const Tensor& value, const Tensor& gradient,
                                   const std::string& name) {
    constexpr float kStep = 1e-2F;
    for (int64_t i = 0; i < value.size(); i += 3) {
      float& element = value.data<float>()[i];
      const float before = element;
      element = before + kStep;
      const float above = loss().item();
      element = before - kStep;
      const float below = loss().item();
      element = before;
      EXPECT_NEAR(gradient.data<float>()[i], (above - below) / (2 * kStep), 2e-2)
          << name << " " << i;
    }
  };
  expect_gradient(x, x.slot()->grad, "x");
  for (const ParameterEntry& entry : made.store.entries()) {
    expect_gradient(entry.value, entry.slot.grad, entry.name);
  }
}

TEST(SeparableConvolution, RefusesWhatItCannotHeed) {
  const Convolution made(3);
  const Tensor x = noise({1, 4, kWidth});
  EXPECT_EQ(error_of([&] { made.mixer(x, {.causal = true, .window = 2}); }),
            "[separable convolution] it sees its kernel, expected no window and no mask");
  EXPECT_EQ(error_of([] { const Convolution narrow(1); }),
            "[separable convolution] the kernel sees 1 positions, expected 2 or more");
}

// A layer keeps what both its parts need; rows leave and come, and positions are taken back.
TEST(SeparableConvolution, AsTheTransitionOfALayer) {
  ParameterStore store;
  const TransformerLayer layer(
      store.root(), {.width = kWidth,
                     .mixer = mixer<SelfAttention>({.width = kWidth, .heads = 2}),
                     .transition = mixer<SeparableConvolution>({.width = kWidth, .hidden = 8}),
                     .pre_norm = true});
  store.allocate(DType::f32, 5, ParameterStore::Use::inference);
  EXPECT_EQ(store.find("transition.depthwise1").shape, (Shape{3, kWidth}));
  const Tensor x = noise({2, 9, kWidth});
  const Array whole = to_array(layer({x, Tensor()}, {.self = {.causal = true}}).branch);
  const auto cache = layer.make_cache({.rows = 2});
  std::vector<int64_t> rows{0, 1};
  const auto expect_next = [&](int64_t begin, int64_t steps) {
    std::vector<Tensor> parts;
    for (const int64_t row : rows) {
      parts.push_back(slice(x.rows(row, row + 1), 1, begin, begin + steps));
    }
    const Array next = to_array(
        layer({concat(parts, 0), Tensor()}, {.self = {.causal = true, .caches = {cache.get()}}})
            .branch);
    for (size_t i = 0; i < next.values.size(); ++i) {
      const auto each = static_cast<size_t>(steps * kWidth);
      const auto row = static_cast<size_t>(rows[i / each]);
      const size_t at = row * 9 * kWidth + static_cast<size_t>(begin * kWidth) + i % each;
      EXPECT_NEAR(next.values[i], whole.values[at], 1e-5) << "from " << begin;
    }
  };
  expect_next(0, 3);
  expect_next(3, 3);
  cache->roll_back(std::vector<int64_t>{2, 2});
  expect_next(4, 1);
  rows = {1, 0, 1};
  cache->select(rows);
  for (int64_t t = 5; t < 9; ++t) {
    expect_next(t, 1);
  }
  EXPECT_GT(cache->bytes(), 0U);
  EXPECT_EQ(error_of([&] { cache->join(SeparableCache()); }),
            "[mixer] the cache is another mixer's");
}

}  // namespace
}  // namespace heed::testing
