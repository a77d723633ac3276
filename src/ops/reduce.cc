#include "ops/reduce.h"

#include <limits>

#include "autograd/tape.h"
#include "kernels/reduction/axis_reduction.h"
#include "ops/operands.h"

namespace heed {
namespace {

const OpName kSum{"sum"};
const OpName kMean{"mean"};
const OpName kMax{"max"};

// x as [outer, n, inner] with n the axis that goes.
struct Extents {
  int64_t outer, n, inner;
  Shape result;
};

Extents over_all(const Tensor& x) { return {1, x.size(), 1, {}}; }

Extents over_axis(const char* op, const Tensor& x, int axis, bool keep_dim) {
  const Shape& shape = x.shape();
  const int along = shape.axis(axis, op);
  int64_t kept[Shape::kMaxRank];
  size_t rank = 0;
  for (int i = 0; i < shape.rank(); ++i) {
    if (i != along || keep_dim) {
      kept[rank++] = i == along ? 1 : shape[i];
    }
  }
  return {shape.product(0, along), shape[along], shape.product(along + 1, shape.rank()),
          Shape(std::span<const int64_t>(kept, rank))};
}

// y = scale sum(x); dx = scale dy, repeated along the axis.
Tensor scaled_sum(const OpName& name, const Tensor& x, const Extents& e, float scale) {
  Tensor y = Tensor::empty(e.result, x.dtype());  // x without the axis
  kernels::axis_sum(
      {.outer = e.outer, .n = e.n, .inner = e.inner, .x = in(x), .y = out(y), .scale = scale});
  if (Tape* tape = Tape::recording({&x})) {
    tape->record(name, y, [e, scale, x = x.gradient_handle()](const Tensor& dy) {
      const GradTarget target = grad_target(x);
      kernels::axis_spread({.outer = e.outer,
                            .n = e.n,
                            .inner = e.inner,
                            .x = in(dy),
                            .y = out(target.grad),
                            .scale = scale,
                            .accumulate = target.accumulate});
    });
  }
  return y;
}

// dx = dy at the first maximum, 0 elsewhere.
Tensor maximum_of(const Tensor& x, const Extents& e) {
  check(e.n > 0 && e.n <= std::numeric_limits<int32_t>::max(),
        "[max] x is {}, expected 1 to 2^31 - 1 elements to choose from", x.shape());
  Tensor y = Tensor::empty(e.result, x.dtype());       // x without the axis
  Tensor index = Tensor::empty(e.result, DType::i32);  // as y
  kernels::axis_max({.outer = e.outer,
                     .n = e.n,
                     .inner = e.inner,
                     .x = in(x),
                     .y = out(y),
                     .index = index.data<int32_t>()});
  if (Tape* tape = Tape::recording({&x})) {
    tape->record(kMax, y, [e, index, x = x.gradient_handle()](const Tensor& dy) {
      const GradTarget target = grad_target(x);
      kernels::axis_scatter({.outer = e.outer,
                             .n = e.n,
                             .inner = e.inner,
                             .x = in(dy),
                             .index = index.data<int32_t>(),
                             .y = out(target.grad),
                             .accumulate = target.accumulate});
    });
  }
  return y;
}

float inverse(int64_t n) { return 1.0F / static_cast<float>(n); }

}  // namespace

Tensor sum(const Tensor& x) {
  check_float("sum", "x", x);
  return scaled_sum(kSum, x, over_all(x), 1.0F);
}

Tensor sum(const Tensor& x, int axis, bool keep_dim) {
  check_float("sum", "x", x);
  return scaled_sum(kSum, x, over_axis("sum", x, axis, keep_dim), 1.0F);
}

Tensor mean(const Tensor& x) {
  check_float("mean", "x", x);
  return scaled_sum(kMean, x, over_all(x), inverse(x.size()));
}

Tensor mean(const Tensor& x, int axis, bool keep_dim) {
  check_float("mean", "x", x);
  const Extents extents = over_axis("mean", x, axis, keep_dim);
  return scaled_sum(kMean, x, extents, inverse(extents.n));
}

Tensor max(const Tensor& x) {
  check_float("max", "x", x);
  return maximum_of(x, over_all(x));
}

Tensor max(const Tensor& x, int axis, bool keep_dim) {
  check_float("max", "x", x);
  return maximum_of(x, over_axis("max", x, axis, keep_dim));
}

}  // namespace heed
