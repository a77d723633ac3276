#include "models/language/bert.h"

#include <utility>
#include <vector>

#include "base/error.h"
#include "ops/pointwise.h"

namespace heed {
namespace {

LayerConfig layer_config(const BertConfig& config) {
  return {.width = config.width,
          .mixer = mixer<SelfAttention>({.width = config.width,
                                         .heads = config.heads,
                                         .dropout = config.attention_dropout,
                                         .standard_deviation = config.initializer_range,
                                         .branch_standard_deviation = config.initializer_range}),
          .hidden = config.hidden,
          .activation = activation_of(config.activation),
          .dropout = config.dropout,
          .pre_norm = false,
          .epsilon = config.epsilon,
          .standard_deviation = config.initializer_range,
          .branch_standard_deviation = config.initializer_range};
}

TextHeadsConfig heads_config(const BertConfig& config) {
  return {.name = "bert",
          .width = config.width,
          .vocabulary = config.vocabulary,
          .activation = activation_of(config.activation),
          .epsilon = config.epsilon,
          .standard_deviation = config.initializer_range,
          .dropout = config.head_dropout,
          .pooler = config.pooler,
          .masked_head = config.masked_head,
          .next_head = config.next_head,
          .labels = config.labels};
}

}  // namespace

Bert::Bert(const Scope& s, const BertConfig& config)
    : config_(config),
      tokens_(s / "tokens", config.vocabulary, config.width,
              Init::normal(config.initializer_range)),
      positions_(s / "positions", config.longest, config.width,
                 Init::normal(config.initializer_range)),
      types_(s / "types", config.types, config.width, Init::normal(config.initializer_range)),
      embedding_norm_(s / "norm", config.width, config.epsilon) {
  layers_.reserve(static_cast<size_t>(config.layers));
  for (int64_t i = 0; i < config.layers; ++i) {
    layers_.emplace_back(s / "layers" / i, layer_config(config), AttentionLabel{"encoder", i});
  }
  heads_.emplace(s, heads_config(config));  // behind the layers, as checkpoints have them
}

Tensor Bert::embed(const TextBatch& batch) const {
  const int64_t length = batch.tokens.dim(1);
  check(length <= config_.longest, "[bert] {} tokens in a text, expected at most {}", length,
        config_.longest);
  std::vector<int32_t> places(static_cast<size_t>(batch.tokens.size()));
  for (size_t i = 0; i < places.size(); ++i) {
    places[i] = static_cast<int32_t>(static_cast<int64_t>(i) % length);
  }
  const Tensor positions = Tensor::from_ints(places, batch.tokens.shape());  // [B,T]
  const Tensor types =
      batch.types.defined() ? batch.types : Tensor::zeros(batch.tokens.shape(), DType::i32);
  const Tensor x = add(add(tokens_(batch.tokens), types_(types)), positions_(positions));
  return dropout(embedding_norm_(x), config_.dropout);  // [B,T,C]
}

Tensor Bert::hidden(const TextBatch& batch) const {
  check(batch.tokens.rank() == 2 && batch.tokens.size() > 0, "[bert] tokens is {}, expected [B,T]",
        batch.tokens.shape());
  Residual stream{embed(batch), Tensor()};  // [B,T,C]
  for (const TransformerLayer& layer : layers_) {
    stream = layer(std::move(stream), {.self = {.lengths = batch.lengths}});
  }
  return stream.x;  // [B,T,C]
}

Tensor Bert::summary(const Tensor& hidden, const TextBatch& /*batch*/) const {
  return heads_->summary(hidden);  // [B,C]
}

Tensor Bert::classes(const TextBatch& batch) const {
  return heads_->classes(hidden(batch));  // [B,K]
}

Tensor Bert::words(const Tensor& hidden, const Tensor& places) const {
  return heads_->words(hidden, places, tokens_);  // [N,V]
}

Tensor Bert::follows(const Tensor& hidden, const TextBatch& /*batch*/) const {
  return heads_->follows(hidden);  // [B,2]
}

ModelSpec spec_of(const BertConfig& config) {
  return {.width = config.width,
          .source_vocabulary = config.vocabulary,
          .target_vocabulary = config.vocabulary,
          .longest = config.longest,
          .classes = config.labels,
          .masked_head = config.masked_head,
          .attention = true};
}

void adapt(BertConfig& config, const VocabularySizes& sizes) { config.vocabulary = sizes.target; }

void adapt(BertConfig& config, const EncoderHeads& heads) {
  config.labels = heads.classes;
  config.masked_head = heads.masked;
  config.next_head = heads.next;
  config.pooler = heads.pooler.value_or(config.pooler);
}

}  // namespace heed
