#include "ops/loss/cross_entropy.h"

#include "autograd/tape.h"
#include "kernels/reduction/cross_entropy.h"
#include "ops/check.h"

namespace heed {
namespace {

const OpName kCrossEntropy{"cross_entropy"};

void check_targets(const Tensor& logits, const Tensor& targets,
                   const CrossEntropyOptions& options) {
  check_float("cross_entropy", "logits", logits);
  check_dtype("cross_entropy", "targets", targets, DType::i32);
  check(
      logits.rank() >= 1 && logits.dim(-1) > 0 && logits.size() / logits.dim(-1) == targets.size(),
      "[cross_entropy] logits is {}, targets is {}: expected [...,V] and [...]", logits.shape(),
      targets.shape());
  check(options.label_smoothing >= 0.0F && options.label_smoothing <= 1.0F,
        "[cross_entropy] label_smoothing is {}, expected 0 to 1", options.label_smoothing);
  check_vector("cross_entropy", "weights", options.weights, logits.dim(-1));
  const int32_t* target = targets.data<int32_t>();
  for (int64_t i = 0; i < targets.size(); ++i) {
    check(target[i] == options.ignore || (target[i] >= 0 && target[i] < logits.dim(-1)),
          "[cross_entropy] target {} at position {}, expected 0 to {} or {} to ignore", target[i],
          i, logits.dim(-1) - 1, options.ignore);
  }
}

// What the sum of the losses is divided by.
float denominator(const Tensor& targets, const CrossEntropyOptions& options) {
  if (options.reduction == Reduction::batch_mean) {
    return static_cast<float>(targets.rank() == 0 ? 1 : targets.dim(0));
  }
  if (options.reduction != Reduction::mean) {
    return 1.0F;
  }
  const int32_t* target = targets.data<int32_t>();
  double total = 0.0;
  for (int64_t i = 0; i < targets.size(); ++i) {
    if (target[i] != options.ignore) {
      total += options.weights.defined() ? options.weights.data<float>()[target[i]] : 1.0F;
    }
  }
  return static_cast<float>(total);
}

struct Saved {
  Tensor logits, targets, weights, lse;
  kernels::CrossEntropy args;
  float divisor;
  bool reduced;
};

void backward(const Saved& saved, const Tensor& d_loss) {
  kernels::CrossEntropyBackward back{.forward = saved.args, .d_losses = {}, .d_logits = nullptr};
  float uniform = 0.0F;
  back.d_losses = d_loss.data<float>();
  if (saved.reduced) {
    uniform = saved.divisor > 0.0F ? d_loss.data<float>()[0] / saved.divisor : 0.0F;
    back.d_losses = &uniform;
    back.d_uniform = true;
  }
  GradSlot* slot = saved.logits.slot();
  if (!slot->written && saved.logits.unique() && slot->tape != 0) {
    back.d_logits = saved.logits.raw();
    kernels::cross_entropy_backward(back);
    add_grad(saved.logits, saved.logits);
    return;
  }
  const GradTarget target = grad_target(saved.logits);
  back.d_logits = target.grad.raw();
  back.accumulate = target.accumulate;
  kernels::cross_entropy_backward(back);
}

}  // namespace

Tensor cross_entropy(const Tensor& logits, const Tensor& targets,
                     const CrossEntropyOptions& options) {
  check_targets(logits, targets, options);
  const Tensor losses = Tensor::empty(targets.shape());
  const Tensor lse = Tensor::empty(targets.shape());
  const kernels::CrossEntropy args{
      .rows = targets.size(),
      .classes = logits.dim(-1),
      .dtype = logits.dtype(),
      .logits = logits.raw(),
      .targets = targets.data<int32_t>(),
      .ignore = options.ignore,
      .smoothing = options.label_smoothing,
      .weights = options.weights.defined() ? options.weights.data<float>() : nullptr,
      .losses = losses.data<float>(),
      .lse = lse.data<float>()};
  kernels::cross_entropy(args);
  const bool reduced = options.reduction != Reduction::none;
  const float divisor = reduced ? denominator(targets, options) : 1.0F;
  Tensor result = losses;
  if (reduced) {
    double total = 0.0;
    for (int64_t i = 0; i < losses.size(); ++i) {
      total += losses.data<float>()[i];
    }
    const float loss = divisor > 0.0F ? static_cast<float>(total / divisor) : 0.0F;
    result = Tensor::full({}, loss);
  }
  if (Tape* tape = Tape::recording({&logits})) {
    const Saved saved{.logits = logits,
                      .targets = targets,
                      .weights = options.weights,
                      .lse = lse,
                      .args = args,
                      .divisor = divisor,
                      .reduced = reduced};
    tape->record(kCrossEntropy, result, [saved](const Tensor& dy) { backward(saved, dy); });
  }
  return result;
}

}  // namespace heed
