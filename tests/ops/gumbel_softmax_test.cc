#include "ops/bottleneck/gumbel_softmax.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "autograd/tape.h"
#include "kernels/bottleneck/noise.h"
#include "kernels/reference/softmax.h"
#include "support/error_of.h"
#include "support/op_case.h"

namespace heed::testing {
namespace {

// Values: one-hot in the rows that chance chose. Gradients: those of the softmax in all.
OpCase gumbel_case(const std::string& name, const Shape& shape,
                   const GumbelSoftmaxOptions& options) {
  const auto value = [=](const Array& x, bool hard) {
    const int64_t n = shape[-1];
    std::vector<double> noisy;
    for (int64_t i = 0; i < shape.size(); ++i) {
      const double g = static_cast<double>(
          kernels::noise_at(kernels::Noise::gumbel, {kCaseSeed, 0}, static_cast<uint64_t>(i)));
      noisy.push_back((x.values[static_cast<size_t>(i)] + static_cast<double>(options.noise) * g) /
                      static_cast<double>(options.temperature));
    }
    Array y{shape, reference::softmax<double>(noisy, n, 1, false)};
    for (int64_t row = 0; hard && row < shape.size() / n; ++row) {
      const bool chosen =
          RandomStream{kCaseSeed, 1}.uniform(static_cast<uint64_t>(row)) < options.discrete;
      const auto begin = y.values.begin() + row * n;
      const auto largest = std::max_element(begin, begin + n);
      for (auto at = begin; chosen && at != begin + n; ++at) {
        *at = at == largest ? 2.0 : 0.0;  // above all others until the loop is over
      }
      std::replace(begin, begin + n, 2.0, 1.0);
    }
    return std::vector<Array>{y};
  };
  return {.op = "gumbel_softmax",
          .name = name,
          .inputs = {{.shape = shape}},
          .run =
              [options](const std::vector<Tensor>& t) {
                return std::vector<Tensor>{gumbel_softmax(t[0], options)};
              },
          .reference = [value](const std::vector<Array>& a) { return value(a[0], true); },
          .surrogate = [value](const std::vector<Array>& a) { return value(a[0], false); }};
}

const bool kRegistered = add_cases({
    gumbel_case("hard", {4, 9}, {}),
    gumbel_case("soft", {2, 3, 5}, {.temperature = 0.5F, .discrete = 0.0F}),
    gumbel_case("some_rows", {8, 17}, {.temperature = 2.0F, .discrete = 0.5F}),
    gumbel_case("likeliest", {3, 4}, {.noise = 0.0F}),
});

TEST(GumbelSoftmax, TakesTheLikeliestWithoutATape) {
  const std::vector<float> x{1.0F, 3.0F, 2.0F, 0.0F, 0.0F, -1.0F};
  EXPECT_EQ(gumbel_softmax(Tensor::from(x, {2, 3})).to_vector(),
            (std::vector<float>{0, 1, 0, 1, 0, 0}));
}

// The largest of logits with Gumbel noise is distributed as their softmax.
TEST(GumbelSoftmax, SamplesTheDistribution) {
  constexpr int64_t kRows = 20000;
  const std::vector<double> p{0.6, 0.3, 0.1};
  std::vector<float> logits;
  for (int64_t i = 0; i < 3 * kRows; ++i) {
    logits.push_back(static_cast<float>(std::log(p[static_cast<size_t>(i % 3)])));
  }
  Tape tape(5);
  const TapeScope scope(tape);
  const Tensor y = gumbel_softmax(Tensor::from(logits, {kRows, 3}));
  std::vector<double> counts(3, 0.0);
  for (int64_t i = 0; i < y.size(); ++i) {
    counts[static_cast<size_t>(i % 3)] += static_cast<double>(y.data<float>()[i]);
  }
  for (size_t k = 0; k < 3; ++k) {
    EXPECT_NEAR(counts[k] / kRows, p[k], 0.015);
  }
}

TEST(GumbelSoftmax, NamesWhatIsWrong) {
  EXPECT_EQ(error_of([] {
              gumbel_softmax(Tensor::zeros({2, 3}), {.temperature = 0.0F});
            }),
            "[gumbel_softmax] temperature is 0 and discrete 1, expected more than 0 and a share of "
            "the rows");
  EXPECT_EQ(error_of([] {
              gumbel_softmax(Tensor::zeros({2, 0}));
            }),
            "[gumbel_softmax] x is [2,0], expected rows of logits");
}

}  // namespace
}  // namespace heed::testing
