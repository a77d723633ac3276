// The translator in which attention began (Bahdanau, Cho and Bengio 2015), as its paper has it.
//
//   h   = [forwards, backwards]              states of two recurrent layers over the source
//   s_0 = tanh(Ws backwards_1)               where the backward one has read everything
//   c_i = sum_j softmax_j(v . tanh(Wa s_(i-1) + Ua h_j)) h_j
//   s_i = f(s_(i-1), y_(i-1), c_i)           a gated unit with the context in its gates
//   t_i = maxout(Uo s_i + Vo y_(i-1) + Co c_i)
//   p(y_i) = softmax(Wo t_i)
//
// What is looked at depends on the state before, and the state on what was looked at: teacher
// forcing, too, goes step by step, where `rnn` (rnn.h) runs each layer over all positions at once.
// Everything else is done for all positions together. The paper's appendix has s_(i-1) in the
// formula of t_i and its text s_i, which is taken here, and the encoder's cell is that of gru()
// (ops/recurrent.h).
#pragma once

#include <optional>

#include "base/config.h"
#include "models/model.h"
#include "nn/recurrent.h"

namespace heed {

struct BahdanauConfig {
  int64_t vocabulary = 8000;      // of the target; also of the source if source_vocabulary is 0
  int64_t source_vocabulary = 0;  // 0: joint, one embedding for source and target
  int64_t embedding = 620;
  int64_t hidden = 1000;
  int64_t attention_width = 1000;
  int64_t maxout = 500;
  float dropout = 0.2F;
  bool tied_output = false;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("vocabulary", vocabulary, "size of the target (or joint) vocabulary; 0: as in the tokenizer",
      {.least = 0});
    v("source_vocabulary", source_vocabulary,
      "size of the source vocabulary; 0: joint with the target's", {.least = 0});
    v("embedding", embedding, "size of a token's vector", {.least = 1, .most = 65536});
    v("hidden", hidden, "size of the state, in each direction", {.least = 1, .most = 65536});
    v("attention_width", attention_width,
      "size of the vectors in which queries and keys are compared", {.least = 1, .most = 65536});
    v("maxout", maxout, "size of the output layer: the larger ones of twice as many units",
      {.least = 1, .most = 65536});
    v("dropout", dropout, "dropout of embeddings and before the output; the paper has none",
      {.least = 0, .most = 0.99});
    v("tied_output", tied_output,
      "use the target embedding as the output projection; maxout has to be its size");
  }
};

class Bahdanau : public Seq2SeqModel {
 public:
  Bahdanau(const Scope& s, const BahdanauConfig& config);

  Tensor logits(const Batch& batch) const override;
  std::unique_ptr<DecodeState> start(const Tensor& source, const Tensor& lengths,
                                     int64_t beam) const override;
  Tensor step(const Tensor& tokens, DecodeState& state) const override;
  void select(DecodeState& state, std::span<const int64_t> sources,
              std::span<const int64_t> rows) const override;
  int64_t target_vocabulary() const override { return config_.vocabulary; }

 private:
  struct State;
  struct Found;
  void encode(const Tensor& source, const Tensor& lengths, State& state) const;
  Found look(const State& state) const;
  Tensor decode(const Tensor& target, State& state) const;

  BahdanauConfig config_;
  std::optional<Embedding> source_embedding_;
  Embedding target_embedding_;
  RecurrentEncoderLayer encoder_;
  Linear bridge_;  // Ws
  Alignment alignment_;
  ContextGru unit_;
  Linear deep_state_;    // Uo
  Linear deep_token_;    // Vo
  Linear deep_context_;  // Co
  std::optional<Linear> output_;
};

// For the registry: models/spec.h.
ModelSpec spec_of(const BahdanauConfig& config);
void adapt(BahdanauConfig& config, const VocabularySizes& sizes);

}  // namespace heed
