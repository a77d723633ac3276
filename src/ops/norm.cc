#include "ops/norm.h"

#include "autograd/tape.h"
#include "kernels/reduction/norm.h"
#include "ops/check.h"

namespace heed {
namespace {

const OpName kLayerNorm{"layer_norm"};
const OpName kRmsNorm{"rms_norm"};
const OpName kResidualNorm{"residual_norm"};

const float* floats(const Tensor& t) { return t.defined() ? t.data<float>() : nullptr; }

// What the backward pass needs of a forward one.
struct SavedNorm {
  Tensor s, gamma, beta, mean, rstd;
  kernels::Dropout dropout;
  bool rms;
};

kernels::Norm forward_args(const Tensor& x, const Tensor& gamma, const Tensor& beta,
                           const Tensor& y) {
  return {.rows = x.size() / std::max<int64_t>(x.dim(-1), 1),
          .width = x.dim(-1),
          .dtype = x.dtype(),
          .x = x.raw(),
          .gamma = floats(gamma),
          .beta = floats(beta),
          .y = y.raw()};
}

void check_norm(const char* op, const Tensor& x, const Tensor& gamma, const Tensor& beta) {
  check_float(op, "x", x);
  check(x.rank() >= 1 && x.dim(-1) > 0, "[{}] x is {}, expected [...,width]", op, x.shape());
  check_vector(op, "gamma", gamma, x.dim(-1));
  check_vector(op, "beta", beta, x.dim(-1));
}

// Gradients of gamma and beta where they are wanted.
void parameter_targets(const SavedNorm& saved, kernels::NormBackward& args) {
  if (saved.gamma.defined() && needs_grad(saved.gamma)) {
    const GradTarget target = grad_target(saved.gamma);
    args.d_gamma = target.grad.data<float>();
    args.accumulate_gamma = target.accumulate;
  }
  if (saved.beta.defined() && needs_grad(saved.beta)) {
    const GradTarget target = grad_target(saved.beta);
    args.d_beta = target.grad.data<float>();
    args.accumulate_beta = target.accumulate;
  }
}

// The statistics of each row, which the backward pass needs.
void keep_statistics(SavedNorm& saved, kernels::Norm& args) {
  saved.mean = Tensor::empty({args.rows});
  saved.rstd = Tensor::empty({args.rows});
  args.mean = saved.mean.data<float>();
  args.rstd = saved.rstd.data<float>();
}

kernels::NormBackward backward_args(const SavedNorm& saved, const Tensor& dy) {
  kernels::NormBackward args{.rows = saved.rstd.size(),
                             .width = saved.s.dim(-1),
                             .dtype = saved.s.dtype(),
                             .s = saved.s.raw(),
                             .dy = dy.defined() ? dy.raw() : nullptr,
                             .dropout = saved.dropout,
                             .gamma = floats(saved.gamma),
                             .mean = floats(saved.mean),
                             .rstd = floats(saved.rstd),
                             .rms = saved.rms,
                             .dx = nullptr};
  if (dy.defined()) {
    parameter_targets(saved, args);
  }
  return args;
}

Tensor plain_norm(const OpName& name, const Tensor& x, const Tensor& gamma, const Tensor& beta,
                  float epsilon, bool rms) {
  check_norm(name.name(), x, gamma, beta);
  Tensor y = Tensor::empty(x.shape(), x.dtype());
  kernels::Norm args = forward_args(x, gamma, beta, y);
  args.epsilon = epsilon;
  args.rms = rms;
  Tape* tape = Tape::recording({&x, &gamma, &beta});
  SavedNorm saved{
      .s = x, .gamma = gamma, .beta = beta, .mean = {}, .rstd = {}, .dropout = {}, .rms = rms};
  if (tape != nullptr) {
    keep_statistics(saved, args);
  }
  kernels::norm(args);
  if (tape != nullptr) {
    tape->record(name, y, [=](const Tensor& dy) {
      kernels::NormBackward back = backward_args(saved, dy);
      if (needs_grad(x)) {
        const GradTarget target = grad_target(x);
        back.dx = target.grad.raw();
        back.accumulate_dx = target.accumulate;
      }
      kernels::norm_backward(back);
    });
  }
  return y;
}

// ds reaches x and, through dropout, the branch; without dropout both get the same tensor.
void residual_backward(const SavedNorm& saved, const Tensor& x, const Tensor& branch,
                       const Tensor& d_sum, const Tensor& dy) {
  kernels::NormBackward back = backward_args(saved, dy);
  back.d_sum = d_sum.defined() ? d_sum.raw() : nullptr;
  const Tensor ds = Tensor::empty(saved.s.shape(), saved.s.dtype());
  back.dx = ds.raw();
  Tensor d_branch = ds;
  if (saved.dropout.active() && needs_grad(branch)) {
    d_branch = Tensor::empty(ds.shape(), ds.dtype());
    back.d_branch = d_branch.raw();
  }
  kernels::norm_backward(back);
  if (needs_grad(x)) {
    add_grad(x, ds);
  }
  if (needs_grad(branch)) {
    add_grad(branch, d_branch);
  }
}

}  // namespace

Tensor layer_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta, float epsilon) {
  return plain_norm(kLayerNorm, x, gamma, beta, epsilon, false);
}

Tensor rms_norm(const Tensor& x, const Tensor& gamma, float epsilon) {
  return plain_norm(kRmsNorm, x, gamma, Tensor(), epsilon, true);
}

ResidualNorm residual_norm(const Tensor& x, const Tensor& branch, const Tensor& gamma,
                           const Tensor& beta, NormOptions options) {
  check_norm("residual_norm", x, gamma, beta);
  check_dtype("residual_norm", "branch", branch, x.dtype());
  check_shape("residual_norm", "branch", branch, x.shape());
  check_dropout("residual_norm", options.dropout);
  ResidualNorm result{Tensor::empty(x.shape(), x.dtype()), Tensor::empty(x.shape(), x.dtype())};
  kernels::Norm args = forward_args(x, gamma, beta, result.normed);
  args.branch = branch.raw();
  args.sum = result.sum.raw();
  args.epsilon = options.epsilon;
  args.rms = options.rms;
  if (Tape* tape = Tape::current(); tape != nullptr && options.dropout > 0.0F) {
    args.dropout = {options.dropout, tape->draw()};
  }
  Tape* tape = Tape::recording({&x, &branch, &gamma, &beta});
  SavedNorm saved{.s = {},
                  .gamma = gamma,
                  .beta = beta,
                  .mean = {},
                  .rstd = {},
                  .dropout = args.dropout,
                  .rms = options.rms};
  if (tape != nullptr) {
    saved.s = result.sum.detached();
    keep_statistics(saved, args);
  }
  kernels::norm(args);
  if (tape != nullptr) {
    // Only what residual_backward asks for: the slots of x and branch, not their elements.
    tape->record(kResidualNorm, result.sum, result.normed,
                 [saved, x = x.gradient_handle(), branch = branch.gradient_handle()](
                     const Tensor& d_sum, const Tensor& dy) {
                   residual_backward(saved, x, branch, d_sum, dy);
                 });
  }
  return result;
}

}  // namespace heed
