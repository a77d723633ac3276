#include "ops/recurrent.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "autograd/tape.h"
#include "base/parallel.h"
#include "kernels/matmul/frozen.h"
#include "kernels/matmul/matmul.h"
#include "kernels/recurrent.h"
#include "kernels/reduction/column_sum.h"
#include "ops/check.h"
#include "ops/operands.h"

namespace heed {
namespace {

const OpName kLstm{"lstm"};
const OpName kGru{"gru"};

struct Cell {
  const char* op;
  int64_t gates;
};
constexpr Cell kLstmCell{.op = "lstm", .gates = 4};
constexpr Cell kGruCell{.op = "gru", .gates = 3};

const void* data_or_null(const Tensor& t) { return t.defined() ? t.raw() : nullptr; }

// Products of every step's small matrix with the same W [G H, H] (or its transpose), which is laid
// out once so that each product finds the form that is fastest for it.
class StepProduct {
 public:
  StepProduct(const Tensor& weight, bool transpose, int64_t rows, int64_t steps)
      : weight_(weight.detached()), transpose_(transpose) {
    constexpr int64_t kWorthACopy = 16;
    if (steps < kWorthACopy || weight.frozen() != nullptr) {
      return;
    }
    // One row runs on the matrix-vector kernel, which wants the operand transposed; several rows
    // of f32 are faster with a plain one; bf16 wants it packed, which freezing a private copy does
    // once. (The weight itself changes after this pass.)
    const bool wants_transpose = rows == 1;
    if (rows > 1 && weight.dtype() == DType::bf16) {
      weight_ = weight.clone();
      frozen_ = std::make_unique<kernels::FrozenWeight>();
      weight_.set_frozen(frozen_.get());
    } else if (transpose != wants_transpose) {
      weight_ = Tensor::empty({weight.dim(1), weight.dim(0)}, weight.dtype());  // [H, G H]
      kernels::transposed_copy({.rows = weight.dim(0),
                                .columns = weight.dim(1),
                                .dtype = weight.dtype(),
                                .in = weight.raw(),
                                .out = weight_.raw()});
      transpose_ = !transpose;
    }
  }

  // c (+)= a W or a W^T
  void run(const Tensor& a, const Tensor& c, bool accumulate) const {
    kernels::matmul({.m = a.dim(0),
                     .n = c.dim(1),
                     .k = a.dim(1),
                     .a = in(a),
                     .b = in(weight_),
                     .c = out(c),
                     .transpose_b = transpose_,
                     .accumulate = accumulate});
  }

