#include "ops/shape/cast.h"

#include "autograd/tape.h"
#include "kernels/copy.h"
#include "ops/operands.h"

namespace heed {
namespace {

const OpName kCast{"cast"};

}  // namespace

// dx = dy, rounded to the dtype of x.
Tensor cast(const Tensor& x, DType dtype) {
  check_float("cast", "x", x);
  check(dtype == DType::f32 || dtype == DType::bf16, "[cast] to {}, expected f32 or bf16",
        name_of(dtype));
  if (x.dtype() == dtype) {
    return x;
  }
  Tensor y = Tensor::empty(x.shape(), dtype);  // [...] as x
  kernels::copy({.n = x.size(), .from = in(x), .to = out(y)});
  if (Tape* tape = Tape::recording({&x})) {
    tape->record(kCast, y, [x = x.gradient_handle()](const Tensor& dy) { add_grad(x, dy); });
  }
  return y;
}

}  // namespace heed
