// A Transformer whose decoder says all tokens of a target at once. Its layers are those of 2017
// without the causal mask; what they are shown instead of the tokens before is a choice:
//
//   copied   the source's vectors, spread over the target's positions (Gu et al. 2018)
//   refined  the same in the first pass, later the tokens of the pass before (Lee et al. 2018)
//   masked   the tokens that are kept, START in the place of the others (Ghazvininejad et al. 2019)
//
// Somebody has to say how long the target is: a head reads that off the vector of the source's
// last token. With fertilities, a head tells instead how often each token of the source is copied.
//
// Parameters that a Transformer has too have the same names, so a trained one can be the beginning.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "models/translation/transformer.h"

namespace heed {

struct ParallelTransformerConfig : TransformerConfig {
  std::string input = "masked";
  int64_t length_range = 32;
  int64_t fertilities = 0;

  template <typename Visitor>
  void fields(Visitor& v) {
    TransformerConfig::fields(v);
    v("input", input,
      "what the decoder is shown: copies of the source, those and then its own "
      "words, or masks",
      {.choices = {"copied", "refined", "masked"}});
    v("length_range", length_range, "tokens that a target may be longer or shorter than its source",
      {.least = 1, .most = 1024});
    v("fertilities", fertilities,
      "a token of the source is copied less often than this, as a head says; 0: copies are spread "
      "evenly",
      {.least = 0, .most = 1024});
  }
};

class ParallelTransformer : public ParallelModel {
 public:
  ParallelTransformer(const Scope& s, const ParallelTransformerConfig& config);

  Input input() const override { return input_; }
  std::unique_ptr<DecodeState> start(const Tensor& source, const Tensor& lengths) const override;
  Tensor length_logits(const DecodeState& state) const override;
  int64_t length_range() const override { return config_.length_range; }
  Tensor fertility_logits(const DecodeState& state) const override;
  int64_t fertilities() const override { return config_.fertilities; }
  Tensor pass(const Pass& shown, const DecodeState& state) const override;
  int64_t target_vocabulary() const override { return config_.vocabulary; }
  int64_t longest() const override { return transformer_.longest(); }

 private:
  struct State;
  // What the positions of a pass begin with.
  Tensor vectors(const Pass& shown, const State& state) const;       // [R,T,C]
  Tensor copies_of(const Tensor& copied, const State& state) const;  // [R,T] -> [R,T,C]

  ParallelTransformerConfig config_;
  Input input_;
  Transformer transformer_;
  Linear length_hidden_;
  Linear length_;
  std::optional<Linear> fertility_;
};

// For the registry: models/spec.h.
ModelSpec spec_of(const ParallelTransformerConfig& config);
void adapt(ParallelTransformerConfig& config, const VocabularySizes& sizes);

}  // namespace heed
