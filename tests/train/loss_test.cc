#include "train/loss.h"

#include <gtest/gtest.h>

#include <cmath>

#include "autograd/tape.h"
#include "models/model.h"

namespace heed {
namespace {

// Six positions over five classes, two of which do not count.
constexpr int64_t kClasses = 5;
const std::vector<int32_t> kTargets{3, 0, kIgnore, 4, kIgnore, 1};

std::vector<double> some_logits() {
  std::vector<double> logits;
  for (int i = 0; i < 30; ++i) {
    logits.push_back(3.0 * std::sin(1.7 * i + 0.3));
  }
  return logits;
}

Tensor logits_tensor(const std::vector<double>& values) {
  const std::vector<float> narrow(values.begin(), values.end());
  return Tensor::from(narrow, {2, static_cast<int64_t>(values.size()) / kClasses / 2, kClasses});
}

double loss_of(const LossConfig& config) {
  return sequence_loss(logits_tensor(some_logits()), Tensor::from_ints(kTargets, {2, 3}), config)
      .item();
}

std::vector<double> softmax_of(const double* logits) {
  double sum = 0.0;
  std::vector<double> p;
  for (int64_t v = 0; v < kClasses; ++v) {
    p.push_back(std::exp(logits[v]));
    sum += p.back();
  }
  for (double& value : p) {
    value /= sum;
  }
  return p;
}

std::vector<double> smoothed(int32_t target, double smoothing) {
  std::vector<double> q(kClasses, smoothing / kClasses);
  q[static_cast<size_t>(target)] += 1.0 - smoothing;
  return q;
}

// The mean over the positions that count of what `each` makes of p and target.
template <typename Each>
double mean_of(const std::vector<double>& logits, const Each& each) {
  double sum = 0.0;
  int count = 0;
  for (size_t i = 0; i < kTargets.size(); ++i) {
    if (kTargets[i] != kIgnore) {
      sum += each(softmax_of(&logits[i * kClasses]), kTargets[i]);
      ++count;
    }
  }
  return sum / count;
}

double mean_squared_error(const std::vector<double>& logits) {
  return mean_of(logits, [](const std::vector<double>& p, int32_t target) {
    double sum = 0.0;
    for (size_t v = 0; v < p.size(); ++v) {
      const double wanted = static_cast<int32_t>(v) == target ? 1.0 : 0.0;
      sum += (p[v] - wanted) * (p[v] - wanted);
    }
    return sum;
  });
}

TEST(SequenceLoss, CrossEntropyIsMinusQLogP) {
  for (const double smoothing : {0.0, 0.1, 0.5}) {
    const double expected = mean_of(some_logits(), [&](const auto& p, int32_t target) {
      const std::vector<double> q = smoothed(target, smoothing);
      double sum = 0.0;
      for (size_t v = 0; v < p.size(); ++v) {
        sum -= q[v] * std::log(p[v]);
      }
      return sum;
    });
    EXPECT_NEAR(loss_of({.label_smoothing = static_cast<float>(smoothing)}), expected, 2e-6);
  }
}

TEST(SequenceLoss, KlIsQLogQOverP) {
  for (const double smoothing : {0.0, 0.1, 0.5}) {
    const double expected = mean_of(some_logits(), [&](const auto& p, int32_t target) {
      const std::vector<double> q = smoothed(target, smoothing);
      double sum = 0.0;
      for (size_t v = 0; v < p.size(); ++v) {
        sum += q[v] > 0.0 ? q[v] * std::log(q[v] / p[v]) : 0.0;
      }
      return sum;
    });
    EXPECT_NEAR(loss_of({.kind = "kl", .label_smoothing = static_cast<float>(smoothing)}), expected,
                2e-6);
  }
}

TEST(SequenceLoss, MseIsTheSquaredDistanceToTheTarget) {
  EXPECT_NEAR(loss_of({.kind = "mse"}), mean_squared_error(some_logits()), 1e-6);
}

TEST(SequenceLoss, ThePerfectSmoothedDistributionHasKlZeroAndItsEntropyAsCrossEntropy) {
  const double smoothing = 0.1;
  std::vector<double> logits;
  for (const int32_t target : kTargets) {
    for (const double q : smoothed(target == kIgnore ? 2 : target, smoothing)) {
      logits.push_back(std::log(q) + 1.25);  // a constant changes no softmax
    }
  }
  const Tensor perfect = logits_tensor(logits);
  const Tensor targets = Tensor::from_ints(kTargets, {2, 3});
  EXPECT_NEAR(sequence_loss(perfect, targets, {.kind = "kl", .label_smoothing = 0.1F}).item(), 0.0,
              1e-6);
  // -0.92 ln 0.92 - 4 * 0.02 ln 0.02
  EXPECT_NEAR(sequence_loss(perfect, targets, {.label_smoothing = 0.1F}).item(), 0.38967294, 1e-6);
}

TEST(SequenceLoss, IgnoredPositionsChangeNothing) {
  std::vector<double> other = some_logits();
  for (size_t i = 0; i < kTargets.size(); ++i) {
    for (size_t v = 0; kTargets[i] == kIgnore && v < kClasses; ++v) {
      other[i * kClasses + v] = 7.0 - static_cast<double>(v);
    }
  }
  for (const char* kind : {"cross_entropy", "kl", "mse"}) {
    const Tensor targets = Tensor::from_ints(kTargets, {2, 3});
    EXPECT_EQ(sequence_loss(logits_tensor(other), targets, {.kind = kind}).item(),
              loss_of({.kind = kind}))
        << kind;
  }
}

TEST(SequenceLoss, GradientOfMseIsThatOfFiniteDifferences) {
  Tensor logits = logits_tensor(some_logits());
  Tape tape;
  {
    const TapeScope scope(tape);
    tape.watch(logits);
    tape.backward(sequence_loss(logits, Tensor::from_ints(kTargets, {2, 3}), {.kind = "mse"}));
  }
  const std::span<const float> gradient = logits.slot()->grad.span<float>();
  ASSERT_EQ(gradient.size(), 30U);
  for (size_t i = 0; i < gradient.size(); ++i) {
    const auto at = [&](double offset) {
      std::vector<double> values = some_logits();
      values[i] += offset;
      return mean_squared_error(values);
    };
    constexpr double kStep = 1e-3;
    const double difference =
        (8.0 * (at(kStep) - at(-kStep)) - (at(2 * kStep) - at(-2 * kStep))) / (12.0 * kStep);
    EXPECT_NEAR(gradient[i], difference, 1e-6) << i;
    if (kTargets[i / kClasses] == kIgnore) {
      EXPECT_EQ(gradient[i], 0.0F) << i;
    }
  }
}

// Smoothing and KL move the loss by a constant: the gradient is p - q in both.
TEST(SequenceLoss, GradientsOfCrossEntropyAndKlArePMinusQ) {
  for (const char* kind : {"cross_entropy", "kl"}) {
    Tensor logits = logits_tensor(some_logits());
    Tape tape;
    {
      const TapeScope scope(tape);
      tape.watch(logits);
      tape.backward(sequence_loss(logits, Tensor::from_ints(kTargets, {2, 3}),
                                  {.kind = kind, .label_smoothing = 0.1F}));
    }
    const std::vector<double> values = some_logits();
    for (size_t i = 0; i < values.size(); ++i) {
      const int32_t target = kTargets[i / kClasses];
      const size_t v = i % kClasses;
      const double expected =
          target == kIgnore ? 0.0 : (softmax_of(&values[i - v])[v] - smoothed(target, 0.1)[v]) / 4;
      EXPECT_NEAR(logits.slot()->grad.data<float>()[i], expected, 1e-6) << kind << " " << i;
    }
  }
}

TEST(SequenceLoss, AgreementAddsTheDivergenceOfTheTwoHalves) {
  const std::vector<double> logits = some_logits();
  const std::vector<int32_t> targets{3, kIgnore, 1, 3, kIgnore, 1};  // two rows that are the same
  double divergence = 0.0;
  for (const size_t position : {0U, 2U}) {
    const std::vector<double> p = softmax_of(&logits[position * kClasses]);
    const std::vector<double> q = softmax_of(&logits[(3 + position) * kClasses]);
    for (size_t v = 0; v < p.size(); ++v) {
      divergence += (p[v] - q[v]) * std::log(p[v] / q[v]) / 2 / 2;
    }
  }
  const Tensor x = logits_tensor(logits);
  const Tensor t = Tensor::from_ints(targets, {2, 3});
  EXPECT_NEAR(sequence_loss(x, t, {.agreement = 3.0F}).item() - sequence_loss(x, t, {}).item(),
              3.0 * divergence, 1e-5);
}

}  // namespace
}  // namespace heed
