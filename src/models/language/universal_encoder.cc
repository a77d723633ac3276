#include "models/language/universal_encoder.h"

#include <cmath>

#include "base/error.h"
#include "ops/pointwise.h"

namespace heed {
namespace {

constexpr float kTypesDeviation = 0.02F;

TextHeadsConfig heads_config(const UniversalEncoderConfig& config) {
  return {.name = "universal encoder",
          .width = config.width,
          .vocabulary = config.vocabulary,
          .activation = activation_of(config.activation),
          .epsilon = config.epsilon,
          .standard_deviation = 1.0F / std::sqrt(static_cast<float>(config.width)),
          .dropout = config.head_dropout,
          .pooler = config.pooler,
          .masked_head = config.masked_head,
          .next_head = config.next_head,
          .labels = config.labels};
}

}  // namespace

UniversalEncoder::UniversalEncoder(const Scope& s, const UniversalEncoderConfig& config)
    : config_(config),
      tokens_(s / "tokens", config.vocabulary, config.width,
              Init::normal(1.0F / std::sqrt(static_cast<float>(config.width)))),
      types_(s / "types", config.types, config.width, Init::normal(kTypesDeviation)),
      stack_(s / "encoder", config.stack(false, config.longest)),
      heads_(s, heads_config(config)) {}

Tensor UniversalEncoder::embed(const TextBatch& batch) const {
  const Tensor types =
      batch.types.defined() ? batch.types : Tensor::zeros(batch.tokens.shape(), DType::i32);
  const Tensor x = tokens_(batch.tokens, std::sqrt(static_cast<float>(config_.width)));  // [B,T,C]
  return dropout(add(x, types_(types)), config_.dropout);                                // [B,T,C]
}

Tensor UniversalEncoder::hidden(const TextBatch& batch) const {
  check(batch.tokens.rank() == 2 && batch.tokens.size() > 0,
        "[universal encoder] tokens is {}, expected [B,T]", batch.tokens.shape());
  check(batch.tokens.dim(1) <= config_.longest,
        "[universal encoder] {} tokens in a text, expected at most {}", batch.tokens.dim(1),
        config_.longest);
  UniversalStack::Context context;
  context.self.lengths = batch.lengths;
  context.lengths = batch.lengths;
  return stack_(embed(batch), context);  // [B,T,C]
}

Tensor UniversalEncoder::summary(const Tensor& hidden, const TextBatch& /*batch*/) const {
  return heads_.summary(hidden);  // [B,C]
}

Tensor UniversalEncoder::classes(const TextBatch& batch) const {
  return heads_.classes(hidden(batch));  // [B,K]
}

Tensor UniversalEncoder::words(const Tensor& hidden, const Tensor& places) const {
  return heads_.words(hidden, places, tokens_);  // [N,V]
}

Tensor UniversalEncoder::follows(const Tensor& hidden, const TextBatch& /*batch*/) const {
  return heads_.follows(hidden);  // [B,2]
}

ModelSpec spec_of(const UniversalEncoderConfig& config) {
  return {.width = config.width,
          .source_vocabulary = config.vocabulary,
          .target_vocabulary = config.vocabulary,
          .longest = config.longest,
          .classes = config.labels,
          .masked_head = config.masked_head,
          .attention = true};
}

void adapt(UniversalEncoderConfig& config, const VocabularySizes& sizes) {
  config.vocabulary = sizes.target;
}

void adapt(UniversalEncoderConfig& config, const EncoderHeads& heads) {
  config.labels = heads.classes;
  config.masked_head = heads.masked;
  config.next_head = heads.next;
  config.pooler = heads.pooler.value_or(config.pooler);
}

}  // namespace heed
