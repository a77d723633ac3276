#include "ops/loss/logistic_mixture.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "autograd/tape.h"
#include "base/random.h"
#include "kernels/reference/logistic_mixture.h"
#include "support/error_of.h"
#include "support/op_case.h"

namespace heed::testing {
namespace {

constexpr float kLargest = std::numeric_limits<float>::max();

// Logits, means about the middle, log-scales about -2: smooth enough for differences.
std::vector<double> drawn_parameters(size_t rows, size_t components, uint64_t seed) {
  const RandomStream stream{seed, 3};
  std::vector<double> values;
  for (size_t i = 0; i < rows * 3 * components; ++i) {
    const double drawn = stream.normal(i);
    const size_t kind = i / components % 3;
    values.push_back(kind == 0 ? 1.5 * drawn : kind == 1 ? 0.6 * drawn : 0.7 * drawn - 2.0);
  }
  return values;
}

struct Scenario {
  std::string name;
  std::vector<double> targets;
  int64_t components = 3;
  LogisticMixtureOptions options = {};
};

OpCase mixture_case(const Scenario& s) {
  const auto rows = static_cast<int64_t>(s.targets.size());
  const auto width = static_cast<size_t>(3 * s.components);
  const auto run = [=](const std::vector<Tensor>& t) {
    return std::vector<Tensor>{logistic_mixture_loss(t[0], t[1], s.options)};
  };
  const auto reference = [=](const std::vector<Array>& a) {
    Array losses{{rows}, {}};
    double total = 0;
    double count = 0;
    for (size_t i = 0; i < s.targets.size(); ++i) {
      const auto target = static_cast<int64_t>(s.targets[i]);
      const std::span<const double> row(&a[0].values[i * width], width);
      const bool counts = target != s.options.ignore;
      losses.values.push_back(
          counts ? -std::log(reference::logistic_mixture(row, target, s.options.levels)) : 0.0);
      total += losses.values.back();
      count += counts ? 1 : 0;
    }
    const Reduction reduction = s.options.reduction;
    if (reduction == Reduction::none) {
      return std::vector<Array>{losses};
    }
    const double divisor = reduction == Reduction::mean         ? std::max(count, 1.0)
                           : reduction == Reduction::batch_mean ? static_cast<double>(rows)
                                                                : 1.0;
    return std::vector<Array>{{Shape{}, {total / divisor}}};
  };
  return {.op = "logistic_mixture_loss",
          .name = s.name,
          .inputs = {{.shape = {rows, 3 * s.components},
                      .values = drawn_parameters(s.targets.size(), s.components, 17)},
                     {.shape = {rows}, .kind = Kind::integer, .values = s.targets}},
          .run = run,
          .reference = reference};
}

const bool kRegistered = add_cases({
    mixture_case({.name = "plain", .targets = {100, 128, 180}}),
    mixture_case({.name = "edges", .targets = {0, 1, 254, 255}, .components = 10}),
    mixture_case({.name = "one_component", .targets = {0, 140, 255}, .components = 1}),
    mixture_case({.name = "two_levels", .targets = {0, 1}, .options = {.levels = 2}}),
    mixture_case({.name = "three_levels", .targets = {0, 1, 2}, .options = {.levels = 3}}),
    mixture_case({.name = "most_levels",
                  .targets = {0, 30000, 65535},
                  .components = 17,
                  .options = {.levels = 65536}}),
    mixture_case({.name = "ignored",
                  .targets = {7, -1, 0, -1},
                  .components = 5,
                  .options = {.levels = 16, .ignore = -1}}),
    mixture_case({.name = "nothing_counts", .targets = {-100, -100}}),
    mixture_case({.name = "sum", .targets = {90, 160}, .options = {.reduction = Reduction::sum}}),
    mixture_case({.name = "none",
                  .targets = {90, -100, 160},
                  .components = 33,
                  .options = {.reduction = Reduction::none}}),
    mixture_case({.name = "batch_mean",
                  .targets = {90, -100, 160},
                  .options = {.reduction = Reduction::batch_mean}}),
});

// The loss of each target under the same parameters.
std::vector<float> losses_of(const std::vector<float>& parameters,
                             const std::vector<int32_t>& targets, int64_t levels) {
  std::vector<float> rows;
  for (size_t i = 0; i < targets.size(); ++i) {
    rows.insert(rows.end(), parameters.begin(), parameters.end());
  }
  const auto count = static_cast<int64_t>(targets.size());
  const Tensor losses = logistic_mixture_loss(
      Tensor::from(rows, {count, static_cast<int64_t>(parameters.size())}),
      Tensor::from_ints(targets, {count}), {.levels = levels, .reduction = Reduction::none});
  return {losses.data<float>(), losses.data<float>() + count};
}

float loss_of(const std::vector<float>& parameters, int32_t target, int64_t levels) {
  return losses_of(parameters, {target}, levels)[0];
}

// Computed from the definition with 500 decimal digits.
TEST(LogisticMixture, KnownValues) {
  struct Known {
    std::vector<float> parameters;
    int32_t target;
    int64_t levels;
    double loss;
  };
  const std::vector<float> two{0.5F, -1.25F, -0.25F, 0.75F, -3.0F, -1.5F};
  const Known cases[] = {
      {two, 0, 256, 9.731540733},
      {two, 95, 256, 3.395887599},
      {two, 200, 256, 6.805467026},
      {two, 255, 256, 3.299696237},
      {two, 0, 2, 0.1609502719},
      {two, 1, 2, 1.906055826},
      {two, 40000, 65536, 13.33230955},
      {{0, 100, 0}, 0, 256, 100.9960784},  // means far outside
      {{0, 100, 0}, 128, 256, 104.8441922},
      {{0, 100, 0}, 255, 256, 0.0},
      {{0, -100, -1}, 128, 256, 275.6869402},
      {{0, 0.25F, 30}, 0, 256, 0.6931471806},  // a scale that leaves only the ends
      {{0, 0.25F, 30}, 128, 256, 36.23441073},
      {{0, 0.25F, -30}, 159, 256, 0.2943271241},  // the smallest scale
      {{0, 0.25F, -30}, 160, 256, 1.36898164},
      {{0, 0.25F, -30}, 200, 256, 345.1170897},
      {{9000, -9000, 0.25F, 0.5F, -2, -2}, 100, 256, 6.352045388},
  };
  for (const Known& known : cases) {
    // A level's place is known to half an ulp of f32, measured in scales.
    const double scale = std::exp(std::max(known.parameters.back(), kernels::kMinLogScale));
    EXPECT_NEAR(loss_of(known.parameters, known.target, known.levels), known.loss,
                2e-6 * known.loss + 1e-6 + 3e-8 / scale)
        << "target " << known.target << " of " << known.levels;
  }
}

std::vector<std::vector<float>> mixtures() {
  std::vector<std::vector<float>> result{
      {0, 1, 2, -1, 0.1F, 0.9F, -30, -7, -6},         // narrower than a level
      {0, 1, 2, -1, 0.1F, 0.9F, 5, 30, 1e30F},        // wider than everything
      {0, 1, 2, -1e30F, 1e30F, 0.5F, -7, 3, -2},      // means outside
      {-1e30F, 1e4F, 1e4F, -3, 0.4F, 12, -1, -4, 0},  // weights of nothing
      {0, 1e30F, -30},
      {0, -1e30F, 1e30F},
      {0, 1.0F, -7},
      {0, -1.0F, -kLargest},
  };
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<double> drawn = drawn_parameters(1, 1 + seed, seed);
    result.emplace_back(drawn.begin(), drawn.end());
  }
  return result;
}

TEST(LogisticMixture, ProbabilitiesSumToOne) {
  for (const int64_t levels : {2, 3, 16, 256, 65536}) {
    std::vector<int32_t> targets(static_cast<size_t>(levels));
    std::iota(targets.begin(), targets.end(), 0);
    std::vector<float> probabilities(targets.size());
    for (const std::vector<float>& parameters : mixtures()) {
      SCOPED_TRACE(::testing::Message() << levels << " levels, " << parameters[0] << " "
                                        << parameters[1] << " " << parameters[2]);
      logistic_mixture_probabilities(parameters, levels, probabilities);
      const std::vector<float> losses = losses_of(parameters, targets, levels);
      double total = 0;
      double total_of_losses = 0;
      double worst = 0;
      for (size_t v = 0; v < targets.size(); ++v) {
        const double p = std::exp(-static_cast<double>(losses[v]));
        total += probabilities[v];
        total_of_losses += p;
        worst = std::max(worst, std::abs(p - probabilities[v]));
      }
      EXPECT_NEAR(total, 1.0, 1e-6);
      EXPECT_NEAR(total_of_losses, 1.0, 1e-5);
      EXPECT_LT(worst, 1e-5);
    }
  }
}

// Also where a level is all but impossible.
TEST(LogisticMixture, ProbabilitiesOfTheTailsAreRelative) {
  const std::vector<float> parameters{0.0F, 0.25F, -3.5F};
  const std::vector<double> exact(parameters.begin(), parameters.end());
  std::vector<float> probabilities(256);
  logistic_mixture_probabilities(parameters, 256, probabilities);
  for (int64_t v = 0; v < 256; ++v) {
    const double expected = reference::logistic_mixture<double>(exact, v, 256);
    EXPECT_NEAR(probabilities[static_cast<size_t>(v)], expected, 1e-6 * expected) << v;
  }
}

struct Graded {
  std::vector<double> losses, gradient;
};
Graded graded(const Tensor& parameters, const std::vector<int32_t>& targets, int64_t levels) {
  Tape tape;
  Tensor watched = parameters;
  const TapeScope scope(tape);
  tape.watch(watched);
  const Tensor target = Tensor::from_ints(targets, {static_cast<int64_t>(targets.size())});
  const Tensor losses =
      logistic_mixture_loss(watched, target, {.levels = levels, .reduction = Reduction::none});
  tape.backward(losses, Tensor::full(losses.shape(), 1.0F));
  return {to_array(losses).values, to_array(watched.slot()->grad).values};
}

TEST(LogisticMixture, ExtremesStayFinite) {
  std::vector<float> parameters;
  std::vector<int32_t> targets;
  for (const float mean : {-1e30F, -1e6F, -2.0F, -1.0F, 0.3F, 1.0F, 40.0F, 1e30F}) {
    for (const float log_scale : {-kLargest, -100.0F, -7.0F, 0.0F, 20.0F, 100.0F, 1e30F}) {
      for (const int32_t target : {0, 1, 128, 254, 255}) {
        parameters.insert(parameters.end(), {1e30F, -1e30F, mean, -mean, log_scale, log_scale});
        targets.push_back(target);
      }
    }
  }
  const auto rows = static_cast<int64_t>(targets.size());
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const Graded result = graded(Tensor::from(parameters, {rows, 6}, dtype), targets, 256);
    for (const double loss : result.losses) {
      EXPECT_TRUE(std::isfinite(loss) && loss > -1e-5) << loss;
    }
    for (const double slope : result.gradient) {
      EXPECT_TRUE(std::isfinite(slope)) << slope;
    }
  }
}

