#include "ops/linear.h"

#include "autograd/tape.h"
#include "kernels/elementwise/pointwise.h"
#include "kernels/matmul/matmul.h"
#include "kernels/reduction/column_sum.h"
#include "ops/check.h"
#include "ops/linear_backward.h"
#include "ops/operands.h"

namespace heed {
namespace {

const OpName kLinear{"linear"};
const OpName kMatmul{"matmul"};

}  // namespace

// dx = dy W, dW = dy^T x, db = sum over rows of dy, where dy is already before the activation.
void linear_backward(const LinearGrads& grads) {
  const Tensor& dy = grads.dy;
  const int64_t inputs = grads.weight.dim(1);
  const int64_t outputs = grads.weight.dim(0);
  const int64_t rows = grads.x.shape().product(0, grads.x.rank() - 1);
  if (needs_grad(grads.weight)) {
    const GradTarget target = grad_target(grads.weight);
    kernels::matmul({.m = outputs,
                     .n = inputs,
                     .k = rows,
                     .a = in(dy),
                     .b = in(grads.x),
                     .c = out(target.grad),
                     .transpose_a = true,
                     .accumulate = target.accumulate});
  }
  if (grads.bias.defined() && needs_grad(grads.bias)) {
    const GradTarget target = grad_target(grads.bias);
    kernels::column_sum({.rows = rows,
                         .columns = outputs,
                         .x = in(dy),
                         .out = out(target.grad),
                         .accumulate = target.accumulate});
  }
  if (needs_grad(grads.x)) {
    const GradTarget target = grad_target(grads.x);
    kernels::matmul({.m = rows,
                     .n = inputs,
                     .k = outputs,
                     .a = in(dy),
                     .b = in(grads.weight),
                     .c = out(target.grad),
                     .accumulate = target.accumulate});
  }
}

namespace {

// dy f'(x); `saved` is x or f(x), as the function's row says.
Tensor before_activation(Activation function, const Tensor& saved, const Tensor& dy) {
  Tensor dx = Tensor::empty(dy.shape(), dy.dtype());
  kernels::unary_backward({.n = dy.size(),
                           .function = function,
                           .saved = in(saved.defined() ? saved : dy),
                           .dy = in(dy),
                           .dx = out(dx)});
  return dx;
}

}  // namespace

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias, Activation activation) {
  check_float("linear", "x", x);
  if (weight.dtype() != DType::i8) {  // packed: see kernels/matmul/int8/int8.h
    check_dtype("linear", "weight", weight, x.dtype());
  }
  check(weight.rank() == 2 && x.rank() >= 1 && x.dim(-1) == weight.dim(1),
        "[linear] x is {}, weight is {}: expected x [...,in] and weight [out,in]", x.shape(),
        weight.shape());
  check_vector("linear", "bias", bias, weight.dim(0));
  Shape shape = x.shape();
  shape.set(x.rank() - 1, weight.dim(0));
  Tensor y = Tensor::empty(shape, x.dtype());  // [..., out]
  Tape* tape = Tape::recording({&x, &weight, &bias});
  const kernels::Saved needed = kernels::row_of(activation).saved;
  const bool keep_pre = tape != nullptr && needed == kernels::Saved::argument;
  const Tensor pre = keep_pre ? Tensor::empty(shape, x.dtype()) : Tensor();
  kernels::matmul({.m = x.shape().product(0, x.rank() - 1),
                   .n = weight.dim(0),
                   .k = weight.dim(1),
                   .a = in(x),
                   .b = in(weight),
                   .c = out(y),
                   .transpose_b = true,
                   .bias = bias.defined() ? bias.data<float>() : nullptr,
                   .activation = activation,
                   .pre_activation = keep_pre ? pre.raw() : nullptr});
  if (tape != nullptr) {
    const Tensor saved = needed == kernels::Saved::value ? y.detached() : pre;
    tape->record(kLinear, y, [=](const Tensor& dy) {
      const Tensor d_pre =
          activation == Activation::none ? dy : before_activation(activation, saved, dy);
      linear_backward({.x = x, .weight = weight, .bias = bias, .dy = d_pre});
    });
  }
  return y;
}

