#include "ops/loss/cross_entropy.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "support/op_case.h"

namespace heed::testing {
namespace {

struct Scenario {
  std::string name;
  std::vector<double> targets;
  int64_t classes;
  float smoothing = 0.0F;
  int32_t ignore = -100;
  std::vector<double> weights = {};
  Reduction reduction = Reduction::mean;
};

double loss_of(const Scenario& s, const double* x, int64_t target) {
  double total = 0;
  for (int64_t v = 0; v < s.classes; ++v) {
    total += std::exp(x[v]);
  }
  const auto weight = [&](int64_t v) { return s.weights.empty() ? 1.0 : s.weights[v]; };
  double loss = weight(target) * (1 - s.smoothing) * (std::log(total) - x[target]);
  for (int64_t v = 0; v < s.classes; ++v) {
    loss += s.smoothing / static_cast<double>(s.classes) * weight(v) * (std::log(total) - x[v]);
  }
  return loss;
}

OpCase cross_entropy_case(const Scenario& s) {
  const auto rows = static_cast<int64_t>(s.targets.size());
  const auto run = [=](const std::vector<Tensor>& t) {
    const std::vector<float> weights(s.weights.begin(), s.weights.end());
    return std::vector<Tensor>{
        cross_entropy(t[0], t[1],
                      {.label_smoothing = s.smoothing,
                       .ignore = s.ignore,
                       .weights = weights.empty() ? Tensor() : Tensor::from(weights, {s.classes}),
                       .reduction = s.reduction})};
  };
  const auto reference = [=](const std::vector<Array>& a) {
    Array losses{{rows}, {}};
    double total = 0;
    double count = 0;
    for (int64_t i = 0; i < rows; ++i) {
      const auto target = static_cast<int64_t>(s.targets[i]);
      const bool counts = target != s.ignore;
      losses.values.push_back(counts ? loss_of(s, &a[0].values[i * s.classes], target) : 0.0);
      total += losses.values.back();
      count += counts ? (s.weights.empty() ? 1.0 : s.weights[target]) : 0.0;
    }
    if (s.reduction == Reduction::none) {
      return std::vector<Array>{losses};
    }
    const double divisor = s.reduction == Reduction::mean         ? count
                           : s.reduction == Reduction::batch_mean ? static_cast<double>(rows)
                                                                  : 1.0;
    return std::vector<Array>{{Shape{}, {total / divisor}}};
  };
  return {.op = "cross_entropy",
          .name = s.name,
          .inputs = {{.shape = {rows, s.classes}, .scale = 2.0},
                     {.shape = {rows}, .kind = Kind::integer, .values = s.targets}},
          .run = run,
          .reference = reference};
}

const bool kRegistered = add_cases({
    cross_entropy_case({.name = "plain", .targets = {0, 6, 3}, .classes = 7}),
    cross_entropy_case(
        {.name = "smoothed", .targets = {0, 16, 3}, .classes = 17, .smoothing = 0.1F}),
    cross_entropy_case({.name = "ignored",
                        .targets = {2, -1, 3, -1},
                        .classes = 5,
                        .smoothing = 0.1F,
                        .ignore = -1}),
    cross_entropy_case({.name = "weighted",
                        .targets = {2, 0, 1},
                        .classes = 3,
                        .smoothing = 0.2F,
                        .weights = {0.5, 2.0, 1.5}}),
    cross_entropy_case(
        {.name = "sum", .targets = {2, 0, 40}, .classes = 41, .reduction = Reduction::sum}),
    cross_entropy_case(
        {.name = "none", .targets = {2, 0, 40}, .classes = 41, .reduction = Reduction::none}),
    cross_entropy_case({.name = "batch_mean",
                        .targets = {2, 0, 1},
                        .classes = 33,
                        .ignore = 0,
                        .reduction = Reduction::batch_mean}),
});

TEST(CrossEntropy, NamesTheTarget) {
  const std::vector<int32_t> targets{1, 7};
  try {
    cross_entropy(Tensor::zeros({2, 3}), Tensor::from_ints(targets, {2}));
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "[cross_entropy] target 7 at position 1, expected 0 to 2 or -100 to ignore");
  }
}

TEST(CrossEntropy, LargeLogitsStayFinite) {
  const std::vector<float> logits{1e4F, -1e4F, 0.0F};
  const std::vector<int32_t> target{0};
  const float loss =
      cross_entropy(Tensor::from(logits, {1, 3}), Tensor::from_ints(target, {1})).item();
  EXPECT_FLOAT_EQ(loss, 0.0F);
}

}  // namespace
}  // namespace heed::testing
