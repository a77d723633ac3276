// One time step of LSTM and GRU cells, forward and backward, between the matrix products that
// ops/recurrent.cc makes: sums of gates, their activations and the new state in one pass.
//
// Sequences are [batch, time, ...]. Step s of a row is position s, or, in reverse, position
// length - 1 - s, so rows of any length start together. Rows that have ended are left alone.
#pragma once

#include <cstdint>

#include "tensor/dtype.h"

namespace heed::kernels {

struct RecurrentStep {
  int64_t batch;
  int64_t time;
  int64_t width;  // of the state
  DType dtype;    // of gates, h and outputs; c and all sums are f32
  bool reverse = false;
  const int32_t* lengths = nullptr;  // [batch]; null: all rows are `time` long
  int64_t step = 0;

  int64_t length(int64_t row) const { return lengths == nullptr ? time : lengths[row]; }
  bool active(int64_t row) const { return step < length(row); }
  // Where step `s` of a row lies among all rows of [batch * time].
  int64_t place(int64_t row, int64_t s) const {
    return row * time + (reverse ? length(row) - 1 - s : s);
  }
};

// Gates in PyTorch's order:
//   i, f, o = sigmoid(.), g = tanh(.) of gates + recurrent + bias;  c = f c + i g;  h = o tanh(c)
struct LstmStep {
  RecurrentStep at;
  void* gates;             // [batch, time, 4 width]: input projections in, activated gates out
  const float* recurrent;  // [batch, 4 width]: W_hh h
  const float* bias;       // [4 width]: b_hh
  void* h;                 // [batch, width], updated
  float* c;                // [batch, width], updated
  void* outputs;           // [batch, time, width]
  float* cells = nullptr;  // [batch, time, width]: c after each step; null: not kept
};
void lstm_step(const LstmStep& args);

// With dh the gradient of h, t = tanh(c) and c' the cell before the step:
//   do = dh t o (1 - o)          dc = dc + dh o (1 - t^2)
//   di = dc g i (1 - i)          dg = dc i (1 - g^2)
//   df = dc c' f (1 - f)         dc' = dc f
struct LstmStepBackward {
  RecurrentStep at;
  void* gates;                      // activated gates in, their gradients out
  const float* cells;               // [batch, time, width]
  const float* c0 = nullptr;        // [batch, width]; null: zeros
  const void* d_outputs = nullptr;  // [batch, time, width]; null: zeros
  void* d_step;                     // [batch, 4 width]: the step's gradients of gates, dense
  float* dh;                        // [batch, width]: zeroed, ready for d_step W_hh to be added
  float* dc;                        // [batch, width], updated
};
void lstm_step_backward(const LstmStepBackward& args);

// Gates in PyTorch's order:
//   r, z = sigmoid(gates + recurrent + bias);  q = recurrent_n + bias_n
//   n = tanh(gates_n + r q);  h = (1 - z) n + z h
struct GruStep {
  RecurrentStep at;
  void* gates;                 // [batch, time, 3 width]: input projections in, activated gates out
  const float* recurrent;      // [batch, 3 width]: W_hh h
  const float* bias;           // [3 width]: b_hh
  void* h;                     // [batch, width], updated
  void* outputs;               // [batch, time, width]
  void* candidates = nullptr;  // [batch, time, width]: q of each step; null: not kept
};
void gru_step(const GruStep& args);

// With h' the state before the step:
//   dn = dh (1 - z) (1 - n^2)    dz = dh (h' - n) z (1 - z)    dr = dn q r (1 - r)
//   dq = dn r                    dh' = dh z, and what d_step W_hh adds
struct GruStepBackward {
  RecurrentStep at;
  void* gates;                      // activated gates in, gradients dr, dz, dn out
  void* candidates;                 // q in, dq out
  const void* outputs;              // [batch, time, width]
  const void* h0 = nullptr;         // [batch, width]; null: zeros
  const void* d_outputs = nullptr;  // [batch, time, width]; null: zeros
  void* d_step;                     // [batch, 3 width]: dr, dz, dq of the step, dense
  float* dh;                        // [batch, width]: dh z, ready for d_step W_hh to be added
};
void gru_step_backward(const GruStepBackward& args);

// out[c, r] = in[r, c]
struct TransposedCopy {
  int64_t rows;
  int64_t columns;
  DType dtype;
  const void* in;
  void* out;
};
void transposed_copy(const TransposedCopy& args);

}  // namespace heed::kernels
