// The prior of latent translation (Kaiser et al. 2018): a causal Transformer that says the codes of
// the latents one after the other, given the source.
//
// A latent has S codes. One pass of the layers serves all of them: the first is told from the
// layers' output, each further one from the output and the codes of the latent said before it.
#pragma once

#include <memory>
#include <vector>

#include "models/model.h"
#include "models/translation/latent_config.h"
#include "nn/layer_stack.h"
#include "nn/positions.h"

namespace heed {

class LatentPredictor {
 public:
  LatentPredictor(const Scope& s, const LatentTransformerConfig& config);

  // Codes i32 [B,L,S] -> logits of those and of what follows them, [B,L+1,S,K+1]; K is END.
  Tensor logits(const Tensor& codes, const StackMemory& memory) const;
  // The same as a sequence-to-sequence model of these sources: a token is a code, those of a latent
  // come in a row, and K both begins and ends the sequence. The predictor must outlive it.
  std::unique_ptr<Seq2SeqModel> prior(const StackMemory& memory) const;

 private:
  friend class LatentPrior;

  // Codes i32 [B,L,S] of latents that stand at `past` and after it -> [B,L,C].
  Tensor embed(const Tensor& codes, int64_t past = 0) const;
  // Logits of a slice's code, [...,K+1], given the layers' output [...,C] and the codes of the
  // slices before it, i32 [...,slice].
  Tensor head(const Tensor& hidden, const Tensor& said, int64_t slice) const;
  Tensor vectors(const Tensor& codes, int64_t slices) const;  // i32 [...,slices] -> [...,C]

  int64_t codes_;   // K
  int64_t slices_;  // S
  int64_t width_;   // C
  int64_t most_;    // codes of a sequence; 0: any number
  float dropout_;
  Embedding embedding_;  // [S*(K+1),C]: K begins the sequence
  Positions positions_;
  LayerStack layers_;
  std::vector<LayerNorm> norms_;  // in front of the heads of all slices but the first
  std::vector<Linear> heads_;
};

}  // namespace heed
