#include "models/translation/transformer.h"

#include <cmath>

#include "base/error.h"
#include "models/select.h"
#include "ops/pointwise.h"

namespace heed {
namespace {

LayerConfig layer_config(const TransformerConfig& config, bool decoder) {
  LayerConfig layer{
      .width = config.width,
      .mixer = mixer<SelfAttention>(
          {.width = config.width,
           .heads = config.heads,
           .dropout = config.attention_dropout,
           .relative_distance = config.positions == "relative" ? config.relative_distance : 0,
           .relative_future = !decoder}),
      .hidden = config.hidden,
      .activation = activation_of(config.activation),
      .dropout = config.dropout,
      .hidden_dropout = config.hidden_dropout,
      .pre_norm = config.pre_norm,
      .residual = config.residual,
      .epsilon = config.epsilon};
  if (decoder) {
    layer.cross = {
        .width = config.width, .heads = config.heads, .dropout = config.attention_dropout};
  }
  return layer;
}

PositionsConfig positions_config(const TransformerConfig& config) {
  return {.kind = config.positions == "relative" ? "none" : config.positions,
          .width = config.width,
          .longest = config.longest,
          .first = config.first_position};
}

Init embedding_init(const TransformerConfig& config) {
  return Init::normal(1.0F / std::sqrt(static_cast<float>(config.width)));
}

// Caches of the decoder's layers and, for each, the keys and values of the memory.
struct TransformerState : DecodeState {
  std::vector<std::unique_ptr<MixerCache>> caches;  // R rows
  std::vector<Tensor> memory;                       // [B,S,2,H,D]
  Tensor lengths;                                   // i32 [B]
  int64_t beam = 1;
  int64_t position = 0;
};

}  // namespace

Transformer::Transformer(const Scope& s, const TransformerConfig& config)
    : config_(config),
      target_embedding_(s / (config.source_vocabulary == 0 ? "embedding" : "target_embedding"),
                        config.vocabulary, config.width, embedding_init(config)),
      encoder_positions_(s / "encoder" / "positions", positions_config(config)),
      decoder_positions_(s / "decoder" / "positions", positions_config(config)) {
  check(!config.timing_every_layer || config.positions.starts_with("sinusoidal"),
        "[transformer] timing_every_layer needs sinusoidal positions, they are {}",
        config.positions);
  if (config.source_vocabulary > 0) {
    source_embedding_.emplace(s / "source_embedding", config.source_vocabulary, config.width,
                              embedding_init(config));
  }
  encoder_.reserve(static_cast<size_t>(config.encoder_layers));
  for (int64_t i = 0; i < config.encoder_layers; ++i) {
    encoder_.emplace_back(s / "encoder" / i, layer_config(config, false),
                          AttentionLabel{"encoder", i});
  }
  decoder_.reserve(static_cast<size_t>(config.decoder_layers));
  for (int64_t i = 0; i < config.decoder_layers; ++i) {
    decoder_.emplace_back(s / "decoder" / i, layer_config(config, true),
                          AttentionLabel{"decoder", i});
  }
  if (config.final_norm) {
    encoder_norm_.emplace(s / "encoder" / "norm", config.width, config.epsilon);
    decoder_norm_.emplace(s / "decoder" / "norm", config.width, config.epsilon);
  }
  if (!config.tied_output) {
    output_.emplace(s / "output", config.width, config.vocabulary, config.output_bias);
  } else if (config.output_bias) {
    output_bias_ = (s / "output").param("bias", {config.vocabulary}, Init::constant(0.0F));
  }
}

// A joint vocabulary has one embedding; encoder and decoder still count their own positions.
Tensor Transformer::embed_source(const Tensor& ids) const {
  const Embedding& embedding = source_embedding_ ? *source_embedding_ : target_embedding_;
  const float scale = std::sqrt(static_cast<float>(config_.width));
  return dropout(encoder_positions_(embedding(ids, scale)), config_.dropout);  // [B,S,C]
}

Tensor Transformer::embed_target(const Tensor& ids, int64_t past) const {
  const float scale = std::sqrt(static_cast<float>(config_.width));
  return dropout(decoder_positions_(target_embedding_(ids, scale), past),
                 config_.dropout);  // [B,T,C]
}

// The lecture's experiment: where residual connections do not carry the positions up, every layer
// is told them again.
Residual Transformer::with_timing(Residual stream, size_t layer, int64_t past) const {
  if (!config_.timing_every_layer || layer == 0) {
    return stream;
  }
  if (stream.branch.defined()) {  // pre-norm: settle the stream first
    const Tensor branch = dropout(stream.branch, config_.dropout);
    stream = {config_.residual ? add(stream.x, branch) : branch, Tensor()};
  }
  return {encoder_positions_(stream.x, past), Tensor()};
}

Tensor Transformer::project(const Tensor& x) const {
  return output_ ? (*output_)(x) : target_embedding_.logits(x, output_bias_);
}

Tensor Transformer::encode(const Tensor& source, const Tensor& lengths) const {
  Residual stream{embed_source(source), Tensor()};  // [B,S,C]
  for (size_t i = 0; i < encoder_.size(); ++i) {
    stream = encoder_[i](with_timing(std::move(stream), i), {.self = {.lengths = lengths}});
  }
  return finish(encoder_norm_, stream);  // [B,S,C]
}

Tensor Transformer::decode(const Tensor& target, const Tensor& memory,
                           const Tensor& lengths) const {
  Residual stream{embed_target(target), Tensor()};  // [B,T,C]
  for (size_t i = 0; i < decoder_.size(); ++i) {
    const LayerContext context{
        .self = {.causal = true},
        .memory = {.kv = decoder_[i].project_memory(memory), .lengths = lengths}};  // [B,S,2,H,D]
    stream = decoder_[i](with_timing(std::move(stream), i), context);
  }
  return project(finish(decoder_norm_, stream));  // [B,T,V]
}

// The stream after the last layer: its pending branch added, and normed if there is a norm.
Tensor Transformer::finish(const std::optional<LayerNorm>& norm, Residual& stream) const {
  if (norm) {
    return (*norm)(stream, config_.dropout, config_.residual);
  }
  if (!stream.branch.defined()) {
    return stream.x;
  }
  const Tensor branch = dropout(stream.branch, config_.dropout);
  return config_.residual ? add(stream.x, branch) : branch;
}

Tensor Transformer::logits(const Batch& batch) const {
  const Tensor memory = encode(batch.source, batch.source_lengths);  // [B,S,C]
  return decode(batch.input, memory, batch.source_lengths);          // [B,T,V]
}

std::unique_ptr<DecodeState> Transformer::start(const Tensor& source, const Tensor& lengths,
                                                int64_t beam) const {
  check(beam >= 1, "[transformer] a beam of {}, expected 1 or more", beam);
  auto state = std::make_unique<TransformerState>();
  const Tensor memory = encode(source, lengths);  // [B,S,C]
  for (const TransformerLayer& layer : decoder_) {
    state->caches.push_back(layer.make_cache({.rows = source.dim(0) * beam}));
    state->memory.push_back(layer.project_memory(memory));  // [B,S,2,H,D]
  }
  state->lengths = lengths;
  state->beam = beam;
  return state;
}

Tensor Transformer::step(const Tensor& tokens, DecodeState& base) const {
  auto& state = static_cast<TransformerState&>(base);
  const int64_t rows = tokens.size();
  const Tensor ids = tokens.reshape({rows, 1});
  Residual stream{embed_target(ids, state.position), Tensor()};  // [R,1,C]
  for (size_t i = 0; i < decoder_.size(); ++i) {
    stream = decoder_[i](with_timing(std::move(stream), i, state.position),
                         {.self = {.causal = true, .caches = {state.caches[i].get()}},
                          .memory = {.kv = state.memory[i], .lengths = state.lengths},
                          .beam = state.beam});
  }
  ++state.position;
  const Tensor x = finish(decoder_norm_, stream);         // [R,1,C]
  return project(x).reshape({rows, config_.vocabulary});  // [R,V]
}

void Transformer::select(DecodeState& base, std::span<const int64_t> sources,
                         std::span<const int64_t> rows) const {
  auto& state = static_cast<TransformerState&>(base);
  for (const std::unique_ptr<MixerCache>& cache : state.caches) {
    cache->select(rows);
  }
  for (Tensor& memory : state.memory) {
    memory = select_rows(memory, sources);
  }
  state.lengths = select_rows(state.lengths, sources);
}

ModelSpec spec_of(const TransformerConfig& config) {
  const int64_t own = config.source_vocabulary;  // 0: joint
  return {.width = config.width,
          .source_vocabulary = own > 0 ? own : config.vocabulary,
          .target_vocabulary = config.vocabulary,
          .longest = config.positions == "learned" ? config.longest : 0,
          .attention = true};
}

void adapt(TransformerConfig& config, const VocabularySizes& sizes) {
  config.vocabulary = sizes.target;
  config.source_vocabulary = sizes.joint ? 0 : sizes.source;
}

}  // namespace heed