 private:
  Tensor weight_;
  bool transpose_;
  std::unique_ptr<kernels::FrozenWeight> frozen_;
};

// What forward and backward share, and the backward pass keeps.
struct Sequence {
  Tensor x;  // [B, T, I]
  RecurrentWeights weights;
  Tensor h0;       // [B, H] or undefined
  Tensor lengths;  // [B] or undefined
  Tensor gates;    // [B, T, G H]: activated; gradients after the backward steps
  Tensor outputs;  // [B, T, H], cut off from the tape
  kernels::RecurrentStep at;
  int64_t steps = 0;  // of the longest row
};

void check_lengths(const char* op, const Tensor& lengths, int64_t batch, int64_t time) {
  if (!lengths.defined()) {
    return;
  }
  check_dtype(op, "lengths", lengths, DType::i32);
  check_shape(op, "lengths", lengths, {batch});
  for (int64_t row = 0; row < batch; ++row) {
    const int32_t length = lengths.data<int32_t>()[row];
    check(0 <= length && length <= time, "[{}] length {} of row {}, expected 0 to {}", op, length,
          row, time);
  }
}

void check_recurrent(const Cell& cell, const Tensor& x, const RecurrentWeights& weights) {
  const char* op = cell.op;
  check_float(op, "x", x);
  check(x.rank() == 3, "[{}] x is {}, expected [B,T,I]", op, x.shape());
  check_dtype(op, "weight_hh", weights.weight_hh, x.dtype());
  check(weights.weight_hh.rank() == 2, "[{}] weight_hh is {}, expected [{} H,H]", op,
        weights.weight_hh.shape(), cell.gates);
  const int64_t width = weights.weight_hh.dim(1);
  const int64_t columns = cell.gates * width;
  check_shape(op, "weight_hh", weights.weight_hh, {columns, width});
  check_dtype(op, "weight_ih", weights.weight_ih, x.dtype());
  check_shape(op, "weight_ih", weights.weight_ih, {columns, x.dim(2)});
  check_vector(op, "bias_ih", weights.bias_ih, columns);
  check_vector(op, "bias_hh", weights.bias_hh, columns);
}

// An initial h has the dtype of x, an initial c is f32.
void check_state(const Cell& cell, const Tensor& h, const Tensor& c, const Sequence& s) {
  const Shape shape{s.at.batch, s.at.width};
  if (h.defined()) {
    check_dtype(cell.op, "h0", h, s.at.dtype);
    check_shape(cell.op, "h0", h, shape);
  }
  if (c.defined()) {
    check_dtype(cell.op, "c0", c, DType::f32);
    check_shape(cell.op, "c0", c, shape);
  }
}

// Zeros past the rows' lengths of t [B, T, ...].
void clear_padding(const Tensor& t, const kernels::RecurrentStep& at) {
  if (at.lengths == nullptr || t.size() == 0) {
    return;
  }
  const size_t step = t.bytes() / static_cast<size_t>(at.batch * at.time);
  for (int64_t row = 0; row < at.batch; ++row) {
    std::byte* end = static_cast<std::byte*>(t.raw()) +
                     static_cast<size_t>(row * at.time + at.length(row)) * step;
    std::memset(end, 0, static_cast<size_t>(at.time - at.length(row)) * step);
  }
}

Sequence make_sequence(const Cell& cell, const Tensor& x, const RecurrentWeights& weights,
                       const RecurrentOptions& options) {
  check_recurrent(cell, x, weights);
  check_lengths(cell.op, options.lengths, x.dim(0), x.dim(1));
  Sequence s;
  s.x = x;
  s.weights = weights;
  s.lengths = options.lengths;
  s.at = {.batch = x.dim(0),
          .time = x.dim(1),
          .width = weights.weight_hh.dim(1),
          .dtype = x.dtype(),
          .reverse = options.reverse};
  s.steps = s.at.time;
  if (s.lengths.defined()) {
    s.at.lengths = s.lengths.data<int32_t>();
    s.steps = s.at.batch == 0 ? 0 : *std::max_element(s.at.lengths, s.at.lengths + s.at.batch);
  }
  return s;
}

// The projections of all inputs: gates = x W_ih^T + b_ih.
void project_inputs(Sequence& s) {
  const Tensor& weight = s.weights.weight_ih;
  const Tensor& bias = s.weights.bias_ih;
  s.gates = Tensor::empty({s.at.batch, s.at.time, weight.dim(0)}, s.at.dtype);  // [B, T, G H]
  s.outputs = Tensor::empty({s.at.batch, s.at.time, s.at.width}, s.at.dtype);   // [B, T, H]
  clear_padding(s.outputs, s.at);
  kernels::matmul({.m = s.at.batch * s.at.time,
                   .n = weight.dim(0),
                   .k = weight.dim(1),
                   .a = in(s.x),
                   .b = in(weight),
                   .c = out(s.gates),
                   .transpose_b = true,
                   .bias = bias.defined() ? bias.data<float>() : nullptr});
}

// Lets go of the elements that no formula of the backward pass will read.
void keep_for_backward(Sequence& s) {
  RecurrentWeights& w = s.weights;
  if (!needs_grad(w.weight_ih)) {
    s.x = s.x.gradient_handle();
  }
  w.bias_ih = w.bias_ih.gradient_handle();
  w.bias_hh = w.bias_hh.gradient_handle();
}

// The state that the steps update in place: a copy of the initial one.
Tensor running_state(const Tensor& initial, const kernels::RecurrentStep& at, DType dtype) {
  return initial.defined() ? initial.clone() : Tensor::zeros({at.batch, at.width}, dtype);
}

Tensor hidden_bias(const Sequence& s) {
  const Tensor& bias = s.weights.bias_hh;
  return bias.defined() ? bias : Tensor::zeros({s.gates.dim(2)});
}

// The states before each step, at the steps' positions: outputs moved by one, h0 in front.
Tensor states_before(const Sequence& s) {
  Tensor before = Tensor::empty(s.outputs.shape(), s.outputs.dtype());  // [B, T, H]
  const size_t state = static_cast<size_t>(s.at.width) * size_of(before.dtype());
  parallel_rows(s.at.batch, s.at.time * s.at.width, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const auto at = [&](const Tensor& t, int64_t position) {
        return static_cast<std::byte*>(t.raw()) +
               static_cast<size_t>(row * s.at.time + position) * state;
      };
      const int64_t length = s.at.length(row);
      if (length > 0) {
        const int64_t moved = s.at.reverse ? 0 : 1;
        std::memcpy(at(before, moved), at(s.outputs, 1 - moved),
                    static_cast<size_t>(length - 1) * state);
        std::byte* first = at(before, s.at.reverse ? length - 1 : 0);
        if (s.h0.defined()) {
          std::memcpy(first, static_cast<std::byte*>(s.h0.raw()) + static_cast<size_t>(row) * state,
                      state);
        } else {
          std::memset(first, 0, state);
        }
      }
    }
  });
  clear_padding(before, s.at);
  return before;
}

