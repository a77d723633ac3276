#include "ops/softmax.h"

#include "autograd/tape.h"
#include "kernels/reduction/softmax.h"
#include "ops/operands.h"

namespace heed {
namespace {

const OpName kSoftmax{"softmax"};
const OpName kLogSoftmax{"log_softmax"};

// softmax: dx = y (dy - sum(y dy)). log_softmax: dx = dy - exp(y) sum(dy).
Tensor softmax_along(const OpName& name, const Tensor& x, int axis, bool log) {
  check_float(name.name(), "x", x);
  const int along = x.shape().axis(axis, name.name());
  Tensor y = Tensor::empty(x.shape(), x.dtype());  // [...] as x
  kernels::softmax({.outer = x.shape().product(0, along),
                    .n = x.dim(along),
                    .inner = x.shape().product(along + 1, x.rank()),
                    .x = in(x),
                    .y = out(y),
                    .log = log});
  if (Tape* tape = Tape::recording({&x})) {
    tape->record(name, y,
                 [along, log, x = x.gradient_handle(), y = y.detached()](const Tensor& dy) {
                   const GradTarget target = grad_target(x);
                   kernels::softmax_backward({.outer = y.shape().product(0, along),
                                              .n = y.dim(along),
                                              .inner = y.shape().product(along + 1, y.rank()),
                                              .y = in(y),
                                              .dy = in(dy),
                                              .dx = out(target.grad),
                                              .log = log,
                                              .accumulate = target.accumulate});
                 });
  }
  return y;
}

}  // namespace

Tensor softmax(const Tensor& x, int axis) { return softmax_along(kSoftmax, x, axis, false); }

Tensor log_softmax(const Tensor& x, int axis) { return softmax_along(kLogSoftmax, x, axis, true); }

}  // namespace heed
