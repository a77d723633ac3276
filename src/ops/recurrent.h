// Recurrent layers over whole sequences: LSTM (Hochreiter and Schmidhuber 1997, with forget gate)
// and GRU (Cho et al. 2014), with PyTorch's definitions, order of gates and names.
//
// One op covers all steps: the inputs are projected in one product, each step makes one product
// with the state, and the backward pass through time gathers the gradients of all weights in a few
// products over all steps.
#pragma once

#include "tensor/tensor.h"

namespace heed {

// G gates: 4 for an LSTM (input, forget, cell, output), 3 for a GRU (reset, update, new).
struct RecurrentWeights {
  Tensor weight_ih;  // [G H, I]
  Tensor weight_hh;  // [G H, H]
  Tensor bias_ih;    // [G H] f32, or undefined for 0
  Tensor bias_hh;    // [G H] f32, or undefined for 0
};

struct RecurrentOptions {
  // Runs each row from its last valid step to its first; outputs stay at their positions.
  bool reverse = false;
  // i32 [B]: steps past a row's length leave its state alone and give zeros. Undefined: all T.
  Tensor lengths = {};
};

// Either may be undefined: zeros. The cell is f32 whatever the dtype of the layer.
struct LstmState {
  Tensor h;  // [B, H]
  Tensor c;  // [B, H] f32
};

struct LstmResult {
  Tensor outputs;  // [B, T, H]
  Tensor h_n;      // [B, H]
  Tensor c_n;      // [B, H] f32
};
// x [B, T, I]
LstmResult lstm(const Tensor& x, const RecurrentWeights& weights, const LstmState& initial = {},
                const RecurrentOptions& options = {});

struct GruResult {
  Tensor outputs;  // [B, T, H]
  Tensor h_n;      // [B, H]
};
// x [B, T, I], h0 [B, H] or undefined: zeros
GruResult gru(const Tensor& x, const RecurrentWeights& weights, const Tensor& h0 = {},
              const RecurrentOptions& options = {});

}  // namespace heed
