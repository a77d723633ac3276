// Bands of rarer words: probabilities, and that the loss and its gradients are theirs although it
// computes only a part of them.
#include "nn/adaptive/adaptive_vocabulary.h"

#include <gtest/gtest.h>

#include <cmath>

#include "autograd/tape.h"
#include "base/random.h"
#include "ops/loss/cross_entropy.h"
#include "support/error_of.h"
#include "support/op_case.h"

namespace heed::testing {
namespace {

constexpr int64_t kWidth = 12;
constexpr int64_t kWords = 23;

AdaptiveConfig bands(bool tied = true) {
  return {.vocabulary = kWords,
          .width = kWidth,
          .cutoffs = {5, 11},
          .shrink = 2,
          .tied = tied,
          .standard_deviation = 0.5F};
}

Tensor noise(const Shape& shape) {
  const RandomStream random{3, 1};
  std::vector<float> values;
  for (int64_t i = 0; i < shape.size(); ++i) {
    values.push_back(2.0F * random.uniform(static_cast<uint64_t>(i)) - 1.0F);
  }
  return Tensor::from(values, shape);
}

struct Made {
  ParameterStore store;
  AdaptiveVocabulary vocabulary;
  explicit Made(const AdaptiveConfig& config) : vocabulary(store.root(), config) {
    store.allocate(DType::f32, 5);
  }
};

// Every band, one of them twice, and what does not count.
const std::vector<int32_t> kTargets{0, 22, 4, 5, kIgnore, 10, 11, 5};

TEST(AdaptiveVocabulary, ProbabilitiesAddUpToOne) {
  const Made made(bands());
  const Array log_p = to_array(made.vocabulary.log_probabilities(noise({2, 3, kWidth})));
  ASSERT_EQ(log_p.shape, (Shape{2, 3, kWords}));
  for (size_t row = 0; row < 6; ++row) {
    double total = 0.0;
    for (size_t word = 0; word < kWords; ++word) {
      total += std::exp(log_p.values[row * kWords + word]);
    }
    EXPECT_NEAR(total, 1.0, 1e-5);
  }
}

TEST(AdaptiveVocabulary, TheLossIsThatOfAllProbabilities) {
  for (const bool tied : {true, false}) {
    Made made(bands(tied));
    const Tensor targets = Tensor::from_ints(kTargets, {2, 4});
    struct Pass {
      float loss;
      Array dx;
      std::vector<float> gradients;
    };
    const auto pass = [&](bool whole) {
      made.store.clear_gradients();
      Tape tape;
      const TapeScope scope(tape);
      Tensor x = noise({2, 4, kWidth});
      tape.watch(x);
      const Tensor loss = whole ? cross_entropy(made.vocabulary.log_probabilities(x), targets)
                                : made.vocabulary.loss(x, targets);
      const float value = loss.item();
      tape.backward(loss);
      made.store.finish_gradients();
      return Pass{value, to_array(x.slot()->grad), made.store.gradients().to_vector()};
    };
    const Pass all = pass(true);
    const Pass part = pass(false);
    EXPECT_NEAR(part.loss, all.loss, 1e-5);
    EXPECT_LT(error_between(part.dx, all.dx), 1e-5);
    for (size_t i = 0; i < all.gradients.size(); ++i) {
      ASSERT_NEAR(part.gradients[i], all.gradients[i], 1e-5) << i << (tied ? " tied" : " apart");
    }
  }
}

// A word's vector does not depend on the others, and each gets the gradient of its own.
TEST(AdaptiveVocabulary, EmbedsEachWordByItself) {
  Made made(bands());
  const std::vector<int32_t> tokens{22, 3, 11, 5, 0, 22};
  Tape tape;
  const TapeScope scope(tape);
  const Tensor all = made.vocabulary.embed(Tensor::from_ints(tokens, {2, 3}));
  ASSERT_EQ(all.shape(), (Shape{2, 3, kWidth}));
  const std::vector<double> values = to_array(all).values;
  for (int64_t i = 0; i < 6; ++i) {
    const Array one = to_array(
        made.vocabulary.embed(Tensor::from_ints({&tokens[static_cast<size_t>(i)], 1}, {1})));
    const auto row = values.begin() + i * kWidth;
    const std::vector<double> found(row, row + kWidth);
    EXPECT_LT(error_between(one, Array{one.shape, found}), 1e-6) << i;
  }
  tape.backward(all, noise(all.shape()));
  made.store.finish_gradients();
  const auto learns = [&](const char* name, int64_t row) {
    const Tensor& grad = made.store.find(name).slot.grad;
    const float* values = grad.data<float>() + row * grad.dim(1);
    return std::any_of(values, values + grad.dim(1), [](float v) { return v != 0.0F; });
  };
  EXPECT_TRUE(learns("0.weight", 0) && learns("0.weight", 3) && !learns("0.weight", 1));
  EXPECT_TRUE(learns("1.weight", 0) && !learns("1.weight", 1));
  EXPECT_TRUE(learns("2.weight", 0) && learns("2.weight", 11) && !learns("2.weight", 5));
  EXPECT_EQ(made.store.find("2.weight").shape, (Shape{12, 3}));
}

TEST(AdaptiveVocabulary, SaysWhatIsWrong) {
  ParameterStore store;
  AdaptiveConfig config = bands();
  config.cutoffs = {5, 23};
  EXPECT_EQ(error_of([&] { AdaptiveVocabulary(store.root(), config); }),
            "[adaptive vocabulary] a band begins at 23, expected 6 to 22: cutoffs rise, and are "
            "smaller than the vocabulary");
  config.cutoffs = {};
  EXPECT_EQ(error_of([&] { AdaptiveVocabulary(store.root() / "none", config); }),
            "[adaptive vocabulary] 0 cutoffs and a shrink of 2, expected at least 1 of each");
  const Made made(bands());
  const std::vector<int32_t> wrong{23};
  EXPECT_EQ(error_of([&] { made.vocabulary.embed(Tensor::from_ints(wrong, {1})); }),
            "[adaptive vocabulary] token 23, expected 0 to 22");
}

}  // namespace
}  // namespace heed::testing
