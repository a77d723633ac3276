// The vectors of a vocabulary, on the way in and on the way out: all of one width, or narrower for
// rarer words.
//
// Parameters belong to the store; forward passes are const.
#pragma once

#include <optional>

#include "nn/adaptive/adaptive_vocabulary.h"
#include "nn/layers.h"
#include "ops/mesh/split_cross_entropy.h"

namespace heed {

class TokenTable {
 public:
  // Without cutoffs one embedding, which is the output projection, too; an output projection of its
  // own is then the model's affair.
  TokenTable(const Scope& s, const AdaptiveConfig& config) {
    if (config.cutoffs.empty()) {
      plain_.emplace(s, config.vocabulary, config.width, Init::normal(config.standard_deviation));
    } else {
      adaptive_.emplace(s, config);
    }
  }

  bool adaptive() const { return adaptive_.has_value(); }
  // tokens i32 [...] -> [..., C]
  Tensor operator()(const Tensor& tokens) const {
    return adaptive_ ? adaptive_->embed(tokens) : (*plain_)(tokens);
  }
  // x [..., C] -> logits of all words, [..., V]
  Tensor logits(const Tensor& x) const {
    return adaptive_ ? adaptive_->log_probabilities(x) : plain_->logits(x);
  }
  // The mean of -log p of targets i32 [...] of x [..., C].
  Tensor loss(const Tensor& x, const Tensor& targets) const {
    return adaptive_ ? adaptive_->loss(x, targets)
                     : cross_entropy_of([&] { return plain_->logits(x); }, targets);
  }

 private:
  std::optional<Embedding> plain_;
  std::optional<AdaptiveVocabulary> adaptive_;
};

}  // namespace heed