// The gradient of a state, f32 and ours to update; zeros if nobody contributed.
Tensor running_gradient(const Tensor& gradient, const kernels::RecurrentStep& at) {
  Tensor result = Tensor::zeros({at.batch, at.width});  // [B, H]
  if (gradient.defined()) {
    kernels::copy({.n = result.size(), .from = in(gradient), .to = out(result)});
  }
  return result;
}

// From all steps' gradients D [B, T, G H] of the gates: dx = D W_ih, dW_ih = D^T x.
void input_gradients(const Sequence& s) {
  const Tensor& weight = s.weights.weight_ih;
  const int64_t rows = s.at.batch * s.at.time;
  if (needs_grad(weight)) {
    const GradTarget target = grad_target(weight);
    kernels::matmul({.m = weight.dim(0),
                     .n = weight.dim(1),
                     .k = rows,
                     .a = in(s.gates),
                     .b = in(s.x),
                     .c = out(target.grad),
                     .transpose_a = true,
                     .accumulate = target.accumulate});
  }
  if (needs_grad(s.x)) {
    const GradTarget target = grad_target(s.x);
    kernels::matmul({.m = rows,
                     .n = weight.dim(1),
                     .k = weight.dim(0),
                     .a = in(s.gates),
                     .b = in(weight),
                     .c = out(target.grad),
                     .accumulate = target.accumulate});
  }
}

// Part of dW_hh = D^T (states before): D may hold the gradients of some gates only.
struct RecurrentPart {
  Tensor d;            // [B, T, C], C >= gates * H
  Tensor before;       // [B, T, H]
  int64_t first_gate;  // of the rows of W_hh
  int64_t gates;
};
void recurrent_weight_gradient(const RecurrentPart& part, const GradTarget& target) {
  const int64_t width = part.before.dim(2);
  std::byte* c =
      static_cast<std::byte*>(target.grad.raw()) +
      static_cast<size_t>(part.first_gate * width * width) * size_of(target.grad.dtype());
  kernels::matmul({.m = part.gates * width,
                   .n = width,
                   .k = part.d.dim(0) * part.d.dim(1),
                   .a = in(part.d),
                   .b = in(part.before),
                   .c = {c, target.grad.dtype()},
                   .transpose_a = true,
                   .lda = part.d.dim(2),
                   .accumulate = target.accumulate});
}

// Sum of d [B, T, C] over all steps -> [C]
Tensor sum_over_steps(const Tensor& d) {
  Tensor total = Tensor::empty({d.dim(2)});
  kernels::column_sum(
      {.rows = d.dim(0) * d.dim(1), .columns = d.dim(2), .x = in(d), .out = out(total)});
  return total;
}

void add_if_needed(const Tensor& tensor, const Tensor& gradient) {
  if (needs_grad(tensor)) {
    add_grad(tensor, gradient);
  }
}

// The last steps of both backward passes need no product unless somebody asks for dh0.
bool product_wanted(const Sequence& s, int64_t step) { return step > 0 || needs_grad(s.h0); }

struct LstmSaved {
  Sequence s;
  Tensor c0;     // [B, H] or undefined
  Tensor cells;  // [B, T, H] f32
};

