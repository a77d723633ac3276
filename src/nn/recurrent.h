// The blocks of recurrent translators: layers over whole sequences, an encoder's layer that may
// read both ways, the bridge from the encoder's last state to the decoder's first, additive
// attention, and the unit that is fed what it finds (Bahdanau, Cho and Bengio 2015).
#pragma once

#include <optional>

#include "nn/layers.h"
#include "nn/scopes/attention_scope.h"
#include "ops/attention/additive_attention.h"
#include "ops/recurrent.h"

namespace heed {

enum class RecurrentCell { lstm, gru };

struct RecurrentConfig {
  RecurrentCell cell = RecurrentCell::lstm;
  int64_t inputs = 256;
  int64_t width = 512;  // of the state
};

// What a layer remembers of each row. Undefined: zeros.
struct RecurrentState {
  Tensor h = {};  // [B,H]
  Tensor c = {};  // [B,H] f32, of an LSTM
};

struct RecurrentResult {
  Tensor outputs;        // [B,T,H]
  RecurrentState state;  // after each row's last step
};

class RecurrentLayer {
 public:
  RecurrentLayer(const Scope& s, const RecurrentConfig& config);

  // x [B,T,I], continuing from the initial state.
  RecurrentResult operator()(const Tensor& x, const RecurrentState& initial = {},
                             const RecurrentOptions& options = {}) const;

 private:
  RecurrentCell cell_;
  Parameter weight_ih_;
  Parameter weight_hh_;
  Parameter bias_ih_;
  Parameter bias_hh_;
};

// Reads its rows forwards or, with two layers inside, both ways: then outputs and states of both
// stand side by side, 2H columns.
class RecurrentEncoderLayer {
 public:
  RecurrentEncoderLayer(const Scope& s, const RecurrentConfig& config, bool bidirectional);

  // x [B,S,I], lengths i32 [B] or undefined -> outputs [B,S,D], zero in the padding
  RecurrentResult operator()(const Tensor& x, const Tensor& lengths) const;

 private:
  RecurrentLayer forwards_;
  std::optional<RecurrentLayer> backwards_;
};

// From an encoder's last state to a decoder's first: h0 = tanh(W h + b), c0 = W c + b.
class RecurrentBridge {
 public:
  RecurrentBridge(const Scope& s, const RecurrentConfig& config);  // inputs: columns of the state

  RecurrentState operator()(const RecurrentState& last) const;

 private:
  Linear h_;
  std::optional<Linear> c_;  // of an LSTM
};

struct AlignmentConfig {
  int64_t query = 512;   // columns of the decoder's states
  int64_t memory = 512;  // columns of the encoder's outputs
  int64_t width = 512;   // both are projected to
  AttentionLabel label = {.kind = "cross"};
};

// Additive attention with its projections: score = v . tanh(W query + U memory + b).
class Alignment {
 public:
  Alignment(const Scope& s, const AlignmentConfig& config);

  // The memory's keys, constant while decoding: [B,S,E] -> [B,S,A].
  Tensor project(const Tensor& memory) const { return keys_(memory); }
  // queries [B,T,H], keys [B,S,A] and memory [B,S,E] -> context [B,T,E], weights [B,T,S], which an
  // AttentionScope gets as [B,1,T,S]
  struct Memory {
    Tensor values;   // [B,S,E]
    Tensor keys;     // [B,S,A]
    Tensor lengths;  // i32 [B] or undefined
  };
  AdditiveAttention operator()(const Tensor& queries, const Memory& memory) const;
  // The same in parts, for queries that come one after the other: only report() is seen.
  AdditiveAttention attend(const Tensor& queries, const Memory& memory) const;
  void report(const Tensor& weights) const;  // [B,T,S]

 private:
  AttentionLabel label_;
  Linear query_;
  Linear keys_;
  Parameter v_;  // [A]
};

struct ContextGruConfig {
  int64_t inputs = 256;
  int64_t context = 1024;
  int64_t width = 512;  // of the state
};

// One step of the gated unit of Bahdanau's decoder, which reads an input x and a context c:
//
//   z  = sigmoid(Wz x + Uz s + Cz c)          how much of the state is new
//   r  = sigmoid(Wr x + Ur s + Cr c)          how much of the old state the new one sees
//   n  = tanh(W x + U (r * s) + C c)
//   s' = (1 - z) * s + z * n
//
// It differs from gru() (ops/recurrent.h) in that r gates the state before the product.
class ContextGru {
 public:
  ContextGru(const Scope& s, const ContextGruConfig& config);

  // W x + b of all gates, which can be had for all steps at once: [..., I] -> [..., 3H].
  Tensor project(const Tensor& x) const { return input_(x); }
  // projected [B,3H], context [B,E], state [B,H] -> the next state [B,H]
  Tensor operator()(const Tensor& projected, const Tensor& context, const Tensor& state) const;

 private:
  Linear input_;    // W, of z, r and n
  Linear context_;  // C, likewise
  Linear gates_;    // U of z and r
  Linear state_;    // U of n
};

}  // namespace heed
