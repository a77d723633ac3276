#include "models/transformer.h"

#include <cmath>

#include "nn/positions.h"
#include "ops/elementwise.h"

namespace heed {
namespace {

LayerConfig layer_config(const TransformerConfig& config, bool cross) {
  return {.width = config.width,
          .heads = config.heads,
          .hidden = config.hidden,
          .activation = Activation::relu,
          .dropout = config.dropout,
          .attention_dropout = config.dropout,
          .hidden_dropout = config.dropout,
          .pre_norm = config.pre_norm,
          .cross = cross};
}

}  // namespace

Transformer::Transformer(const Scope& s, const TransformerConfig& config)
    : embedding_(s / "embedding", config.vocabulary, config.width,
                 Init::normal(1.0F / std::sqrt(static_cast<float>(config.width)))),
      positions_(config.positions),
      encoder_norm_(s / "encoder" / "norm", config.width),
      decoder_norm_(s / "decoder" / "norm", config.width),
      dropout_(config.dropout) {
  encoder_.reserve(static_cast<size_t>(config.encoder_layers));
  for (int64_t i = 0; i < config.encoder_layers; ++i) {
    encoder_.emplace_back(s / "encoder" / i, layer_config(config, false));
  }
  decoder_.reserve(static_cast<size_t>(config.decoder_layers));
  for (int64_t i = 0; i < config.decoder_layers; ++i) {
    decoder_.emplace_back(s / "decoder" / i, layer_config(config, true));
  }
}

Tensor Transformer::embed(const Tensor& ids) const {
  if (!positions_) {
    return embedding_(ids);  // [B,T,C]
  }
  const int64_t width = embedding_.width();
  const Tensor x = embedding_(ids, std::sqrt(static_cast<float>(width)));                // [B,T,C]
  return dropout(add(x, sinusoidal_positions(ids.dim(1), width, x.dtype())), dropout_);  // [B,T,C]
}

Tensor Transformer::encode(const Tensor& source, const Tensor& lengths) const {
  Residual stream{embed(source), Tensor()};  // [B,S,C]
  for (const TransformerLayer& layer : encoder_) {
    stream = layer(std::move(stream), {.self = {.lengths = lengths}});
  }
  return encoder_norm_(stream, dropout_);  // [B,S,C]
}

Tensor Transformer::decode(const Tensor& target, const Tensor& memory,
                           const Tensor& lengths) const {
  Residual stream{embed(target), Tensor()};  // [B,T,C]
  for (const TransformerLayer& layer : decoder_) {
    stream = layer(std::move(stream),
                   {.self = {.causal = true}, .memory = memory, .cross = {.lengths = lengths}});
  }
  return embedding_.logits(decoder_norm_(stream, dropout_));  // [B,T,V]
}

}  // namespace heed
