#include "ops/loss/loss.h"

#include "autograd/tape.h"
#include "kernels/reduction/loss.h"
#include "ops/operands.h"

namespace heed {
namespace {

using kernels::Loss;

const OpName kMse{"mse"};
const OpName kLogits{"binary_cross_entropy_with_logits"};
const OpName kProbabilities{"binary_cross_entropy"};
const OpName kKlDivergence{"kl_divergence"};

struct Comparison {
  const OpName& name;
  Loss loss;
  const Tensor& x;
  const Tensor& target;
  const Tensor& weight;  // undefined: 1
  Reduction reduction;
};

void check_comparison(const Comparison& c) {
  const char* op = c.name.name();
  check_float(op, "prediction", c.x);
  check_dtype_or_f32(op, "target", c.target, c.x.dtype());
  check_shape(op, "target", c.target, c.x.shape());
  if (c.weight.defined()) {
    check_float(op, "weight", c.weight);
    check_repeats(op, "weight", c.weight, c.x.shape());
  }
  check(c.reduction != Reduction::batch_mean || c.x.rank() >= 1,
        "[{}] prediction is {}, expected a first axis to average over", op, c.x.shape());
}

// What the sum is multiplied with.
float factor_of(const Comparison& c) {
  switch (c.reduction) {
    case Reduction::mean:
      return 1.0F / static_cast<float>(c.x.size());
    case Reduction::batch_mean:
      return 1.0F / static_cast<float>(c.x.dim(0));
    default:
      return 1.0F;
  }
}

kernels::Operand weight_operand(const Tensor& weight) {
  return weight.defined() ? repeated(weight) : kernels::Operand{{}, 0};
}

Tensor forward(const Comparison& c, float factor) {
  kernels::LossValues args{.n = c.x.size(),
                           .loss = c.loss,
                           .x = in(c.x),
                           .target = in(c.target),
                           .weight = weight_operand(c.weight),
                           .y = {}};
  if (c.reduction != Reduction::none) {
    const double total = kernels::loss_sum(args);
    return Tensor::full({}, static_cast<float>(total * static_cast<double>(factor)));  // []
  }
  Tensor y = Tensor::empty(c.x.shape(), c.x.dtype());  // [...] as the prediction
  args.y = out(y);
  kernels::loss_values(args);
  return y;
}

// dx = factor dy l'(x, t), with dy one number or one per element; l' stands in
// kernels/reduction/loss.h.
Tensor compare(const Comparison& c) {
  check_comparison(c);
  const float factor = factor_of(c);
  Tensor y = forward(c, factor);  // [] or [...] as the prediction
  const bool for_target = c.loss == Loss::mse || c.loss == Loss::kl_divergence;
  Tape* tape = for_target ? Tape::recording({&c.x, &c.target}) : Tape::recording({&c.x});
  if (tape != nullptr) {
    tape->record(c.name, y,
                 [loss = c.loss, x = c.x, target = c.target, weight = c.weight, for_target,
                  factor](const Tensor& dy) {
                   const auto part = [&](const Tensor& into, bool to_target) {
                     const GradTarget goal = grad_target(into);
                     kernels::loss_backward({.n = x.size(),
                                             .loss = loss,
                                             .x = in(x),
                                             .target = in(target),
                                             .weight = weight_operand(weight),
                                             .dy = repeated(dy),
                                             .scale = factor,
                                             .to_target = to_target,
                                             .out = out(goal.grad),
                                             .accumulate = goal.accumulate});
                   };
                   if (needs_grad(x)) {
                     part(x, false);
                   }
                   if (for_target && needs_grad(target)) {
                     part(target, true);
                   }
                 });
  }
  return y;
}

}  // namespace

Tensor mse(const Tensor& prediction, const Tensor& target, Reduction reduction) {
  return compare({kMse, Loss::mse, prediction, target, Tensor(), reduction});
}

Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& target,
                                        const Tensor& weight, Reduction reduction) {
  return compare({kLogits, Loss::binary_cross_entropy_logits, logits, target, weight, reduction});
}

Tensor binary_cross_entropy(const Tensor& probabilities, const Tensor& target,
                            Reduction reduction) {
  return compare(
      {kProbabilities, Loss::binary_cross_entropy, probabilities, target, Tensor(), reduction});
}

Tensor kl_divergence(const Tensor& log_q, const Tensor& p, Reduction reduction) {
  return compare({kKlDivergence, Loss::kl_divergence, log_q, p, Tensor(), reduction});
}

}  // namespace heed
