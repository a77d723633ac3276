#include "ops/attention/additive_attention.h"

#include "autograd/tape.h"
#include "kernels/attention/additive_attention.h"
#include "kernels/matmul/matmul.h"
#include "ops/check.h"
#include "ops/operands.h"

namespace heed {
namespace {

const OpName kAdditiveAttention{"additive_attention"};

void check_inputs(const AdditiveAttentionInputs& x) {
  const char* op = kAdditiveAttention.name();
  check_float(op, "query", x.query);
  check(x.query.rank() == 3, "[{}] query is {}, expected [B,Tq,A]", op, x.query.shape());
  const DType dtype = x.query.dtype();
  const int64_t batch = x.query.dim(0);
  check_dtype(op, "keys", x.keys, dtype);
  check(x.keys.rank() == 3 && x.keys.dim(0) == batch && x.keys.dim(2) == x.query.dim(2),
        "[{}] keys is {}, query is {}: expected keys [{},Tk,{}]", op, x.keys.shape(),
        x.query.shape(), batch, x.query.dim(2));
  check_dtype(op, "v", x.v, DType::f32);
  check_shape(op, "v", x.v, {x.query.dim(2)});
  check_dtype(op, "values", x.values, dtype);
  check(x.values.rank() == 3 && x.values.dim(0) == batch && x.values.dim(1) == x.keys.dim(1),
        "[{}] values is {}, keys is {}: expected values [{},{},V]", op, x.values.shape(),
        x.keys.shape(), batch, x.keys.dim(1));
  if (x.lengths.defined()) {
    check_dtype(op, "lengths", x.lengths, DType::i32);
    check_shape(op, "lengths", x.lengths, {batch});
    for (int64_t row = 0; row < batch; ++row) {
      const int32_t length = x.lengths.data<int32_t>()[row];
      check(0 <= length && length <= x.keys.dim(1), "[{}] length {} of row {}, expected 0 to {}",
            op, length, row, x.keys.dim(1));
    }
  }
}

kernels::AdditiveShape shape_of(const AdditiveAttentionInputs& x) {
  return {.batch = x.query.dim(0),
          .queries = x.query.dim(1),
          .keys = x.keys.dim(1),
          .width = x.query.dim(2),
          .dtype = x.query.dtype(),
          .lengths = x.lengths.defined() ? x.lengths.data<int32_t>() : nullptr};
}

// dw = d_weights + d_context values^T -> [B, Tq, Tk] f32
Tensor weight_gradient(const AdditiveAttentionInputs& x, const Tensor& d_context,
                       const Tensor& d_weights) {
  const kernels::AdditiveShape shape = shape_of(x);
  Tensor dw = Tensor::empty({shape.batch, shape.queries, shape.keys});  // [B, Tq, Tk]
  if (d_weights.defined()) {
    kernels::copy({.n = dw.size(), .from = in(d_weights), .to = out(dw)});
  }
  if (d_context.defined()) {
    kernels::matmul({.m = shape.queries,
                     .n = shape.keys,
                     .k = x.values.dim(2),
                     .a = in(d_context),
                     .b = in(x.values),
                     .c = out(dw),
                     .transpose_b = true,
                     .batch = shape.batch,
                     .accumulate = d_weights.defined()});
  }
  return dw;
}

// d_values = weights^T d_context; the rest as kernels/attention/additive_attention.h says.
void additive_attention_backward(const AdditiveAttentionInputs& x, const Tensor& weights,
                                 const Tensor& d_context, const Tensor& d_weights) {
  const kernels::AdditiveShape shape = shape_of(x);
  if (needs_grad(x.values) && d_context.defined()) {
    const GradTarget target = grad_target(x.values);
    kernels::matmul({.m = shape.keys,
                     .n = x.values.dim(2),
                     .k = shape.queries,
                     .a = in(weights),
                     .b = in(d_context),
                     .c = out(target.grad),
                     .transpose_a = true,
                     .batch = shape.batch,
                     .accumulate = target.accumulate});
  }
  if (!needs_grad(x.query) && !needs_grad(x.keys) && !needs_grad(x.v)) {
    return;
  }
  const Tensor dw = weight_gradient(x, d_context, d_weights);  // [B, Tq, Tk]
  kernels::AdditiveWeightsBackward args{.shape = shape,
                                        .q = x.query.raw(),
                                        .k = x.keys.raw(),
                                        .v = x.v.data<float>(),
                                        .weights = weights.raw(),
                                        .d_weights = dw.data<float>(),
                                        .dq = {},
                                        .dk = {},
                                        .dv = {}};
  const auto want = [](const Tensor& tensor, kernels::Out& place, bool& accumulate) {
    if (needs_grad(tensor)) {
      const GradTarget target = grad_target(tensor);
      place = out(target.grad);
      accumulate = target.accumulate;
    }
  };
  want(x.query, args.dq, args.accumulate_q);
  want(x.keys, args.dk, args.accumulate_k);
  want(x.v, args.dv, args.accumulate_v);
  kernels::additive_weights_backward(args);
}

}  // namespace

AdditiveAttention additive_attention(const AdditiveAttentionInputs& x) {
  check_inputs(x);
  const kernels::AdditiveShape shape = shape_of(x);
  const DType dtype = shape.dtype;
  AdditiveAttention result{
      .context = Tensor::empty({shape.batch, shape.queries, x.values.dim(2)}, dtype),  // [B, Tq, V]
      .weights = Tensor::empty({shape.batch, shape.queries, shape.keys}, dtype)};  // [B, Tq, Tk]
  kernels::additive_weights({.shape = shape,
                             .q = x.query.raw(),
                             .k = x.keys.raw(),
                             .v = x.v.data<float>(),
                             .weights = result.weights.raw()});
  kernels::matmul({.m = shape.queries,
                   .n = x.values.dim(2),
                   .k = shape.keys,
                   .a = in(result.weights),
                   .b = in(x.values),
                   .c = out(result.context),
                   .batch = shape.batch});
  if (Tape* tape = Tape::recording({&x.query, &x.keys, &x.v, &x.values})) {
    tape->record(
        kAdditiveAttention, result.context, result.weights,
        [x, weights = result.weights.detached()](const Tensor& d_context, const Tensor& d_weights) {
          additive_attention_backward(x, weights, d_context, d_weights);
        });
  }
  return result;
}

}  // namespace heed
