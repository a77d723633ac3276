#include "ops/mesh/split_cross_entropy.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "autograd/tape.h"
#include "kernels/reduction/cross_entropy.h"
#include "ops/check.h"

namespace heed {
namespace {

const OpName kSplitCrossEntropy{"split_cross_entropy"};

thread_local SplitLogits* current_scope = nullptr;

// A target of another process.
constexpr int32_t kElsewhere = -1;

// Targets counted from this process's first token.
std::vector<int32_t> own_targets(const Tensor& targets, const Part& part, int32_t ignore) {
  std::vector<int32_t> own(targets.span<int32_t>().begin(), targets.span<int32_t>().end());
  for (int32_t& target : own) {
    check(target == ignore || (target >= 0 && target < part.total),
          "[split_cross_entropy] target {}, expected 0 to {} or {} to ignore", target,
          part.total - 1, ignore);
    if (target != ignore) {
      const bool here = target >= part.begin && target < part.end;
      target = here ? target - static_cast<int32_t>(part.begin) : kElsewhere;
    }
  }
  return own;
}

// What a process knows of each row: the logarithm of its sum of exponentials, the sum of its logits
// and the target's logit, or 0 if that is elsewhere.
struct RowFacts {
  explicit RowFacts(int64_t rows) : rows(rows), values(static_cast<size_t>(3 * rows)) {}
  float* lse() { return values.data(); }
  float* sum() { return values.data() + rows; }
  float* target() { return values.data() + 2 * rows; }

