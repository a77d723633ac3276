// The encoder-decoder Transformer (Vaswani et al. 2017), with the variants that came after it:
// norms before or after, learned or relative positions; and those the lecture takes apart: without
// residual connections, and without them but with the timing signal added at every layer.
#pragma once

#include <optional>
#include <vector>

#include "base/config.h"
#include "models/model.h"
#include "nn/positions.h"
#include "nn/transformer.h"

namespace heed {

struct TransformerConfig {
  int64_t vocabulary = 8000;      // of the target; also of the source if source_vocabulary is 0
  int64_t source_vocabulary = 0;  // 0: joint, one embedding for source and target
  int64_t width = 512;
  int64_t heads = 8;
  int64_t hidden = 2048;
  int64_t encoder_layers = 6;
  int64_t decoder_layers = 6;
  float dropout = 0.1F;
  float attention_dropout = 0.1F;
  float hidden_dropout = 0.1F;
  bool pre_norm = false;
  bool final_norm = true;  // after the last layer of encoder and decoder
  std::string positions = "sinusoidal";
  int64_t longest = 1024;
  int64_t first_position = 0;
  int64_t random_offset = 0;
  int64_t relative_distance = 16;
  bool tied_output = true;
  bool output_bias = false;
  bool residual = true;
  bool timing_every_layer = false;
  std::string activation = "relu";
  float epsilon = 1e-5F;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("vocabulary", vocabulary, "size of the target (or joint) vocabulary; 0: as in the tokenizer",
      {.least = 0});
    v("source_vocabulary", source_vocabulary,
      "size of the source vocabulary; 0: joint with the target's", {.least = 0});
    v("width", width, "size of a token's vector", {.least = 1, .most = 65536});
    v("heads", heads, "attention heads; must divide the width", {.least = 1, .most = 1024});
    v("hidden", hidden, "size of the feed-forward layer", {.least = 1, .most = 1 << 20});
    v("encoder_layers", encoder_layers, "layers of the encoder", {.least = 1, .most = 1000});
    v("decoder_layers", decoder_layers, "layers of the decoder", {.least = 1, .most = 1000});
    v("dropout", dropout, "dropout of embeddings and of each branch before it is added",
      {.least = 0, .most = 0.99});
    v("attention_dropout", attention_dropout, "dropout of attention weights",
      {.least = 0, .most = 0.99});
    v("hidden_dropout", hidden_dropout, "dropout inside the feed-forward layer",
      {.least = 0, .most = 0.99});
    v("pre_norm", pre_norm, "normalise before attention and feed-forward instead of after");
    v("final_norm", final_norm, "normalise after the last layer of encoder and decoder");
    v("positions", positions, "how positions are encoded",
      {.choices = {"sinusoidal", "sinusoidal_halves", "learned", "relative", "none"}});
    v("longest", longest, "longest sequence in tokens, with learned positions",
      {.least = 1, .most = 1 << 20});
    v("first_position", first_position, "number of the first position", {.least = 0, .most = 1024});
    v("random_offset", random_offset,
      "in training, source and target of a pair begin together at a random position up to this; 0: "
      "at the first",
      {.least = 0, .most = 1 << 20});
    v("relative_distance", relative_distance, "largest distance that relative positions tell apart",
      {.least = 1, .most = 65536});
    v("tied_output", tied_output, "use the target embedding as the output projection");
    v("output_bias", output_bias, "add a bias to the output projection");
    v("residual", residual, "use residual connections");
    v("timing_every_layer", timing_every_layer, "add the timing signal before every layer");
    v("activation", activation, "activation function of the feed-forward layer",
      {.choices = {"relu", "gelu", "gelu_tanh"}});
    v("epsilon", epsilon, "epsilon of the layer norms", {.least = 0, .most = 1});
  }
};

class Transformer : public Seq2SeqModel, public VerifyingModel {
 public:
  Transformer(const Scope& s, const TransformerConfig& config);