// Through time from the last step to the first, with the formulas of kernels/recurrent.h:
//   D_t = gate gradients of step t,  dh_(t-1) = D_t W_hh
//   dW_ih = sum D_t^T x_t,  dW_hh = sum D_t^T h_(t-1),  db_ih = db_hh = sum D_t,  dx_t = D_t W_ih
void lstm_backward(const LstmSaved& saved, const Tensor& d_outputs, const Tensor& d_h,
                   const Tensor& d_c) {
  const Sequence& s = saved.s;
  clear_padding(s.gates, s.at);
  const Tensor dh = running_gradient(d_h, s.at);                                       // [B, H]
  const Tensor dc = running_gradient(d_c, s.at);                                       // [B, H]
  const Tensor d_step = Tensor::empty({s.at.batch, s.gates.dim(2)}, s.gates.dtype());  // [B, 4H]
  {
    const StepProduct product(s.weights.weight_hh, false, s.at.batch, s.steps);
    kernels::LstmStepBackward args{.at = s.at,
                                   .gates = s.gates.raw(),
                                   .cells = saved.cells.data<float>(),
                                   .c0 = saved.c0.defined() ? saved.c0.data<float>() : nullptr,
                                   .d_outputs = data_or_null(d_outputs),
                                   .d_step = d_step.raw(),
                                   .dh = dh.data<float>(),
                                   .dc = dc.data<float>()};
    for (int64_t step = s.steps - 1; step >= 0; --step) {
      args.at.step = step;
      kernels::lstm_step_backward(args);
      if (product_wanted(s, step)) {
        product.run(d_step, dh, true);
      }
    }
  }
  add_if_needed(s.h0, dh);
  add_if_needed(saved.c0, dc);
  input_gradients(s);
  if (needs_grad(s.weights.weight_hh)) {
    recurrent_weight_gradient(
        {.d = s.gates, .before = states_before(s), .first_gate = 0, .gates = kLstmCell.gates},
        grad_target(s.weights.weight_hh));
  }
  if (needs_grad(s.weights.bias_ih) || needs_grad(s.weights.bias_hh)) {
    const Tensor d_bias = sum_over_steps(s.gates);  // [4H]
    add_if_needed(s.weights.bias_ih, d_bias);
    add_if_needed(s.weights.bias_hh, d_bias);
  }
}

struct GruSaved {
  Sequence s;
  Tensor candidates;  // [B, T, H]: W_hn h + b_hn; their gradients after the backward steps
};

// As for the LSTM, but for the part Q of the recurrent product that r gates:
//   D_t = (dr, dz, dn) reaches x, W_ih and b_ih;  (dr, dz, dq) reaches h, W_hh and b_hh
void gru_backward(const GruSaved& saved, const Tensor& d_outputs, const Tensor& d_h) {
  const Sequence& s = saved.s;
  clear_padding(s.gates, s.at);
  clear_padding(saved.candidates, s.at);
  const Tensor dh = running_gradient(d_h, s.at);                                       // [B, H]
  const Tensor d_step = Tensor::empty({s.at.batch, s.gates.dim(2)}, s.gates.dtype());  // [B, 3H]
  {
    const StepProduct product(s.weights.weight_hh, false, s.at.batch, s.steps);
    kernels::GruStepBackward args{.at = s.at,
                                  .gates = s.gates.raw(),
                                  .candidates = saved.candidates.raw(),
                                  .outputs = s.outputs.raw(),
                                  .h0 = data_or_null(s.h0),
                                  .d_outputs = data_or_null(d_outputs),
                                  .d_step = d_step.raw(),
                                  .dh = dh.data<float>()};
    for (int64_t step = s.steps - 1; step >= 0; --step) {
      args.at.step = step;
      kernels::gru_step_backward(args);
      if (product_wanted(s, step)) {
        product.run(d_step, dh, true);
      }
    }
  }
  add_if_needed(s.h0, dh);
  input_gradients(s);
  if (needs_grad(s.weights.weight_hh)) {
    const GradTarget target = grad_target(s.weights.weight_hh);
    const Tensor before = states_before(s);
    recurrent_weight_gradient({.d = s.gates, .before = before, .first_gate = 0, .gates = 2},
                              target);
    recurrent_weight_gradient(
        {.d = saved.candidates, .before = before, .first_gate = 2, .gates = 1}, target);
  }
  if (needs_grad(s.weights.bias_ih) || needs_grad(s.weights.bias_hh)) {
    const Tensor d_bias = sum_over_steps(s.gates);                // [3H]
    const Tensor d_hidden = d_bias.clone();                       // [3H]
    const Tensor d_candidate = sum_over_steps(saved.candidates);  // [H]
    std::copy_n(d_candidate.data<float>(), s.at.width, d_hidden.data<float>() + 2 * s.at.width);
    add_if_needed(s.weights.bias_ih, d_bias);
    add_if_needed(s.weights.bias_hh, d_hidden);
  }
}

}  // namespace