TEST(LogisticMixture, LogScalesEndAtMinusSeven) {
  const std::vector<float> parameters{0.5F, 0.1F, -7.0F, 0.5F, 0.1F, -9.0F};
  const Graded result = graded(Tensor::from(parameters, {2, 3}), {140, 140}, 256);
  EXPECT_EQ(result.losses[0], result.losses[1]);
  EXPECT_NE(result.gradient[1], 0.0);
  EXPECT_EQ(result.gradient[1], result.gradient[4]);
  EXPECT_NE(result.gradient[2], 0.0);
  EXPECT_EQ(result.gradient[5], 0.0);
}

TEST(LogisticMixture, Errors) {
  const Tensor parameters = Tensor::zeros({2, 6});
  const Tensor targets = Tensor::from_ints(std::vector<int32_t>{1, 4}, {2});
  expect_error([&] { logistic_mixture_loss(parameters, targets, {.levels = 4}); },
               "[logistic_mixture_loss] target 4 at position 1, expected 0 to 3 or -100 to ignore");
  expect_error([&] { logistic_mixture_loss(parameters, targets, {.levels = 1}); },
               "[logistic_mixture_loss] levels is 1, expected 2 to 65536");
  expect_error([&] { logistic_mixture_loss(parameters, targets, {.levels = 65537}); },
               "[logistic_mixture_loss] levels is 65537, expected 2 to 65536");
  expect_error(
      [&] {
        logistic_mixture_loss(Tensor::zeros({2, 4}), targets);
      },
      "[logistic_mixture_loss] parameters is [2,4], targets is [2]: expected [...,3K] and "
      "[...]");
  expect_error(
      [&] {
        logistic_mixture_loss(Tensor::zeros({3, 6}), targets);
      },
      "[logistic_mixture_loss] parameters is [3,6], targets is [2]: expected [...,3K] and "
      "[...]");
  expect_error([&] { logistic_mixture_loss(parameters, Tensor::zeros({2})); },
               "[logistic_mixture_loss] targets is f32 [2], expected i32");
  expect_error([&] { logistic_mixture_loss(Tensor(), targets); },
               "[logistic_mixture_loss] parameters is an undefined tensor, expected f32 or bf16");
  std::vector<float> probabilities(4);
  expect_error(
      [&] { logistic_mixture_probabilities(std::vector<float>(4), 4, probabilities); },
      "[logistic_mixture_probabilities] 4 parameters, expected as many logits as means and "
      "log-scales");
  expect_error([&] { logistic_mixture_probabilities({}, 4, probabilities); },
               "[logistic_mixture_probabilities] 0 parameters, expected as many logits as means "
               "and log-scales");
  expect_error([&] { logistic_mixture_probabilities(std::vector<float>(6), 5, probabilities); },
               "[logistic_mixture_probabilities] room for 4 of 5 levels");
  expect_error([&] { logistic_mixture_probabilities(std::vector<float>(6), 0, probabilities); },
               "[logistic_mixture_probabilities] levels is 0, expected 2 to 65536");
}

}  // namespace
}  // namespace heed::testing
