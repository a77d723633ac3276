#include "ops/attention/attention.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "autograd/tape.h"
#include "kernels/attention/attention.h"
#include "ops/check.h"

namespace heed {
namespace {

const OpName kAttention{"attention"};

using kernels::HeadRows;

// q, k and v as they lie in up to three tensors: index of the tensor and of the part in its row.
struct Layout {
  Tensor tensors[3];  // q, k, v; the same tensor where they are packed
  int64_t parts[3];   // how many operands share a row of the tensor
  int64_t part[3];    // which of them this is
};

HeadRows rows_of(const Tensor& tensor, int64_t parts, int64_t part, int64_t heads, int64_t dim) {
  const int64_t width = heads * dim;
  std::byte* data = static_cast<std::byte*>(tensor.raw());
  return {.data = data + static_cast<size_t>(part * width) * size_of(tensor.dtype()),
          .row = parts * width,
          .batch = tensor.dim(1) * parts * width};
}

kernels::MaskStrides mask_strides(const char* what, const Tensor& mask,
                                  const kernels::Attention& a) {
  const int64_t expected[4] = {a.batch, a.heads, a.queries, a.keys};
  check(mask.rank() >= 2 && mask.rank() <= 4, "[attention] {} is {}, expected rank 2 to 4", what,
        mask.shape());
  int64_t strides[4] = {0, 0, 0, 0};
  int64_t stride = 1;
  for (int axis = 3, from = mask.rank() - 1; from >= 0; --axis, --from) {
    if (mask.rank() == 3 && from == 0) {
      axis = 0;  // [B,Tq,Tk] has no head axis
    }
    const int64_t extent = mask.dim(from);
    check(extent == expected[axis] || (extent == 1 && axis < 3),
          "[attention] {} is {}, expected to broadcast to [{},{},{},{}]", what, mask.shape(),
          a.batch, a.heads, a.queries, a.keys);
    strides[axis] = extent == 1 ? 0 : stride;
    stride *= extent;
  }
  return {.batch = strides[0], .head = strides[1], .query = strides[2]};
}

// Every stride-th row, the last of each stride.
HeadRows strided(HeadRows rows, int64_t stride, DType dtype) {
  rows.data = static_cast<std::byte*>(rows.data) +
              static_cast<size_t>((stride - 1) * rows.row) * size_of(dtype);
  rows.row *= stride;
  return rows;
}

void set_stride(const AttentionOptions& options, kernels::Attention& a) {
  const int64_t stride = options.key_stride;
  check(stride >= 1, "[attention] key_stride is {}, expected at least 1", stride);
  if (stride == 1) {
    return;
  }
  check(!options.mask.defined() && !options.bias.defined() && !options.relative.defined() &&
            options.window_left < 0 && options.window_right < 0,
        "[attention] key_stride is {}, expected 1 with masks, bias, windows or relative positions",
        stride);
  a.key_stride = stride;
  a.keys /= stride;
  a.k = strided(a.k, stride, a.dtype);
  a.v = strided(a.v, stride, a.dtype);
}

void set_masks(const AttentionOptions& options, kernels::Attention& a) {
  if (options.lengths.defined()) {
    check_dtype("attention", "lengths", options.lengths, DType::i32);
    check_shape("attention", "lengths", options.lengths, {a.batch});
    a.key_lengths = options.lengths.data<int32_t>();
    for (int64_t b = 0; b < a.batch; ++b) {
      check(a.key_lengths[b] >= 0 && a.key_lengths[b] <= a.keys,
            "[attention] lengths[{}] is {}, expected 0 to {}", b, a.key_lengths[b], a.keys);
    }
  }
  if (options.positions.defined()) {
    check_dtype("attention", "positions", options.positions, DType::i32);
    check_shape("attention", "positions", options.positions, {a.batch});
    a.first_positions = options.positions.data<int32_t>();
    for (int64_t b = 0; b < a.batch; ++b) {
      check(a.first_positions[b] <= a.first_position,
            "[attention] positions[{}] is {}, expected at most {}", b, a.first_positions[b],
            a.first_position);
    }
  }
  if (options.mask.defined()) {
    check_dtype("attention", "mask", options.mask, DType::i8);
    a.mask = options.mask.data<int8_t>();
    a.mask_strides = mask_strides("mask", options.mask, a);
  }
  if (options.bias.defined()) {
    check_dtype("attention", "bias", options.bias, DType::f32);
    a.bias = options.bias.data<float>();
    a.bias_strides = mask_strides("bias", options.bias, a);
  }
}

void set_relative(const AttentionOptions& options, kernels::Attention& a) {
  const Tensor& table = options.relative;
  if (!table.defined()) {
    check(!options.relative_bias.defined(),
          "[attention] relative_bias is given, but no relative embeddings");
    return;
  }
  check_dtype("attention", "relative", table, a.dtype);
  const bool shared = table.rank() == 2;
  const int64_t rows = table.dim(shared ? 0 : 1);
  check(table.rank() >= 2 && rows > 0, "[attention] relative is {}, expected [H,R,D] or [R,D]",
        table.shape());
  check_shape("attention", "relative", table,
              shared ? Shape{rows, a.head_dim} : Shape{a.heads, rows, a.head_dim});
  a.relative = table.raw();
  a.relative_rows = rows;
  a.relative_shared = shared;
  a.relative_center = options.relative_center < 0 ? rows - 1 : options.relative_center;
  check(a.relative_center < rows, "[attention] relative_center is {}, expected less than {}",
        a.relative_center, rows);
  if (options.relative_bias.defined()) {
    check_dtype("attention", "relative_bias", options.relative_bias, DType::f32);
    check_shape("attention", "relative_bias", options.relative_bias, {a.heads, rows});
    a.relative_bias = options.relative_bias.data<float>();
  }
}

void set_labels(const AttentionOptions& options, kernels::Attention& a) {
  const Tensor& z = options.labelled;
  if (!z.defined()) {
    return;
  }
  check_dtype("attention", "labelled", z, a.dtype);
  const int64_t rows = z.dim(-1);
  check(rows % 2 == 1 && rows <= kernels::kMostLabelRows,
        "[attention] labelled is {}, expected an odd number of differences up to {}", z.shape(),
        kernels::kMostLabelRows);
  check_shape("attention", "labelled", z, {a.batch, a.queries, a.heads, rows});
  check(options.labels.defined(), "[attention] labelled is given, but no labels");
  check_dtype("attention", "labels", options.labels, DType::i32);
  check_shape("attention", "labels", options.labels, {a.batch, a.keys});
  check(options.key_stride == 1 && 0 <= a.first_position && a.first_position + a.queries <= a.keys,
        "[attention] labels are of positions: queries at {} to {} of {} keys have none",
        a.first_position, a.first_position + a.queries - 1, a.keys);
  a.labelled = z.raw();
  a.label_rows = rows;
  a.label_center = rows / 2;
  a.labels = options.labels.data<int32_t>();
  a.label_stride = a.keys;
}

kernels::Attention forward_args(const Layout& layout, const Shape& q, const Shape& k,
                                const AttentionOptions& options) {
  const Tensor& first = layout.tensors[0];
  kernels::Attention a{
      .batch = q[0],
      .heads = q[-2],
      .kv_heads = k[-2],
      .queries = q[1],
      .keys = k[1],
      .head_dim = q[-1],
      .dtype = first.dtype(),
      .q = rows_of(first, layout.parts[0], layout.part[0], q[-2], q[-1]),
      .k = rows_of(layout.tensors[1], layout.parts[1], layout.part[1], k[-2], q[-1]),
      .v = rows_of(layout.tensors[2], layout.parts[2], layout.part[2], k[-2], q[-1]),
      .y = {},
      .scale = options.scale,
      .first_position = options.position < 0 ? k[1] - q[1] : options.position};
  if (options.scale == 0.0F) {
    a.scale = 1.0F / std::sqrt(static_cast<float>(a.head_dim));
  }
  a.causal = options.causal;
  a.stepwise = options.stepwise;
  a.whole_sequence =
      options.whole_sequence || layout.parts[1] == 3 || (options.key_stride > 1 && q[1] == k[1]);
  a.window_left = options.window_left;
  a.window_right = options.window_right;
  set_masks(options, a);
  set_relative(options, a);
  set_labels(options, a);
  set_stride(options, a);
  return a;
}

// Gradients of q, k and v, each in its part of the tensor's gradient. Parts of one tensor share one
// target: the first asks for it, and the parts together write all of it. An operand that is the
// same tensor as an earlier one gets a buffer of its own, which is added afterwards.
struct OwnBuffers {
  Tensor gradients[3];
};
void set_targets(const Layout& layout, kernels::AttentionBackward& back, OwnBuffers& own) {
  HeadRows* rows[3] = {&back.dq, &back.dk, &back.dv};
  bool* accumulate[3] = {&back.accumulate_q, &back.accumulate_k, &back.accumulate_v};
  const int64_t heads[3] = {back.forward.heads, back.forward.kv_heads, back.forward.kv_heads};
  GradTarget targets[3];
  for (int i = 0; i < 3; ++i) {
    if (!needs_grad(layout.tensors[i])) {
      continue;
    }
    const bool follows = i > 0 && layout.part[i] > 0;
    const bool again = std::any_of(layout.tensors, layout.tensors + i, [&](const Tensor& earlier) {
      return earlier.slot() == layout.tensors[i].slot();
    });
    if (follows) {
      targets[i] = targets[i - 1];
    } else if (again) {
      own.gradients[i] = Tensor::empty(layout.tensors[i].shape(), layout.tensors[i].dtype());
      targets[i] = {own.gradients[i], false};
    } else {
      targets[i] = grad_target(layout.tensors[i]);
    }
    *rows[i] =
        rows_of(targets[i].grad, layout.parts[i], layout.part[i], heads[i], back.forward.head_dim);
    *accumulate[i] = targets[i].accumulate;
    if (i > 0 && back.forward.key_stride > 1) {  // the rows between get nothing
      if (!targets[i].accumulate) {
        std::memset(targets[i].grad.raw(), 0, targets[i].grad.bytes());
        *accumulate[i] = true;
      }
      *rows[i] = strided(*rows[i], back.forward.key_stride, back.forward.dtype);
    }
  }
}

// Everything the backward pass keeps alive.
struct Saved {
  Layout layout;
  Tensor y, lse, positions, lengths, mask, bias, relative, relative_bias, labelled, labels;
  kernels::Attention args;
};

void backward(const Saved& saved, const Tensor& dy) {
  kernels::AttentionBackward back{.forward = saved.args, .dy = {}, .dq = {}, .dk = {}, .dv = {}};
  back.dy = rows_of(dy, 1, 0, saved.args.heads, saved.args.head_dim);
  OwnBuffers own;
  set_targets(saved.layout, back, own);
  if (saved.relative.defined() && needs_grad(saved.relative)) {
    const GradTarget target = grad_target(saved.relative);
    back.d_relative = target.grad.raw();
    back.d_relative_dtype = target.grad.dtype();
    back.accumulate_relative = target.accumulate;
  }
  if (saved.relative_bias.defined() && needs_grad(saved.relative_bias)) {
    const GradTarget target = grad_target(saved.relative_bias);
    back.d_relative_bias = target.grad.data<float>();
    back.accumulate_relative_bias = target.accumulate;
  }
  if (saved.labelled.defined() && needs_grad(saved.labelled)) {
    const GradTarget target = grad_target(saved.labelled);
    back.d_labelled = target.grad.raw();
    back.accumulate_labelled = target.accumulate;
  }
  kernels::attention_backward(back);
  for (int i = 0; i < 3; ++i) {
    if (own.gradients[i].defined()) {
      add_grad(saved.layout.tensors[i], own.gradients[i]);
    }
  }
}

AttentionResult run(const Layout& layout, const Shape& q, const Shape& k,
                    const AttentionOptions& options) {
  check(options.key_stride == 1 || layout.parts[1] == 1,
        "[attention] key_stride is {}, expected 1 for keys that lie beside others",
        options.key_stride);
  kernels::Attention args = forward_args(layout, q, k, options);
  AttentionResult result;
  result.y = Tensor::empty(q, args.dtype);  // [B,Tq,H,D]
  args.y = rows_of(result.y, 1, 0, args.heads, args.head_dim);
  if (options.weights) {
    result.weights = Tensor::empty({args.batch, args.heads, args.queries, args.keys});
    args.weights = result.weights.data<float>();
  }
  check_dropout("attention", options.dropout);
  if (Tape* tape = Tape::current(); tape != nullptr && options.dropout > 0.0F) {
    args.dropout = {options.dropout, tape->draw(options.part)};
  }
  Tape* tape = Tape::recording({&layout.tensors[0], &layout.tensors[1], &layout.tensors[2],
                                &options.relative, &options.relative_bias, &options.labelled});
  if (args.causal && tape == nullptr && !options.weights) {
    // What lies beyond the last query is not even packed: a cache may be mostly empty.
    args.keys =
        std::clamp<int64_t>((args.first_position + args.queries) / args.key_stride, 0, args.keys);
  }
  Saved saved;
  if (tape != nullptr) {
    saved.lse = Tensor::empty({args.batch, args.heads, args.queries});
    args.lse = saved.lse.data<float>();
  }
  kernels::attention(args);
  if (tape != nullptr) {
    args.weights = nullptr;
    saved = {.layout = layout,
             .y = result.y.detached(),
             .lse = saved.lse,
             .positions = options.positions,
             .lengths = options.lengths,
             .mask = options.mask,
             .bias = options.bias,
             .relative = options.relative,
             .relative_bias = options.relative_bias,
             .labelled = options.labelled,
             .labels = options.labels,
             .args = args};
    tape->record(kAttention, result.y, [saved](const Tensor& dy) { backward(saved, dy); });
  }
  return result;
}

}  // namespace

AttentionResult attention(const Tensor& q, const Tensor& k, const Tensor& v,
                          const AttentionOptions& options) {
  check_float("attention", "q", q);
  check_dtype("attention", "k", k, q.dtype());
  check_dtype("attention", "v", v, q.dtype());
  check(q.rank() == 4 && k.rank() == 4 && q.dim(0) == k.dim(0) && q.dim(3) == k.dim(3) &&
            k.dim(2) > 0 && q.dim(2) % k.dim(2) == 0,
        "[attention] q is {}, k is {}: expected [B,Tq,H,D] and [B,Tk,Hk,D], H a multiple of Hk",
        q.shape(), k.shape());
  check_shape("attention", "v", v, k.shape());
  return run({.tensors = {q, k, v}, .parts = {1, 1, 1}, .part = {0, 0, 0}}, q.shape(), k.shape(),
             options);
}

AttentionResult attention_qkv(const Tensor& qkv, const AttentionOptions& options) {
  check_float("attention", "qkv", qkv);
  check(qkv.rank() == 5 && qkv.dim(2) == 3 && qkv.dim(3) > 0,
        "[attention] qkv is {}, expected [B,T,3,H,D]", qkv.shape());
  const Shape one{qkv.dim(0), qkv.dim(1), qkv.dim(3), qkv.dim(4)};
  return run({.tensors = {qkv, qkv, qkv}, .parts = {3, 3, 3}, .part = {0, 1, 2}}, one, one,
             options);
}

AttentionResult attention_kv(const Tensor& q, const Tensor& kv, const AttentionOptions& options) {
  check_float("attention", "q", q);
  check_dtype("attention", "kv", kv, q.dtype());
  check(q.rank() == 4 && kv.rank() == 5 && kv.dim(2) == 2 && q.dim(0) == kv.dim(0) &&
            q.dim(2) == kv.dim(3) && q.dim(3) == kv.dim(4) && kv.dim(3) > 0,
        "[attention] q is {}, kv is {}: expected [B,Tq,H,D] and [B,Tk,2,H,D]", q.shape(),
        kv.shape());
  const Shape one{kv.dim(0), kv.dim(1), kv.dim(3), kv.dim(4)};
  return run({.tensors = {q, kv, kv}, .parts = {1, 2, 2}, .part = {0, 0, 1}}, q.shape(), one,
             options);
}

AttentionResult attention_cached(const Tensor& qkv, const Tensor& k, const Tensor& v,
                                 const AttentionOptions& options) {
  check_float("attention", "qkv", qkv);
  check(!needs_grad(qkv), "[attention] a cache is for decoding: it carries no gradient");
  check_dtype("attention", "k", k, qkv.dtype());
  check_dtype("attention", "v", v, qkv.dtype());
  check(qkv.rank() == 5 && qkv.dim(2) == 3 && k.rank() == 4 && k.dim(0) == qkv.dim(0) &&
            k.dim(2) == qkv.dim(3) && k.dim(3) == qkv.dim(4),
        "[attention] qkv is {}, k is {}: expected [B,T,3,H,D] and [B,Tk,H,D]", qkv.shape(),
        k.shape());
  check_shape("attention", "v", v, k.shape());
  const Shape one{qkv.dim(0), qkv.dim(1), qkv.dim(3), qkv.dim(4)};
  return run({.tensors = {qkv, k, v}, .parts = {3, 1, 1}, .part = {0, 0, 0}}, one, k.shape(),
             options);
}

}  // namespace heed