  int64_t rows;
  std::vector<float> values;
};

RowFacts facts_of(const Tensor& logits, const std::vector<int32_t>& targets, int32_t ignore) {
  const int64_t classes = logits.dim(-1);
  RowFacts facts(std::ssize(targets));
  std::vector<int32_t> any(targets);  // the kernel wants a target here
  std::replace(any.begin(), any.end(), kElsewhere, 0);
  // With smoothing 1 the loss of a row is lse - sum / classes.
  kernels::cross_entropy({.rows = facts.rows,
                          .classes = classes,
                          .dtype = logits.dtype(),
                          .logits = logits.raw(),
                          .targets = any.data(),
                          .ignore = ignore,
                          .smoothing = 1.0F,
                          .losses = facts.sum(),
                          .lse = facts.lse()});
  for (int64_t row = 0; row < facts.rows; ++row) {
    const int32_t target = targets[static_cast<size_t>(row)];
    const int64_t place = row * classes + std::max(target, 0);
    const float value = logits.dtype() == DType::bf16
                            ? static_cast<float>(logits.data<bf16>()[place])
                            : logits.data<float>()[place];
    facts.sum()[row] = static_cast<float>(classes) * (facts.lse()[row] - facts.sum()[row]);
    facts.target()[row] = target >= 0 ? value : 0.0F;
  }
  return facts;
}

// The facts of all processes put together, the same on each of them.
RowFacts joined(RowFacts own, const Group& group) {
  const auto each = static_cast<size_t>(3 * own.rows);
  std::vector<float> all(each * static_cast<size_t>(group.size()));
  std::copy(own.values.begin(), own.values.end(),
            all.begin() + static_cast<int64_t>(each) * group.index());
  group.all_gather(std::span(all), equal_bounds(std::ssize(all), group.size()));
  RowFacts result(own.rows);
  for (int64_t row = 0; row < own.rows; ++row) {
    const auto fact = [&](int member, int64_t which) {
      return all[static_cast<size_t>(member) * each + static_cast<size_t>(which * own.rows + row)];
    };
    float top = fact(0, 0);
    for (int member = 1; member < group.size(); ++member) {
      top = std::max(top, fact(member, 0));
    }
    double exponentials = 0.0;
    for (int member = 0; member < group.size(); ++member) {
      exponentials += std::exp(static_cast<double>(fact(member, 0) - top));
      result.sum()[row] += fact(member, 1);
      result.target()[row] += fact(member, 2);
    }
    result.lse()[row] = top + static_cast<float>(std::log(exponentials));
  }
  return result;
}

struct SavedRows {
  Tensor logits, lse, targets;
  int64_t all_classes;
  int32_t ignore;
  float smoothing;
  float divisor;
};

// d_x_v = d_loss (softmax_v - s / V - (1 - s) [v = t]) / targets, for this process's v
void backward(const SavedRows& saved, const Tensor& dy) {
  const float uniform = saved.divisor > 0.0F ? dy.data<float>()[0] / saved.divisor : 0.0F;
  const GradTarget target = grad_target(saved.logits);
  kernels::cross_entropy_backward({.forward = {.rows = saved.targets.size(),
                                               .classes = saved.logits.dim(-1),
                                               .dtype = saved.logits.dtype(),
                                               .logits = saved.logits.raw(),
                                               .targets = saved.targets.data<int32_t>(),
                                               .ignore = saved.ignore,
                                               .smoothing = saved.smoothing,
                                               .losses = nullptr,
                                               .lse = saved.lse.data<float>(),
                                               .all_classes = saved.all_classes},
                                   .d_losses = &uniform,
                                   .d_uniform = true,
                                   .d_logits = target.grad.raw(),
                                   .accumulate = target.accumulate});
}

}  // namespace

SplitLogits::SplitLogits() : outer_(std::exchange(current_scope, this)) {}
SplitLogits::~SplitLogits() { current_scope = outer_; }
SplitLogits* SplitLogits::open() { return current_scope; }

Tensor split_cross_entropy(const Tensor& logits, const Tensor& targets, const Part& part,
                           const CrossEntropyOptions& options) {
  check_float("split_cross_entropy", "logits", logits);
  check_dtype("split_cross_entropy", "targets", targets, DType::i32);
  check(logits.dim(-1) == part.size() && logits.size() == targets.size() * part.size(),
        "[split_cross_entropy] logits is {}, targets is {}: expected [...,{}] and [...]",
        logits.shape(), targets.shape(), part.size());
  check(!options.weights.defined() && options.reduction == Reduction::mean,
        "[split_cross_entropy] has no weights, and gives the mean alone");
  const std::vector<int32_t> own = own_targets(targets, part, options.ignore);
  RowFacts facts = joined(facts_of(logits, own, options.ignore), *part.group);
  const float s = options.label_smoothing;
  double total = 0.0;
  int64_t counted = 0;
  for (int64_t row = 0; row < facts.rows; ++row) {
    if (own[static_cast<size_t>(row)] != options.ignore) {
      const float lse = facts.lse()[row];
      total += (1.0F - s) * (lse - facts.target()[row]) +
               s * (lse - facts.sum()[row] / static_cast<float>(part.total));
      ++counted;
    }
  }
  const auto divisor = static_cast<float>(counted);
  Tensor loss = Tensor::full({}, counted > 0 ? static_cast<float>(total / divisor) : 0.0F);
  if (Tape* tape = Tape::recording({&logits})) {
    const SavedRows saved{
        .logits = logits,
        .lse = Tensor::from({facts.lse(), static_cast<size_t>(facts.rows)}, {facts.rows}),
        .targets = Tensor::from_ints(own, {facts.rows}),
        .all_classes = part.total,
        .ignore = options.ignore,
        .smoothing = s,
        .divisor = divisor};
    tape->record(kSplitCrossEntropy, loss, [saved](const Tensor& dy) { backward(saved, dy); });
  }
  return loss;
}

Tensor cross_entropy_of(const std::function<Tensor()>& logits, const Tensor& targets,
                        const CrossEntropyOptions& options) {
  SplitLogits scope;
  const Tensor given = logits();
  return scope.part ? split_cross_entropy(given, targets, *scope.part, options)
                    : cross_entropy(given, targets, options);
}

}  // namespace heed
