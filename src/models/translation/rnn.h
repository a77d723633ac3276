// Recurrent sequence-to-sequence models, what the Transformer replaced: an encoder of LSTM or GRU
// layers, and a decoder that starts from the encoder's last state (Sutskever, Vinyals and Le 2014)
// and, with attention, aligns itself with the source (Bahdanau, Cho and Bengio 2015).
//
// Bahdanau's decoder (bahdanau.h) has one layer, which at each step is fed the context that its
// previous state chose: teacher forcing has to go step by step through attention. Here only the
// upper layers and the output are fed contexts, as in the second form of GNMT (Wu et al. 2016): the
// bottom layer reads nothing but the target, its states are the queries, and every layer, the
// attention included, runs over all target positions in one op. What is given up is that the bottom
// layer does not know where the model has looked before. The attention itself is Bahdanau's.
//
//   bottom = recurrent(embedding(target))             context = attention(bottom, memory)
//   x      = recurrent([x, context]) for upper layers logits  = E tanh(W [x, context] + b)
//
// Without attention there is no context: the decoder's first states are all it learns of a source.
#pragma once

#include <optional>
#include <vector>

#include "base/config.h"
#include "models/model.h"
#include "nn/recurrent.h"

namespace heed {

struct RnnConfig {
  int64_t vocabulary = 8000;      // of the target; also of the source if source_vocabulary is 0
  int64_t source_vocabulary = 0;  // 0: joint, one embedding for source and target
  int64_t embedding = 256;
  int64_t hidden = 512;
  std::string cell = "lstm";
  int64_t encoder_layers = 1;
  int64_t decoder_layers = 2;
  bool bidirectional = true;
  bool attention = true;
  int64_t attention_width = 512;
  float dropout = 0.2F;
  bool tied_output = true;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("vocabulary", vocabulary, "size of the target (or joint) vocabulary; 0: as in the tokenizer",
      {.least = 0});
    v("source_vocabulary", source_vocabulary,
      "size of the source vocabulary; 0: joint with the target's", {.least = 0});
    v("embedding", embedding, "size of a token's vector", {.least = 1, .most = 65536});
    v("hidden", hidden, "size of the state, in each direction", {.least = 1, .most = 65536});
    v("cell", cell, "recurrent cell", {.choices = {"lstm", "gru"}});
    v("encoder_layers", encoder_layers, "layers of the encoder", {.least = 1, .most = 1000});
    v("decoder_layers", decoder_layers, "layers of the decoder", {.least = 1, .most = 1000});
    v("bidirectional", bidirectional, "read the source in both directions");
    v("attention", attention,
      "attend to the source; false: the decoder sees only the encoder's last state");
    v("attention_width", attention_width,
      "size of the vectors in which queries and keys are compared", {.least = 1, .most = 65536});
    v("dropout", dropout, "dropout of embeddings and between layers", {.least = 0, .most = 0.99});
    v("tied_output", tied_output, "use the target embedding as the output projection");
  }
};

class Rnn : public Seq2SeqModel {
 public:
  Rnn(const Scope& s, const RnnConfig& config);

  Tensor logits(const Batch& batch) const override;
  std::unique_ptr<DecodeState> start(const Tensor& source, const Tensor& lengths,
                                     int64_t beam) const override;
  Tensor step(const Tensor& tokens, DecodeState& state) const override;
  void select(DecodeState& state, std::span<const int64_t> sources,
              std::span<const int64_t> rows) const override;
  int64_t target_vocabulary() const override { return config_.vocabulary; }

 private:
  struct State;
  void encode(const Tensor& source, const Tensor& lengths, State& state) const;
  Tensor decode(const Tensor& target, State& state) const;
  Tensor context_of(const Tensor& queries, const State& state) const;

  RnnConfig config_;
  std::optional<Embedding> source_embedding_;
  Embedding target_embedding_;
  std::vector<RecurrentEncoderLayer> encoder_;
  std::vector<RecurrentBridge> bridges_;  // one for each layer of the decoder
  std::optional<Alignment> alignment_;
  std::vector<RecurrentLayer> decoder_;
  Linear readout_;  // [..., H (+ memory)] -> [..., embedding]
  std::optional<Linear> output_;
};

// For the registry: models/spec.h.
ModelSpec spec_of(const RnnConfig& config);
void adapt(RnnConfig& config, const VocabularySizes& sizes);

}  // namespace heed
