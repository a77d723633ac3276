// Convolutional sequence to sequence (Gehring et al. 2017): no recurrence, so training sees all
// positions at once, and attention in every layer of the decoder, one year before attention alone
// was enough.
//
//   encoder: x = blend(x, glu(conv(x)))           over all neighbours; keys = the last x, projected
//   decoder: h = glu(conv(x))                     over the past
//            x = blend(x, blend(h, attention(h)))  values = keys and source embeddings
//
// where blend(a, b) = (a + b) / sqrt(2). The paper's weight normalisation is left out.
#pragma once

#include <optional>
#include <vector>

#include "base/config.h"
#include "models/model.h"
#include "nn/convolution.h"
#include "nn/positions.h"

namespace heed {

struct ConvConfig {
  int64_t vocabulary = 8000;      // of the target; also of the source if source_vocabulary is 0
  int64_t source_vocabulary = 0;  // 0: joint, one embedding for source and target
  int64_t embedding = 256;
  int64_t hidden = 256;
  int64_t encoder_layers = 4;
  int64_t decoder_layers = 3;
  int64_t kernel = 3;
  float dropout = 0.2F;
  int64_t longest = 1024;
  bool tied_output = true;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("vocabulary", vocabulary, "size of the target (or joint) vocabulary; 0: as in the tokenizer",
      {.least = 0});
    v("source_vocabulary", source_vocabulary,
      "size of the source vocabulary; 0: joint with the target's", {.least = 0});
    v("embedding", embedding, "size of a token's vector", {.least = 1, .most = 65536});
    v("hidden", hidden, "channels of the convolutions", {.least = 1, .most = 65536});
    v("encoder_layers", encoder_layers, "layers of the encoder", {.least = 1, .most = 1000});
    v("decoder_layers", decoder_layers, "layers of the decoder", {.least = 1, .most = 1000});
    v("kernel", kernel, "width of the convolutions in positions", {.least = 2, .most = 1024});
    v("dropout", dropout, "dropout of embeddings and of the inputs of convolutions",
      {.least = 0, .most = 0.99});
    v("longest", longest, "longest sequence in tokens; positions are learned",
      {.least = 1, .most = 1 << 20});
    v("tied_output", tied_output, "use the target embedding as the output projection");
  }
};

class ConvS2S : public Seq2SeqModel {
 public:
  ConvS2S(const Scope& s, const ConvConfig& config);

  Tensor logits(const Batch& batch) const override;
  std::unique_ptr<DecodeState> start(const Tensor& source, const Tensor& lengths,
                                     int64_t beam) const override;
  Tensor step(const Tensor& tokens, DecodeState& state) const override;
  void select(DecodeState& state, std::span<const int64_t> sources,
              std::span<const int64_t> rows) const override;
  int64_t target_vocabulary() const override { return config_.vocabulary; }
  int64_t longest() const override { return config_.longest; }

 private:
  struct State;
  struct DecoderLayer {
    GatedConvolution convolution;
    StepAttention attention;
  };
  ConvolutionMemory encode(const Tensor& source, const Tensor& lengths) const;
  // target i32 [R,T] -> logits [R,T,V]; with a state the target continues it.
  Tensor decode(const Tensor& target, const ConvolutionMemory& memory, State* state) const;

  ConvConfig config_;
  std::optional<Embedding> source_embedding_;
  Embedding target_embedding_;
  Positions encoder_positions_;
  Positions decoder_positions_;
  Linear encoder_in_;   // [..., E] -> [..., C]
  Linear encoder_out_;  // [..., C] -> [..., E]
  Linear decoder_in_;
  Linear decoder_out_;
  std::vector<GatedConvolution> encoder_;
  std::vector<DecoderLayer> decoder_;
  std::optional<Linear> output_;
};

// For the registry: models/spec.h.
ModelSpec spec_of(const ConvConfig& config);
void adapt(ConvConfig& config, const VocabularySizes& sizes);

}  // namespace heed
