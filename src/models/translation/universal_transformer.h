// The Universal Transformer (Dehghani et al. 2018): encoder and decoder are one layer each, applied
// again and again, for a fixed number of steps or until each position halts by itself.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "models/model.h"
#include "models/translation/transformer.h"
#include "models/universal_options.h"
#include "nn/universal/universal_stack.h"

namespace heed {

// encoder_layers and decoder_layers are how often a layer is applied, at most.
struct UniversalTransformerConfig : TransformerConfig, UniversalOptions {
  template <typename Visitor>
  void fields(Visitor& v) {
    TransformerConfig::fields(v);
    UniversalOptions::fields(v);
  }
};

class UniversalTransformer : public Seq2SeqModel {
 public:
  UniversalTransformer(const Scope& s, const UniversalTransformerConfig& config);

  Tensor logits(const Batch& batch) const override;
  std::unique_ptr<DecodeState> start(const Tensor& source, const Tensor& lengths,
                                     int64_t beam) const override;
  Tensor step(const Tensor& tokens, DecodeState& state) const override;
  void select(DecodeState& state, std::span<const int64_t> sources,
              std::span<const int64_t> rows) const override;
  int64_t target_vocabulary() const override { return config_.vocabulary; }
  int64_t longest() const override { return config_.positions == "learned" ? config_.longest : 0; }

 private:
  struct State;

  // [B,S] -> [B,S,C]
  Tensor encode(const Tensor& source, const Tensor& lengths, const Places& places) const;
  Tensor vectors(const Tensor& ids, const Embedding& embedding) const;  // [B,T] -> [B,T,C]
  Tensor project(const Tensor& x) const;                                // [...,C] -> [...,V]

  UniversalTransformerConfig config_;
  std::optional<Embedding> source_embedding_;
  Embedding target_embedding_;
  UniversalStack encoder_;
  UniversalStack decoder_;
  std::optional<Linear> output_;
};

// For the registry: models/spec.h.
ModelSpec spec_of(const UniversalTransformerConfig& config);
void adapt(UniversalTransformerConfig& config, const VocabularySizes& sizes);

}  // namespace heed
