#include "models/language/bert.h"

#include "base/error.h"
#include "models/select.h"
#include "ops/pointwise.h"
#include "ops/shape/shape.h"

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
  add_heads(s);
}

void Bert::add_heads(const Scope& s) {
  const int64_t width = config_.width;
  const Init init = Init::normal(config_.initializer_range);
  if (config_.pooler) {
    pooler_.emplace(s / "pooler", width, width, true, init);
  }
  if (config_.masked_head) {
    const Scope head = s / "masked";
    masked_head_.emplace(
        MaskedHead{.transform = Linear(head / "transform", width, width, true, init),
                   .norm = LayerNorm(head / "norm", width, config_.epsilon),
                   .bias = head.param("bias", {config_.vocabulary}, Init::constant(0.0F))});
  }
  if (config_.next_head) {
    next_head_.emplace(s / "next", width, 2, true, init);
  }
  if (config_.labels > 0) {
    classes_.emplace(s / "classes", width, config_.labels, true, init);
  }
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
  const Tensor first = slice(hidden, 1, 0, 1).reshape({hidden.dim(0), hidden.dim(2)});  // [B,C]
  return pooler_ ? (*pooler_)(first, Activation::tanh) : first;                         // [B,C]
}

Tensor Bert::classes(const TextBatch& batch) const {
  check(classes_.has_value(),
        "[bert] this model has no head for classes: train one with a "
        "recipe of task \"classify\"");
  return (*classes_)(dropout(summary(hidden(batch), batch), config_.head_dropout));  // [B,K]
}

Tensor Bert::words(const Tensor& hidden, const Tensor& places) const {
  check(masked_head_.has_value(), "[bert] this model has no head for masked words");
  const Tensor rows = hidden.reshape({hidden.dim(0) * hidden.dim(1), hidden.dim(2)});
  const Tensor x = masked_head_->transform(index_select(rows, 0, places),
                                           activation_of(config_.activation));  // [N,C]
  return tokens_.logits(masked_head_->norm(x), masked_head_->bias);             // [N,V]
}

Tensor Bert::follows(const Tensor& hidden, const TextBatch& batch) const {
  check(next_head_.has_value(), "[bert] this model has no head for following texts");
  return (*next_head_)(summary(hidden, batch));  // [B,2]
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