  Tensor logits(const Batch& batch) const override;
  std::unique_ptr<DecodeState> start(const Tensor& source, const Tensor& lengths,
                                     int64_t beam) const override;
  Tensor step(const Tensor& tokens, DecodeState& state) const override;
  void select(DecodeState& state, std::span<const int64_t> sources,
              std::span<const int64_t> rows) const override;
  Verified verify(const Tensor& tokens, std::span<const int64_t> lengths,
                  DecodeState& state) const override;
  void roll_back(DecodeState& state, std::span<const int64_t> dropped) const override;
  int64_t target_vocabulary() const override { return config_.vocabulary; }
  int64_t longest() const override { return config_.positions == "learned" ? config_.longest : 0; }

  // source i32 [B,S] -> memory [B,S,C]
  Tensor encode(const Tensor& source, const Tensor& lengths = {}) const;
  // target i32 [B,T], memory [B,S,C] -> logits [B,T,V]
  Tensor decode(const Tensor& target, const Tensor& memory, const Tensor& lengths = {}) const;

  // The parts that decoding consists of, for models that put them together in another way.
  // What the decoder's layers look at.
  struct DecoderContext {
    MixerContext self = {};
    Tensor encoded = {};                  // [B,S,C]: the source, projected by each layer; or
    std::span<const Tensor> memory = {};  // of each layer, as project_memory() gives it
    Tensor memory_lengths = {};           // i32 [B]
    int64_t rows_per_source = 1;          // rows of x for each row of the memory
    Places places = {};                   // of x, where it continues something
    std::span<const std::unique_ptr<MixerCache>> caches = {};  // of each layer, or none
  };
  std::vector<Tensor> project_memory(const Tensor& memory) const;  // [B,S,C] -> each [B,S,2,H,D]
  Tensor source_vectors(const Tensor& ids) const;                  // [B,S] -> [B,S,C]
  Tensor target_vectors(const Tensor& ids) const;                  // [B,T] -> [B,T,C]
  // With the positions of the target.
  Tensor place(const Tensor& vectors, const Places& places = {}) const;      // [B,T,C]
  Tensor hidden(const Tensor& placed, const DecoderContext& context) const;  // [B,T,C]
  Tensor hidden(const Batch& batch) const;  // [B,T,C]: teacher forcing, before the projection
  // The same of target i32 [B,T] as a whole, given memory [B,S,C].
  Tensor hidden(const Tensor& target, const Tensor& memory, const Tensor& lengths) const;
  Tensor project(const Tensor& hidden) const;  // [..., C] -> logits [..., V]

 private:
  struct State;

  Tensor embed_source(const Tensor& ids, const Places& places = {}) const;  // [B,S] -> [B,S,C]
  Tensor embed_target(const Tensor& ids, const Places& places = {}) const;  // [B,T] -> [B,T,C]
  Tensor encode(const Tensor& source, const Tensor& lengths, const Places& places) const;
  Residual with_timing(Residual stream, size_t layer, const Places& places = {}) const;
  Tensor finish(const std::optional<LayerNorm>& norm, Residual& stream) const;
  // What follows tokens i32 [R,T] after those that the state has seen, which moves on: [R,T,C].
  // Rows that have lengths are verified.
  Tensor next(const Tensor& tokens, std::span<const int64_t> lengths, State& state) const;

  TransformerConfig config_;
  std::optional<Embedding> source_embedding_;
  Embedding target_embedding_;
  Positions encoder_positions_;
  Positions decoder_positions_;
  std::vector<TransformerLayer> encoder_;
  std::optional<LayerNorm> encoder_norm_;
  std::vector<TransformerLayer> decoder_;
  std::optional<LayerNorm> decoder_norm_;
  std::optional<Linear> output_;
  Parameter output_bias_;
};

// What models with such a configuration are made of.
struct StackKind {
  bool causal = false;  // positions see those before them alone
  bool cross = false;   // attends to a memory
};
LayerConfig layer_config(const TransformerConfig& config, const StackKind& kind);
PositionsConfig positions_config(const TransformerConfig& config);
// Where the pairs of a batch begin, if the configuration asks for it and a tape is in scope.
std::vector<int64_t> pair_offsets(const TransformerConfig& config, const Batch& batch);
Init embedding_init(const TransformerConfig& config);

// For the registry: models/spec.h.
ModelSpec spec_of(const TransformerConfig& config);
void adapt(TransformerConfig& config, const VocabularySizes& sizes);

}  // namespace heed
