#include "ops/loss/logistic_mixture.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "autograd/tape.h"
#include "kernels/reduction/logistic_mixture.h"
#include "ops/check.h"

namespace heed {
namespace {

const OpName kLogisticMixtureLoss{"logistic_mixture_loss"};

void check_levels(const char* op, int64_t levels) {
  check(levels >= 2 && levels <= 65536, "[{}] levels is {}, expected 2 to 65536", op, levels);
}

void check_inputs(const Tensor& parameters, const Tensor& targets,
                  const LogisticMixtureOptions& options) {
  const char* op = "logistic_mixture_loss";
  check_float(op, "parameters", parameters);
  check_dtype(op, "targets", targets, DType::i32);
  check_levels(op, options.levels);
  check(parameters.rank() >= 1 && parameters.dim(-1) > 0 && parameters.dim(-1) % 3 == 0 &&
            parameters.size() / parameters.dim(-1) == targets.size(),
        "[{}] parameters is {}, targets is {}: expected [...,3K] and [...]", op, parameters.shape(),
        targets.shape());
  const int32_t* target = targets.data<int32_t>();
  for (int64_t i = 0; i < targets.size(); ++i) {
    check(target[i] == options.ignore || (target[i] >= 0 && target[i] < options.levels),
          "[{}] target {} at position {}, expected 0 to {} or {} to ignore", op, target[i], i,
          options.levels - 1, options.ignore);
  }
}

// What the sum of the losses is divided by.
float denominator(const Tensor& targets, const LogisticMixtureOptions& options) {
  if (options.reduction == Reduction::batch_mean) {
    return static_cast<float>(targets.rank() == 0 ? 1 : targets.dim(0));
  }
  if (options.reduction != Reduction::mean) {
    return 1.0F;
  }
  const int32_t* target = targets.data<int32_t>();
  const int64_t ignored = std::count(target, target + targets.size(), options.ignore);
  return static_cast<float>(std::max<int64_t>(targets.size() - ignored, 1));
}

}  // namespace

Tensor logistic_mixture_loss(const Tensor& parameters, const Tensor& targets,
                             const LogisticMixtureOptions& options) {
  check_inputs(parameters, targets, options);
  const Tensor losses = Tensor::empty(targets.shape());
  const kernels::LogisticMixture args{.rows = targets.size(),
                                      .components = parameters.dim(-1) / 3,
                                      .levels = options.levels,
                                      .parameters = {parameters.raw(), parameters.dtype()},
                                      .targets = targets.data<int32_t>(),
                                      .ignore = options.ignore,
                                      .losses = losses.data<float>()};
  kernels::logistic_mixture(args);
  const bool reduced = options.reduction != Reduction::none;
  const float divisor = denominator(targets, options);
  Tensor result = losses;
  if (reduced) {
    double total = 0.0;
    for (int64_t i = 0; i < losses.size(); ++i) {
      total += losses.data<float>()[i];
    }
    result = Tensor::full({}, static_cast<float>(total / divisor));
  }
  if (Tape* tape = Tape::recording({&parameters})) {
    // Holds the inputs that args points to; the gradient is computed from them anew.
    tape->record(kLogisticMixtureLoss, result,
                 [parameters, targets, args, divisor, reduced](const Tensor& dy) {
                   const GradTarget target = grad_target(parameters);
                   const float uniform = reduced ? dy.data<float>()[0] / divisor : 0.0F;
                   kernels::logistic_mixture_backward(
                       {.forward = args,
                        .d_losses = reduced ? &uniform : dy.data<float>(),
                        .d_uniform = reduced,
                        .d_parameters = {target.grad.raw(), target.grad.dtype()},
                        .accumulate = target.accumulate});
                 });
  }
  return result;
}

void logistic_mixture_probabilities(std::span<const float> parameters, int64_t levels,
                                    std::span<float> probabilities) {
  const char* op = "logistic_mixture_probabilities";
  check_levels(op, levels);
  check(!parameters.empty() && parameters.size() % 3 == 0,
        "[{}] {} parameters, expected as many logits as means and log-scales", op,
        parameters.size());
  check(probabilities.size() == static_cast<size_t>(levels), "[{}] room for {} of {} levels", op,
        probabilities.size(), levels);
  const size_t n = parameters.size() / 3;
  const double top = *std::max_element(parameters.begin(), parameters.begin() + n);
  double total = 0.0;
  for (size_t k = 0; k < n; ++k) {
    total += std::exp(parameters[k] - top);
  }
  const double d = 1.0 / static_cast<double>(levels - 1);
  std::vector<double> sums(static_cast<size_t>(levels), 0.0);
  for (size_t k = 0; k < n; ++k) {
    const double weight = std::exp(parameters[k] - top) / total;
    const double mean = parameters[n + k];
    const double t = std::exp(-std::max<double>(parameters[2 * n + k], kernels::kMinLogScale));
    // sigmoid(a) - sigmoid(b) = sigmoid(a) sigmoid(-b) (1 - e^-(a - b)) keeps the tails precise;
    // each level's upper edge is the next one's lower.
    const double rest = -std::expm1(-2.0 * d * t);
    double over = 1.0;  // sigmoid(-b)
    for (int64_t v = 0; v < levels; ++v) {
      const bool last = v + 1 == levels;
      const double a = (static_cast<double>(2 * v + 1) * d - 1.0 - mean) * t;
      const double under = last ? 1.0 : 1.0 / (1.0 + std::exp(-a));  // sigmoid(a)
      sums[static_cast<size_t>(v)] += weight * under * over * (v == 0 || last ? 1.0 : rest);
      over = 1.0 / (1.0 + std::exp(a));
    }
  }
  std::transform(sums.begin(), sums.end(), probabilities.begin(),
                 [](double p) { return static_cast<float>(p); });
}

}  // namespace heed
