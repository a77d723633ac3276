#include "ops/pointwise.h"

#include "autograd/tape.h"
#include "kernels/elementwise/activate.h"
#include "kernels/elementwise/dropout.h"
#include "kernels/elementwise/pointwise.h"
#include "kernels/reduction/axis_reduction.h"
#include "ops/operands.h"

namespace heed {
namespace {

using kernels::Binary;
using kernels::Unary;

const OpName kAdd{"add"};
const OpName kSub{"sub"};
const OpName kMul{"mul"};
const OpName kDiv{"div"};
const OpName kMaximum{"maximum"};
const OpName kMinimum{"minimum"};
const OpName kScale{"scale"};
const OpName kAddScalar{"add_scalar"};
const OpName kExp{"exp"};
const OpName kLog{"log"};
const OpName kSqrt{"sqrt"};
const OpName kRsqrt{"rsqrt"};
const OpName kSquare{"square"};
const OpName kAbs{"abs"};
const OpName kNeg{"neg"};
const OpName kSin{"sin"};
const OpName kCos{"cos"};
const OpName kErf{"erf"};
const OpName kReciprocal{"reciprocal"};
const OpName kActivate{"activate"};
const OpName kDropout{"dropout"};
const OpName kWhere{"where"};

// Contributes scale * gradient, summed over the repetitions of `tensor`.
void add_summed(const Tensor& tensor, const Tensor& gradient, float scale = 1.0F) {
  const GradTarget target = grad_target(tensor);
  if (tensor.size() == gradient.size()) {
    kernels::copy({.n = gradient.size(),
                   .from = in(gradient),
                   .to = out(target.grad),
                   .scale = scale,
                   .accumulate = target.accumulate});
    return;
  }
  const bool one = tensor.size() == 1;  // a long row is summed better than a thin column
  kernels::axis_sum({.outer = 1,
                     .n = one ? gradient.size() : gradient.size() / tensor.size(),
                     .inner = tensor.size(),
                     .x = in(gradient),
                     .y = out(target.grad),
                     .scale = scale,
                     .accumulate = target.accumulate});
}

// Contributes what write(out, accumulate) writes for each element of `whole` to `tensor`'s
// gradient: straight into it, or through a tensor that is summed over the repetitions.
template <typename Write>
void contribute(const Tensor& tensor, const Shape& whole, const Write& write) {
  if (tensor.size() == whole.size()) {
    const GradTarget target = grad_target(tensor);
    write(out(target.grad), target.accumulate);
    return;
  }
  const Tensor each = Tensor::empty(whole);  // f32: it is about to be summed
  write(out(each), false);
  add_summed(tensor, each);
}

void check_operands(const char* op, const Tensor& a, const Tensor& b) {
  check_float(op, "a", a);
  check_dtype_or_f32(op, "b", b, a.dtype());
  check_repeats(op, "b", b, a.shape());
}

Tensor binary_value(const OpName& name, Binary function, const Tensor& a, const Tensor& b) {
  check_operands(name.name(), a, b);
  Tensor y = Tensor::empty(a.shape(), a.dtype());  // [...] as a
  kernels::binary({.n = a.size(), .function = function, .a = in(a), .b = repeated(b), .y = out(y)});
  return y;
}

// y = a + sign b. da = dy, db = sign dy summed over repetitions; neither needs a or b.
Tensor sum_of(const OpName& name, Binary function, const Tensor& a, const Tensor& b) {
  Tensor y = binary_value(name, function, a, b);
  if (Tape* tape = Tape::recording({&a, &b})) {
    const float sign = function == Binary::add ? 1.0F : -1.0F;
    tape->record(name, y,
                 [sign, a = a.gradient_handle(), b = b.gradient_handle()](const Tensor& dy) {
                   if (needs_grad(a)) {
                     add_grad(a, dy);
                   }
                   if (needs_grad(b) && sign > 0.0F && b.size() == dy.size()) {
                     add_grad(b, dy);
                   } else if (needs_grad(b)) {
                     add_summed(b, dy, sign);
                   }
                 });
  }
  return y;
}

// mul: da = dy b, db = dy a. div: da = dy / b, db = -dy a / b^2. maximum, minimum: dy goes to the
// one that was taken. db is summed over the repetitions of b.
Tensor product_of(const OpName& name, Binary function, const Tensor& a, const Tensor& b) {
  Tensor y = binary_value(name, function, a, b);
  if (Tape* tape = Tape::recording({&a, &b})) {
    const bool picks = function == Binary::maximum || function == Binary::minimum;
    const bool need_a = picks || needs_grad(b);
    const bool need_b = picks || needs_grad(a) || function == Binary::div;
    tape->record(name, y,
                 [function, a = need_a ? a : a.gradient_handle(),
                  b = need_b ? b : b.gradient_handle()](const Tensor& dy) {
                   const auto part = [&](bool first) {
                     contribute(first ? a : b, dy.shape(), [&](kernels::Out to, bool accumulate) {
                       kernels::binary_backward({.n = dy.size(),
                                                 .function = function,
                                                 .first = first,
                                                 .a = in(a),
                                                 .b = repeated(b),
                                                 .dy = in(dy),
                                                 .out = to,
                                                 .accumulate = accumulate});
                     });
                   };
                   if (needs_grad(a)) {
                     part(true);
                   }
                   if (needs_grad(b)) {
                     part(false);
                   }
                 });
  }
  return y;
}

// dx = dy f'(x), from x or from y.
Tensor function_of(const OpName& name, Unary function, const Tensor& x) {
  check_float(name.name(), "x", x);
  Tensor y = Tensor::empty(x.shape(), x.dtype());  // [...] as x
  kernels::unary({.n = x.size(), .function = function, .x = in(x), .y = out(y)});
  if (Tape* tape = Tape::recording({&x})) {
    // The derivative of neg reads nothing; dy stands in.
    Tensor saved = kernels::derives_from_output(function) ? y.detached() : x.detached();
    if (function == Unary::neg) {
      saved = Tensor();
    }
    tape->record(name, y, [function, saved, x = x.gradient_handle()](const Tensor& dy) {
      const GradTarget target = grad_target(x);
      kernels::unary_backward({.n = dy.size(),
                               .function = function,
                               .saved = in(saved.defined() ? saved : dy),
                               .dy = in(dy),
                               .dx = out(target.grad),
                               .accumulate = target.accumulate});
    });
  }
  return y;
}

// For kernels that write gradients of x's own dtype only: write(dx, accumulate).
template <typename Write>
void contribute_narrow(const Tensor& x, const Write& write) {
  if (x.slot()->grad.defined() && x.slot()->grad.dtype() != x.dtype()) {
    const Tensor dx = Tensor::empty(x.shape(), x.dtype());
    write(dx, false);
    add_grad(x, dx);
    return;
  }
  const GradTarget target = grad_target(x);
  write(target.grad, target.accumulate);
}

}  // namespace

Tensor add(const Tensor& a, const Tensor& b) { return sum_of(kAdd, Binary::add, a, b); }
Tensor sub(const Tensor& a, const Tensor& b) { return sum_of(kSub, Binary::sub, a, b); }
Tensor mul(const Tensor& a, const Tensor& b) { return product_of(kMul, Binary::mul, a, b); }
Tensor div(const Tensor& a, const Tensor& b) { return product_of(kDiv, Binary::div, a, b); }
Tensor maximum(const Tensor& a, const Tensor& b) {
  return product_of(kMaximum, Binary::maximum, a, b);
}
Tensor minimum(const Tensor& a, const Tensor& b) {
  return product_of(kMinimum, Binary::minimum, a, b);
}

// dx = factor dy
Tensor scale(const Tensor& x, float factor) {
  check_float("scale", "x", x);
  Tensor y = Tensor::empty(x.shape(), x.dtype());  // [...] as x
  kernels::copy({.n = x.size(), .from = in(x), .to = out(y), .scale = factor});
  if (Tape* tape = Tape::recording({&x})) {
    tape->record(kScale, y, [factor, x = x.gradient_handle()](const Tensor& dy) {
      add_summed(x, dy, factor);
    });
  }
  return y;
}

// dx = dy
Tensor add_scalar(const Tensor& x, float value) {
  check_float("add_scalar", "x", x);
  Tensor y = Tensor::empty(x.shape(), x.dtype());  // [...] as x
  kernels::binary({.n = x.size(),
                   .function = Binary::add,
                   .a = in(x),
                   .b = {{&value, DType::f32}, 1},
                   .y = out(y)});
  if (Tape* tape = Tape::recording({&x})) {
    tape->record(kAddScalar, y, [x = x.gradient_handle()](const Tensor& dy) { add_grad(x, dy); });
  }
  return y;
}

Tensor exp(const Tensor& x) { return function_of(kExp, Unary::exp, x); }
Tensor log(const Tensor& x) { return function_of(kLog, Unary::log, x); }
Tensor sqrt(const Tensor& x) { return function_of(kSqrt, Unary::sqrt, x); }
Tensor rsqrt(const Tensor& x) { return function_of(kRsqrt, Unary::rsqrt, x); }
Tensor square(const Tensor& x) { return function_of(kSquare, Unary::square, x); }
Tensor abs(const Tensor& x) { return function_of(kAbs, Unary::abs, x); }
Tensor neg(const Tensor& x) { return function_of(kNeg, Unary::neg, x); }
Tensor sin(const Tensor& x) { return function_of(kSin, Unary::sin, x); }
Tensor cos(const Tensor& x) { return function_of(kCos, Unary::cos, x); }
Tensor erf(const Tensor& x) { return function_of(kErf, Unary::erf, x); }
Tensor reciprocal(const Tensor& x) { return function_of(kReciprocal, Unary::reciprocal, x); }

// dx = dy f'(x); relu needs only the sign, which its value has too.
Tensor activate(const Tensor& x, Activation activation) {
  check_float("activate", "x", x);
  if (activation == Activation::none) {
    return x;
  }
  Tensor y = Tensor::empty(x.shape(), x.dtype());  // [...] as x
  kernels::activate(
      {.n = x.size(), .dtype = x.dtype(), .activation = activation, .x = x.raw(), .y = y.raw()});
  if (Tape* tape = Tape::recording({&x})) {
    const Tensor saved = activation == Activation::relu ? y.detached() : x.detached();
    tape->record(kActivate, y, [activation, saved, x = x.gradient_handle()](const Tensor& dy) {
      contribute_narrow(x, [&](const Tensor& dx, bool accumulate) {
        kernels::activate_backward({.n = dy.size(),
                                    .dtype = dy.dtype(),
                                    .activation = activation,
                                    .x = saved.raw(),
                                    .dy = dy.raw(),
                                    .dx = dx.raw(),
                                    .accumulate = accumulate});
      });
    });
  }
  return y;
}

// dx = kept(dy) / (1 - p), the mask drawn again.
Tensor dropout(const Tensor& x, float p) {
  check_float("dropout", "x", x);
  check(p >= 0.0F && p < 1.0F, "[dropout] p is {}, expected 0 <= p < 1", p);
  Tape* training = Tape::current();
  if (training == nullptr || p == 0.0F) {
    return x;
  }
  const kernels::Dropout mask{p, training->draw()};
  Tensor y = Tensor::empty(x.shape(), x.dtype());  // [...] as x
  kernels::apply_dropout(
      {.n = x.size(), .dtype = x.dtype(), .x = x.raw(), .y = y.raw(), .dropout = mask});
  if (Tape* tape = Tape::recording({&x})) {
    tape->record(kDropout, y, [mask, x = x.gradient_handle()](const Tensor& dy) {
      contribute_narrow(x, [&](const Tensor& dx, bool accumulate) {
        kernels::apply_dropout({.n = dy.size(),
                                .dtype = dy.dtype(),
                                .x = dy.raw(),
                                .y = dx.raw(),
                                .dropout = mask,
                                .accumulate = accumulate});
      });
    });
  }
  return y;
}

// da = mask ? dy : 0, db = mask ? 0 : dy summed over the repetitions of b.
Tensor where(const Tensor& mask, const Tensor& a, const Tensor& b) {
  check_dtype("where", "mask", mask, DType::i8);
  check_operands("where", a, b);
  check_repeats("where", "mask", mask, a.shape());
  Tensor y = Tensor::empty(a.shape(), a.dtype());  // [...] as a
  kernels::select({.n = a.size(),
                   .mask = mask.data<int8_t>(),
                   .mask_period = mask.size(),
                   .a = repeated(a),
                   .b = repeated(b),
                   .y = out(y)});
  if (Tape* tape = Tape::recording({&a, &b})) {
    tape->record(kWhere, y,
                 [mask, a = a.gradient_handle(), b = b.gradient_handle()](const Tensor& dy) {
                   const float nothing = 0.0F;
                   const kernels::Operand zero{{&nothing, DType::f32}, 1};
                   const auto part = [&](bool first) {
                     contribute(first ? a : b, dy.shape(), [&](kernels::Out to, bool accumulate) {
                       kernels::select({.n = dy.size(),
                                        .mask = mask.data<int8_t>(),
                                        .mask_period = mask.size(),
                                        .a = first ? repeated(dy) : zero,
                                        .b = first ? zero : repeated(dy),
                                        .y = to,
                                        .accumulate = accumulate});
                     });
                   };
                   if (needs_grad(a)) {
                     part(true);
                   }
                   if (needs_grad(b)) {
                     part(false);
                   }
                 });
  }
  return y;
}

}  // namespace heed
