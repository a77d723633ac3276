#include "models/translation/transformer.h"

#include <cmath>

#include "base/error.h"
#include "models/select.h"
#include "ops/pointwise.h"

namespace heed {
namespace {

LayerConfig layer_config(const TransformerConfig& config, bool decoder) {
  return {.width = config.width,
          .heads = config.heads,
          .hidden = config.hidden,
          .activation = activation_of(config.activation),
          .dropout = config.dropout,
          .attention_dropout = config.attention_dropout,
          .hidden_dropout = config.hidden_dropout,
          .pre_norm = config.pre_norm,
          .cross = decoder,
          .residual = config.residual,
          .relative_distance = config.positions == "relative" ? config.relative_distance : 0,
          .relative_future = !decoder,
          .epsilon = config.epsilon};
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
  std::vector<KvCache> caches;  // R rows
  std::vector<Tensor> memory;   // [B,S,2,H,D]
  Tensor lengths;               // i32 [B]
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
    encoder_.emplace_back(s / "encoder" / i, layer_config(config, false));
  }
  decoder_.reserve(static_cast<size_t>(config.decoder_layers));
  for (int64_t i = 0; i < config.decoder_layers; ++i) {
    decoder_.emplace_back(s / "decoder" / i, layer_config(config, true));
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

Tensor Transformer::embed(const Embedding& embedding, const Tensor& ids, int64_t past) const {
  const float scale = std::sqrt(static_cast<float>(config_.width));
  const Positions& positions =
      &embedding == &target_embedding_ ? decoder_positions_ : encoder_positions_;
  return dropout(positions(embedding(ids, scale), past), config_.dropout);  // [B,T,C]
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

Tensor Transformer::encode(const Tensor& source, const Tensor& lengths,
                           std::vector<LayerAttention>* maps) const {
  const Embedding& embedding = source_embedding_ ? *source_embedding_ : target_embedding_;
  Residual stream{embed(embedding, source), Tensor()};  // [B,S,C]
  for (size_t i = 0; i < encoder_.size(); ++i) {
    LayerContext context{.self = {.lengths = lengths, .weights = maps != nullptr}};
    Tensor weights;
    context.self_weights = &weights;
    stream = encoder_[i](with_timing(std::move(stream), i), context);
    if (maps != nullptr) {
      maps->push_back({"encoder", static_cast<int64_t>(i), weights});
    }
  }
  return finish(encoder_norm_, stream);  // [B,S,C]
}

Tensor Transformer::decode(const Tensor& target, const Tensor& memory, const Tensor& lengths,
                           std::vector<LayerAttention>* maps) const {
  Residual stream{embed(target_embedding_, target), Tensor()};  // [B,T,C]
  for (size_t i = 0; i < decoder_.size(); ++i) {
    Tensor self_weights;
    Tensor cross_weights;
    const LayerContext context{.self = {.causal = true, .weights = maps != nullptr},
                               .memory = decoder_[i].project_memory(memory),  // [B,S,2,H,D]
                               .cross = {.lengths = lengths, .weights = maps != nullptr},
                               .self_weights = &self_weights,
                               .cross_weights = &cross_weights};
    stream = decoder_[i](with_timing(std::move(stream), i), context);
    if (maps != nullptr) {
      maps->push_back({"decoder", static_cast<int64_t>(i), self_weights});
      maps->push_back({"cross", static_cast<int64_t>(i), cross_weights});
    }
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

Tensor Transformer::logits(const Batch& batch, std::vector<LayerAttention>* maps) const {
  const Tensor memory = encode(batch.source, batch.source_lengths, maps);  // [B,S,C]
  return decode(batch.input, memory, batch.source_lengths, maps);          // [B,T,V]
}

std::unique_ptr<DecodeState> Transformer::start(const Tensor& source, const Tensor& lengths,
                                                int64_t beam) const {
  check(beam >= 1, "[transformer] a beam of {}, expected 1 or more", beam);
  auto state = std::make_unique<TransformerState>();
  const Tensor memory = encode(source, lengths);  // [B,S,C]
  state->caches.resize(decoder_.size());
  for (const TransformerLayer& layer : decoder_) {
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
  Residual stream{embed(target_embedding_, ids, state.position), Tensor()};  // [R,1,C]
  for (size_t i = 0; i < decoder_.size(); ++i) {
    stream = decoder_[i](with_timing(std::move(stream), i, state.position),
                         {.self = {.causal = true},
                          .memory = state.memory[i],
                          .cross = {.lengths = state.lengths},
                          .cache = &state.caches[i],
                          .beam = state.beam});
  }
  ++state.position;
  const Tensor x = finish(decoder_norm_, stream);         // [R,1,C]
  return project(x).reshape({rows, config_.vocabulary});  // [R,V]
}

void Transformer::select(DecodeState& base, std::span<const int64_t> sources,
                         std::span<const int64_t> rows) const {
  auto& state = static_cast<TransformerState&>(base);
  for (KvCache& cache : state.caches) {
    cache.select(rows);
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
