#include "ops/feed_forward.h"

#include "autograd/tape.h"
#include "kernels/elementwise/dropout.h"
#include "kernels/elementwise/pointwise.h"
#include "ops/check.h"
#include "ops/linear.h"
#include "ops/linear_backward.h"
#include "ops/operands.h"

namespace heed {
namespace {

const OpName kFeedForward{"feed_forward"};

void drop(const Tensor& x, const kernels::Dropout& dropout) {
  if (dropout.active()) {
    kernels::apply_dropout(
        {.n = x.size(), .dtype = x.dtype(), .x = x.raw(), .y = x.raw(), .dropout = dropout});
  }
}

struct SavedHidden {
  Tensor x, w1, b1, w2, b2;
  Tensor hidden;  // relu: after activation and dropout; else before the activation
  Activation activation;
  kernels::Dropout dropout;
};

// activation(pre), as the forward pass had it.
Tensor activated_again(const SavedHidden& saved) {
  Tensor hidden = Tensor::empty(saved.hidden.shape(), saved.hidden.dtype());
  kernels::unary(
      {.n = hidden.size(), .function = saved.activation, .x = in(saved.hidden), .y = out(hidden)});
  return hidden;
}

// dropout(activation(pre)), as the forward pass had it.
Tensor hidden_again(const SavedHidden& saved) {
  if (saved.activation == Activation::relu) {
    return saved.hidden;
  }
  const Tensor hidden = activated_again(saved);
  drop(hidden, saved.dropout);
  return hidden;
}

// What the derivative of the activation is computed from.
Tensor saved_for_derivative(const SavedHidden& saved) {
  const bool from_value = kernels::row_of(saved.activation).saved == kernels::Saved::value;
  return from_value && saved.activation != Activation::relu ? activated_again(saved) : saved.hidden;
}

// With h = dropout(f(p)), p = x W1^T + b1:
//   dW2 = dy^T h, db2 = sum dy, dh = dy W2, dp = dropout'(dh) f'(p), and W1, b1, x as for linear.
// relu needs no mask again: h is zero exactly where either relu or dropout stopped it.
void backward(const SavedHidden& saved, const Tensor& dy) {
  GradSlot hidden_slot{.grad = {}, .shape = saved.hidden.shape(), .written = false, .tape = 1};
  {
    Tensor hidden = hidden_again(saved);
    hidden.set_slot(&hidden_slot);
    linear_backward({.x = hidden, .weight = saved.w2, .bias = saved.b2, .dy = dy});
  }
  Tensor d_hidden = std::move(hidden_slot.grad);
  float scale = 1.0F;
  if (saved.activation == Activation::relu) {
    scale = saved.dropout.active() ? saved.dropout.scale() : 1.0F;
  } else {
    drop(d_hidden, saved.dropout);
  }
  kernels::unary_backward({.n = d_hidden.size(),
                           .function = saved.activation,
                           .saved = in(saved_for_derivative(saved)),
                           .dy = in(d_hidden),
                           .dx = out(d_hidden),
                           .scale = scale});
  linear_backward({.x = saved.x, .weight = saved.w1, .bias = saved.b1, .dy = d_hidden});
}

}  // namespace

Tensor feed_forward(const Tensor& x, const FeedForwardWeights& weights,
                    FeedForwardOptions options) {
  Tape* tape = Tape::recording({&x, &weights.w1, &weights.b1, &weights.w2, &weights.b2});
  check_dropout("feed_forward", options.dropout);
  kernels::Dropout dropout;
  if (Tape* training = Tape::current(); training != nullptr && options.dropout > 0.0F) {
    dropout = {options.dropout, training->draw(options.part)};
  }
  const PauseScope pause(Tape::current());  // recorded as one node below
  const bool keep_pre = tape != nullptr && options.activation != Activation::relu;
  Tensor hidden = linear(x, weights.w1, weights.b1,
                         keep_pre ? Activation::none : options.activation);  // [..., F]
  Tensor pre;
  if (keep_pre) {
    pre = hidden;
    hidden = Tensor::empty(pre.shape(), pre.dtype());  // [..., F]
    kernels::unary(
        {.n = pre.size(), .function = options.activation, .x = in(pre), .y = out(hidden)});
  }
  drop(hidden, dropout);
  Tensor y = linear(hidden, weights.w2, weights.b2);  // [..., C]
  if (tape != nullptr) {
    tape->record(kFeedForward, y,
                 [saved = SavedHidden{x, weights.w1, weights.b1, weights.w2, weights.b2,
                                      keep_pre ? pre : hidden, options.activation,
                                      dropout}](const Tensor& dy) { backward(saved, dy); });
  }
  return y;
}

}  // namespace heed
