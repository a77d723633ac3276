// Translation through discrete latents (Kaiser et al. 2018, "Fast Decoding in Sequence Models Using
// Discrete Latent Variables").
//
// An autoencoder turns the target y into a few latents: layers that see y and the source, then a
// pair of neighbours at a time becomes one vector until each stands for `shorten` tokens, and a
// bottleneck makes them discrete. A decoder without a causal mask turns them back into all of y at
// once. A predictor says the codes of the latents from the source alone. To translate, the
// predictor says L + 1 codes, one after the other, and the decoder all tokens in one pass.
//
// The number of latents bounds the length; the decoder says END where the text ends.
//
// Parameters that a Transformer has too have the same names, so a trained one can be the beginning.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "models/model.h"
#include "models/translation/latent_config.h"
#include "models/translation/latent_predictor.h"
#include "nn/bottleneck/bottleneck.h"
#include "nn/layer_stack.h"
#include "nn/positions.h"

namespace heed {

struct LatentRows;  // the latents of a batch

class LatentTransformer : public LatentModel {
 public:
  LatentTransformer(const Scope& s, const LatentTransformerConfig& config);

  int64_t target_vocabulary() const override { return config_.vocabulary; }
  int64_t longest() const override { return transformer_.longest(); }
  Sizes sizes() const override { return {config_.codes, config_.slices, config_.shorten}; }

  Encoded encode(const Tensor& source, const Tensor& lengths) const override;
  std::unique_ptr<Seq2SeqModel> prior(const Encoded& sources) const override;
  Tensor logits(const Tensor& codes, const Tensor& latents, const Encoded& sources) const override;
  Taught teach(const Batch& batch, const Teaching& teaching) const override;
  void learn(std::span<const Discrete> passes, const RandomStream& random) const override {
    bottleneck_->learn(passes, random);
  }

 private:
  // y i32 [B,L*n] with lengths i32 [B] -> [B,L,C]
  Tensor shorten(const Tensor& y, const Tensor& lengths, const Encoded& sources) const;
  // z [R,L,C] with numbers of latents i32 [R] -> logits [R,L*n,V]
  Tensor decode(const Tensor& z, const Tensor& latents, const Encoded& sources) const;

  Tensor with_predicted(const Taught& taught, const LatentRows& rows,
                        const Teaching& teaching) const;  // [B*L,C]

  LatentTransformerConfig config_;
  Transformer transformer_;  // reads the source, and says all of the target
  Positions autoencoder_positions_;
  LayerStack autoencoder_;
  std::vector<Linear> down_;  // [2C] -> [C]: two neighbours become one
  LayerNorm latent_norm_;
  std::unique_ptr<Bottleneck> bottleneck_;
  std::vector<Linear> up_;  // [C] -> [2C]: one becomes two neighbours
  LatentPredictor predictor_;
};

// For the registry: models/spec.h.
ModelSpec spec_of(const LatentTransformerConfig& config);
void adapt(LatentTransformerConfig& config, const VocabularySizes& sizes);

}  // namespace heed
