// Attention with a memory of segments: what is remembered, and that no gradient flows into it.
#include "nn/segment/segment_attention.h"

#include <gtest/gtest.h>

#include <cmath>

#include "autograd/tape.h"
#include "base/random.h"
#include "ops/shape/shape.h"
#include "support/error_of.h"
#include "support/op_case.h"

namespace heed::testing {
namespace {

constexpr int64_t kWidth = 16;
constexpr int64_t kHeads = 2;

Tensor noise(const Shape& shape, uint64_t stream) {
  const RandomStream random{11, stream};
  std::vector<float> values;
  for (int64_t i = 0; i < shape.size(); ++i) {
    values.push_back(2.0F * random.uniform(static_cast<uint64_t>(i)) - 1.0F);
  }
  return Tensor::from(values, shape);
}

SegmentAttentionConfig config(int64_t most_distance = 0) {
  return {.width = kWidth,
          .heads = kHeads,
          .distances = std::make_shared<const Distances>(kWidth),
          .most_distance = most_distance};
}

// With biases that are not zero.
struct Made {
  ParameterStore store;
  SegmentAttention attention;
  explicit Made(int64_t most_distance = 0) : attention(store.root(), config(most_distance)) {
    store.allocate(DType::f32, 5);
    for (const char* name : {"content_bias", "position_bias"}) {
      Tensor value = store.find(name).value;
      for (int64_t i = 0; i < kWidth; ++i) {
        value.data<float>()[i] = std::sin(static_cast<float>(i) + (name[0] == 'c' ? 0.0F : 2.0F));
      }
    }
  }
};

// The formula of the paper, one logit at a time.
std::vector<double> by_the_paper(const Made& made, const Tensor& x, int64_t most_distance) {
  const int64_t length = x.dim(1);
  const int64_t dim = kWidth / kHeads;
  auto& store = const_cast<ParameterStore&>(made.store);
  const auto row = [&](const char* name, int64_t r) {
    return store.find(name).value.data<float>() + r * kWidth;
  };
  const auto project = [&](const char* name, int64_t first, const float* from) {
    std::vector<double> to(kWidth);
    for (int64_t o = 0; o < kWidth; ++o) {
      for (int64_t i = 0; i < kWidth; ++i) {
        to[static_cast<size_t>(o)] += static_cast<double>(row(name, first + o)[i]) * from[i];
      }
    }
    return to;
  };
  const Tensor sinusoids = Distances(kWidth).last(length);
  std::vector<double> mixed(static_cast<size_t>(length * kWidth));
  for (int64_t i = 0; i < length; ++i) {
    const auto q = project("q.weight", 0, x.data<float>() + i * kWidth);
    for (int64_t h = 0; h < kHeads; ++h) {
      std::vector<double> weights;
      double total = 0.0;
      for (int64_t j = 0; j <= i; ++j) {
        const int64_t distance = most_distance > 0 ? std::min(i - j, most_distance) : i - j;
        const auto k = project("kv.weight", 0, x.data<float>() + j * kWidth);
        const auto r = project("relative.weight", 0,
                               sinusoids.data<float>() + (length - 1 - distance) * kWidth);
        double logit = 0.0;
        for (int64_t d = h * dim; d < (h + 1) * dim; ++d) {
          const auto at = static_cast<size_t>(d);
          logit += (q[at] + row("content_bias", 0)[d]) * k[at];
          logit += (q[at] + row("position_bias", 0)[d]) * r[at];
        }
        weights.push_back(std::exp(logit / std::sqrt(static_cast<double>(dim))));
        total += weights.back();
      }
      for (int64_t j = 0; j <= i; ++j) {
        const auto v = project("kv.weight", kWidth, x.data<float>() + j * kWidth);
        for (int64_t d = h * dim; d < (h + 1) * dim; ++d) {
          mixed[static_cast<size_t>(i * kWidth + d)] +=
              weights[static_cast<size_t>(j)] / total * v[static_cast<size_t>(d)];
        }
      }
    }
  }
  std::vector<double> y;
  for (int64_t i = 0; i < length; ++i) {
    const std::vector<float> one(mixed.begin() + i * kWidth, mixed.begin() + (i + 1) * kWidth);
    const auto out = project("out.weight", 0, one.data());
    y.insert(y.end(), out.begin(), out.end());
  }
  return y;
}

TEST(SegmentAttention, IsTheFormulaOfThePaper) {
  for (const int64_t most : {0, 3}) {
    const Made made(most);
    const Tensor x = noise({1, 9, kWidth}, 1);
    const Array found = to_array(made.attention(x, {.causal = true}).y);
    EXPECT_LT(error_between(found, Array{found.shape, by_the_paper(made, x, most)}), 1e-5) << most;
  }
}

// A segment behind its memory gets what it gets as the end of one long sequence; the weights learn
// the same, and the memory gets no gradient.
TEST(SegmentAttention, AMemoryIsOneLongPassWithTheGradientStopped) {
  const Made made;
  const Tensor first = noise({2, 7, kWidth}, 1);
  const Tensor second = noise({2, 5, kWidth}, 2);
  const Tensor dy = noise({2, 5, kWidth}, 3);
  struct Pass {
    Array y, dx;
    std::vector<float> gradients;
  };
  const auto pass = [&](bool remembered) {
    auto& store = const_cast<ParameterStore&>(made.store);
    store.clear_gradients();
    Tape tape;
    const TapeScope scope(tape);
    Tensor x = second.clone();
    tape.watch(x);
    Tensor y;
    if (remembered) {
      SegmentMemory memory;
      memory.most = 10;
      memory.extend(first);
      EXPECT_EQ(memory.states.shape(), (Shape{2, 7, kWidth}));
      y = made.attention(x, {.causal = true, .caches = {&memory}}).y;
      EXPECT_EQ(memory.states.shape(), (Shape{2, 10, kWidth}));
      EXPECT_EQ(memory.states.slot(), nullptr);
      EXPECT_EQ(to_array(slice(memory.states, 1, 5, 10)).values, to_array(second).values);
      EXPECT_EQ(to_array(slice(memory.states, 1, 0, 5)).values,
                to_array(slice(first, 1, 2, 7)).values);
    } else {
      y = slice(made.attention(concat({first, x}, 1), {.causal = true}).y, 1, 7, 12);
    }
    tape.backward(y, dy);
    store.finish_gradients();
    return Pass{to_array(y), to_array(x.slot()->grad), store.gradients().to_vector()};
  };
  const Pass whole = pass(false);
  const Pass parts = pass(true);
  EXPECT_LT(error_between(parts.y, whole.y), 1e-5);
  EXPECT_LT(error_between(parts.dx, whole.dx), 1e-5);
  for (size_t i = 0; i < whole.gradients.size(); ++i) {
    ASSERT_NEAR(parts.gradients[i], whole.gradients[i], 1e-4) << i;
  }
}

TEST(SegmentAttention, RefusesWhatItCannotHeed) {
  const Made made;
  const Tensor x = noise({1, 4, kWidth}, 1);
  EXPECT_EQ(error_of([&] { made.attention(x, {}); }),
            "[segment attention] it is for causal attention");
  SegmentMemory memory;
  memory.most = 3;
  memory.extend(x);
  EXPECT_EQ(error_of([&] {
              memory.extend(noise({2, 4, kWidth}, 1));
            }),
            "[segment attention] a memory [1,3,16] for a segment [2,4,16]");
  EXPECT_EQ(error_of([&] { memory.roll_back(std::vector<int64_t>{1}); }),
            "[segment attention] a memory of segments takes nothing back");
  memory.select(std::vector<int64_t>{0, 0});
  EXPECT_EQ(memory.states.dim(0), 2);
  SegmentMemory other;
  other.most = 3;
  other.extend(x);
  memory.join(other);
  EXPECT_EQ(memory.states.shape(), (Shape{3, 3, kWidth}));
  EXPECT_EQ(memory.bytes(), 3U * 3U * kWidth * sizeof(float));
}

}  // namespace
}  // namespace heed::testing
