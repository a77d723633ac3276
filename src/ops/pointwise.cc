#include "ops/pointwise.h"

#include <array>
#include <utility>

#include "autograd/tape.h"
#include "kernels/elementwise/dropout.h"
#include "kernels/elementwise/pointwise.h"
#include "kernels/reduction/axis_reduction.h"
#include "ops/operands.h"

namespace heed {
namespace {

const OpName kScale{"scale"};
const OpName kAddScalar{"add_scalar"};
const OpName kDropout{"dropout"};
const OpName kWhere{"where"};

// A name on the tape for every row of the tables, none excepted: it is never recorded.
template <size_t... kIndex>
std::array<OpName, sizeof...(kIndex)> names_of(auto rows, std::index_sequence<kIndex...> /*all*/,
                                               size_t skipped) {
  return {OpName(rows[kIndex + skipped].name)...};
}
constexpr size_t kUnnamed = 1;  // Unary::none
const auto kUnaryNames =
    names_of(kernels::unary_rows(),
             std::make_index_sequence<static_cast<size_t>(Unary::kCount) - kUnnamed>(), kUnnamed);
const auto kBinaryNames = names_of(
    kernels::binary_rows(), std::make_index_sequence<static_cast<size_t>(Binary::kCount)>(), 0);

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

// Contributes dy times a slope that is the same everywhere.
void contribute_constant(const Tensor& tensor, const Tensor& dy, float slope) {
  if (slope == 1.0F && tensor.size() == dy.size()) {
    add_grad(tensor, dy);  // handed on without a copy
  } else {
    add_summed(tensor, dy, slope);
  }
}

// The gradient of a, or else of b.
void contribute_partial(const kernels::BinaryRow& row, bool first, const Tensor& a, const Tensor& b,
                        const Tensor& dy) {
  const kernels::Reads reads = first ? row.reads_da : row.reads_db;
  if (!reads.a && !reads.b) {
    const double slope = first ? row.da(0.0, 0.0) : row.db(0.0, 0.0);
    contribute_constant(first ? a : b, dy, static_cast<float>(slope));
    return;
  }
  contribute(first ? a : b, dy.shape(), [&](kernels::Out to, bool accumulate) {
    kernels::binary_backward({.n = dy.size(),
                              .function = row.function,
                              .first = first,
                              .a = in(a),
                              .b = repeated(b),
                              .dy = in(dy),
                              .out = to,
                              .accumulate = accumulate});
  });
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

// da and db are those of the function's row; db is summed over the repetitions of b. What neither
// of them reads is not kept.
Tensor pointwise(Binary function, const Tensor& a, const Tensor& b) {
  const OpName& name = kBinaryNames[static_cast<size_t>(function)];
  check_operands(name.name(), a, b);
  Tensor y = Tensor::empty(a.shape(), a.dtype());  // [...] as a
  kernels::binary({.n = a.size(), .function = function, .a = in(a), .b = repeated(b), .y = out(y)});
  if (Tape* tape = Tape::recording({&a, &b})) {
    const kernels::BinaryRow& row = kernels::row_of(function);
    const bool keep_a = (needs_grad(a) && row.reads_da.a) || (needs_grad(b) && row.reads_db.a);
    const bool keep_b = (needs_grad(a) && row.reads_da.b) || (needs_grad(b) && row.reads_db.b);
    tape->record(name, y,
                 [&row, a = keep_a ? a : a.gradient_handle(),
                  b = keep_b ? b : b.gradient_handle()](const Tensor& dy) {
                   if (needs_grad(a)) {
                     contribute_partial(row, true, a, b, dy);
                   }
                   if (needs_grad(b)) {
                     contribute_partial(row, false, a, b, dy);
                   }
                 });
  }
  return y;
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

// dx = dy f'(x), from x or from f(x), as the function's row says.
Tensor pointwise(Unary function, const Tensor& x) {
  if (function == Unary::none) {
    return x;
  }
  const OpName& name = kUnaryNames[static_cast<size_t>(function) - kUnnamed];
  check_float(name.name(), "x", x);
  Tensor y = Tensor::empty(x.shape(), x.dtype());  // [...] as x
  kernels::unary({.n = x.size(), .function = function, .x = in(x), .y = out(y)});
  if (Tape* tape = Tape::recording({&x})) {
    const kernels::Saved needed = kernels::row_of(function).saved;
    const Tensor saved = needed == kernels::Saved::value      ? y.detached()
                         : needed == kernels::Saved::argument ? x.detached()
                                                              : Tensor();
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
