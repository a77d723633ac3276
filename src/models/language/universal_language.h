// The Universal Transformer (Dehghani et al. 2018) as a language model: one causal layer, applied
// again and again, for a fixed number of steps or until each position halts by itself.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "base/config.h"
#include "models/model.h"
#include "models/universal_options.h"

namespace heed {

struct UniversalLanguageConfig : UniversalSizes {
  int64_t vocabulary = 8000;
  int64_t context = 256;
  bool tied_output = true;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("vocabulary", vocabulary, "size of the vocabulary; 0: as in the tokenizer", {.least = 0});
    v("context", context, "context length in tokens", {.least = 1, .most = 1 << 20});
    UniversalSizes::fields(v);
    v("tied_output", tied_output, "use the embedding as the output projection");
  }
};

class UniversalLanguage : public LanguageModel, public VerifyingModel {
 public:
  UniversalLanguage(const Scope& s, const UniversalLanguageConfig& config);

  Tensor logits(const Tensor& tokens, int64_t first = 0) const override;
  std::unique_ptr<DecodeState> start() const override;
  Tensor step(const Tensor& tokens, DecodeState& state,
              std::span<const int64_t> lengths = {}) const override;
  void select(DecodeState& state, std::span<const int64_t> rows) const override;
  void join(DecodeState& state, const DecodeState& more) const override;
  Verified verify(const Tensor& tokens, std::span<const int64_t> lengths,
                  DecodeState& state) const override;
  void roll_back(DecodeState& state, std::span<const int64_t> dropped) const override;
  int64_t vocabulary() const override { return config_.vocabulary; }
  int64_t context() const override { return config_.context; }

 private:
  struct State;

  Tensor vectors(const Tensor& tokens) const;  // [B,T] -> [B,T,C]
  Tensor project(const Tensor& x) const;       // [..., C] -> [..., V]
  // What follows tokens i32 [R,T] after those that the state has seen, which moves on: [R,T,C].
  Tensor next(const Tensor& tokens, State& state, const UniversalStack::Next& shown) const;
  void check_context(int64_t past, int64_t length) const;

  UniversalLanguageConfig config_;
  Embedding tokens_;
  UniversalStack stack_;
  std::optional<Linear> output_;
};

// For the registry: models/spec.h.
ModelSpec spec_of(const UniversalLanguageConfig& config);
void adapt(UniversalLanguageConfig& config, const VocabularySizes& sizes);

}  // namespace heed