namespace {

// C = op(A) op(B) of one shape of operands, as a kernel call.
kernels::Matmul product(const Tensor& a, bool transpose_a, const Tensor& b, bool transpose_b) {
  const bool shared = b.rank() == 2 && a.rank() > 2;
  const int64_t batch = a.shape().product(0, a.rank() - 2);
  kernels::Matmul args{.m = a.dim(transpose_a ? -1 : -2),
                       .n = b.dim(transpose_b ? -2 : -1),
                       .k = a.dim(transpose_a ? -2 : -1),
                       .a = in(a),
                       .b = in(b),
                       .c = {},
                       .transpose_a = transpose_a,
                       .transpose_b = transpose_b,
                       .batch = batch};
  if (shared && !transpose_a) {  // one tall product
    args.m *= batch;
    args.batch = 1;
  }
  return args;
}

void accumulate_product(const Tensor& into, const Tensor& a, bool transpose_a, const Tensor& b,
                        bool transpose_b) {
  const GradTarget target = grad_target(into);
  kernels::Matmul args = product(a, transpose_a, b, transpose_b);
  args.c = out(target.grad);
  args.accumulate = target.accumulate;
  kernels::matmul(args);
}

// For C = op(A) op(B): dA = dC op(B)^T, dB = op(A)^T dC, each transposed back where A or B is.
void matmul_backward(const Tensor& a, const Tensor& b, MatmulOptions options, const Tensor& dc) {
  if (needs_grad(a)) {
    if (options.transpose_a) {
      accumulate_product(a, b, options.transpose_b, dc, true);
    } else {
      accumulate_product(a, dc, false, b, !options.transpose_b);
    }
  }
  if (!needs_grad(b)) {
    return;
  }
  Tensor left = a;
  Tensor right = dc;
  if (b.rank() == 2 && a.rank() > 2) {  // b is shared: its gradient is one product over all rows
    left = a.detached().reshape({a.shape().product(0, a.rank() - 1), a.dim(-1)});
    right = dc.detached().reshape({dc.shape().product(0, dc.rank() - 1), dc.dim(-1)});
  }
  if (options.transpose_b) {
    accumulate_product(b, right, true, left, options.transpose_a);
  } else {
    accumulate_product(b, left, !options.transpose_a, right, false);
  }
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b, MatmulOptions options) {
  check_float("matmul", "a", a);
  check_dtype("matmul", "b", b, a.dtype());
  const int rank = a.rank();
  check(rank >= 2 && (b.rank() == rank || b.rank() == 2) &&
            a.dim(options.transpose_a ? -2 : -1) == b.dim(options.transpose_b ? -1 : -2),
        "[matmul] a is {}{}, b is {}{}: inner extents differ", a.shape(),
        options.transpose_a ? " transposed" : "", b.shape(),
        options.transpose_b ? " transposed" : "");
  check(b.rank() == rank || !options.transpose_a,
        "[matmul] a is {} transposed, b is {}: a shared b needs a plain a", a.shape(), b.shape());
  for (int i = 0; b.rank() == rank && i < rank - 2; ++i) {
    check(a.dim(i) == b.dim(i), "[matmul] a is {}, b is {}: axis {} differs", a.shape(), b.shape(),
          i);
  }
  Shape shape = a.shape();
  shape.set(rank - 2, a.dim(options.transpose_a ? -1 : -2));
  shape.set(rank - 1, b.dim(options.transpose_b ? -2 : -1));
  Tensor c = Tensor::empty(shape, a.dtype());  // [..., m, n]
  kernels::Matmul args = product(a, options.transpose_a, b, options.transpose_b);
  args.c = out(c);
  kernels::matmul(args);
  if (Tape* tape = Tape::recording({&a, &b})) {
    tape->record(kMatmul, c, [=](const Tensor& dc) { matmul_backward(a, b, options, dc); });
  }
  return c;
}

}  // namespace heed