LstmResult lstm(const Tensor& x, const RecurrentWeights& weights, const LstmState& initial,
                const RecurrentOptions& options) {
  LstmSaved saved{.s = make_sequence(kLstmCell, x, weights, options), .c0 = initial.c, .cells = {}};
  Sequence& s = saved.s;
  s.h0 = initial.h;
  check_state(kLstmCell, initial.h, initial.c, s);
  project_inputs(s);
  Tape* tape = Tape::recording({&x, &weights.weight_ih, &weights.weight_hh, &weights.bias_ih,
                                &weights.bias_hh, &initial.h, &initial.c});
  LstmResult result{.outputs = s.outputs,                                // [B, T, H]
                    .h_n = running_state(initial.h, s.at, x.dtype()),    // [B, H]
                    .c_n = running_state(initial.c, s.at, DType::f32)};  // [B, H]
  if (tape != nullptr) {
    saved.cells = Tensor::empty(s.outputs.shape());  // [B, T, H]
  }
  const Tensor bias = hidden_bias(s);
  const Tensor recurrent = Tensor::empty({s.at.batch, s.gates.dim(2)});  // [B, 4H]
  const StepProduct product(weights.weight_hh, true, s.at.batch, s.steps);
  kernels::LstmStep args{.at = s.at,
                         .gates = s.gates.raw(),
                         .recurrent = recurrent.data<float>(),
                         .bias = bias.data<float>(),
                         .h = result.h_n.raw(),
                         .c = result.c_n.data<float>(),
                         .outputs = s.outputs.raw(),
                         .cells = tape != nullptr ? saved.cells.data<float>() : nullptr};
  for (int64_t step = 0; step < s.steps; ++step) {
    product.run(result.h_n, recurrent, false);
    args.at.step = step;
    kernels::lstm_step(args);
  }
  if (tape != nullptr) {
    keep_for_backward(s);
    tape->record_outputs(kLstm, {&result.outputs, &result.h_n, &result.c_n},
                         [saved](GradSlot* const* slots) {
                           lstm_backward(saved, slots[0]->grad, slots[1]->grad, slots[2]->grad);
                         });
  }
  return result;
}

GruResult gru(const Tensor& x, const RecurrentWeights& weights, const Tensor& h0,
              const RecurrentOptions& options) {
  GruSaved saved{.s = make_sequence(kGruCell, x, weights, options), .candidates = {}};
  Sequence& s = saved.s;
  s.h0 = h0;
  check_state(kGruCell, h0, Tensor(), s);
  project_inputs(s);
  Tape* tape = Tape::recording(
      {&x, &weights.weight_ih, &weights.weight_hh, &weights.bias_ih, &weights.bias_hh, &h0});
  GruResult result{.outputs = s.outputs,                        // [B, T, H]
                   .h_n = running_state(h0, s.at, x.dtype())};  // [B, H]
  if (tape != nullptr) {
    saved.candidates = Tensor::empty(s.outputs.shape(), x.dtype());  // [B, T, H]
  }
  const Tensor bias = hidden_bias(s);
  const Tensor recurrent = Tensor::empty({s.at.batch, s.gates.dim(2)});  // [B, 3H]
  const StepProduct product(weights.weight_hh, true, s.at.batch, s.steps);
  kernels::GruStep args{.at = s.at,
                        .gates = s.gates.raw(),
                        .recurrent = recurrent.data<float>(),
                        .bias = bias.data<float>(),
                        .h = result.h_n.raw(),
                        .outputs = s.outputs.raw(),
                        .candidates = tape != nullptr ? saved.candidates.raw() : nullptr};
  for (int64_t step = 0; step < s.steps; ++step) {
    product.run(result.h_n, recurrent, false);
    args.at.step = step;
    kernels::gru_step(args);
  }
  if (tape != nullptr) {
    keep_for_backward(s);
    tape->record(kGru, result.outputs, result.h_n,
                 [saved](const Tensor& d_outputs, const Tensor& d_h) {
                   gru_backward(saved, d_outputs, d_h);
                 });
  }
  return result;
}

}  // namespace heed
