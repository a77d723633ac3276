// What a text encoder says about a text, as BERT has it (Devlin et al. 2018): a summary of the
// whole, classes, the words behind masks, and whether one text follows another.
//
// Owns handles on its parameters, nothing else.
#pragma once

#include <optional>
#include <string>

#include "nn/layers.h"

namespace heed {

struct TextHeadsConfig {
  std::string name;  // of the model, in errors
  int64_t width = 768;
  int64_t vocabulary = 30522;
  Activation activation = Activation::gelu;
  float epsilon = 1e-12F;
  float standard_deviation = 0.02F;  // of the initial values
  float dropout = 0.1F;              // before the classes
  bool pooler = true;
  bool masked_head = false;
  bool next_head = false;
  int64_t labels = 0;
};

class TextHeads {
 public:
  TextHeads(const Scope& s, const TextHeadsConfig& config);

  // The first token's vector, through the pooler if there is one: [B,T,C] -> [B,C]
  Tensor summary(const Tensor& hidden) const;
  Tensor classes(const Tensor& hidden) const;  // [B,T,C] -> [B,K]
  // Logits of the tokens at the places (b * T + t), [N,V], over the words of this embedding.
  Tensor words(const Tensor& hidden, const Tensor& places, const Embedding& tokens) const;
  Tensor follows(const Tensor& hidden) const;  // [B,T,C] -> [B,2]

 private:
  struct MaskedHead {
    Linear transform;
    LayerNorm norm;
    Parameter bias;  // [V]
  };

  TextHeadsConfig config_;
  std::optional<Linear> pooler_;
  std::optional<MaskedHead> masked_head_;
  std::optional<Linear> next_head_;
  std::optional<Linear> classes_;
};

}  // namespace heed
