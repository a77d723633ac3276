#include "models/translation/transformer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "models/select.h"
#include "ops/pointwise.h"

namespace heed {

LayerConfig layer_config(const TransformerConfig& config, const StackKind& kind) {
  LayerConfig layer{
      .width = config.width,
      .mixer = mixer<SelfAttention>(
          {.width = config.width,
           .heads = config.heads,
           .dropout = config.attention_dropout,
           .relative_distance = config.positions == "relative" ? config.relative_distance : 0,
           .relative_future = !kind.causal}),
      .hidden = config.hidden,
      .activation = activation_of(config.activation),
      .dropout = config.dropout,
      .hidden_dropout = config.hidden_dropout,
      .pre_norm = config.pre_norm,
      .residual = config.residual,
      .epsilon = config.epsilon};
  if (kind.cross) {
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

std::vector<int64_t> pair_offsets(const TransformerConfig& config, const Batch& batch) {
  const int64_t length = std::max(batch.source.dim(1), batch.input.dim(1));
  const int64_t most = config.positions == "learned"
                           ? std::min(config.random_offset, config.longest - length)
                           : config.random_offset;
  return random_offsets(batch.source.dim(0), most);
}

Init embedding_init(const TransformerConfig& config) {
  return Init::normal(1.0F / std::sqrt(static_cast<float>(config.width)));
}

// Caches of the decoder's layers and, for each, the keys and values of the memory.
struct Transformer::State : DecodeState {
  std::vector<std::unique_ptr<MixerCache>> caches;  // R rows
  std::vector<Tensor> memory;                       // [B,S,2,H,D]
  Tensor lengths;                                   // i32 [B]
  int64_t beam = 1;
  std::vector<int64_t> seen;  // tokens shown to each row
};

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
    encoder_.emplace_back(s / "encoder" / i, layer_config(config, {}),
                          AttentionLabel{"encoder", i});
  }
  decoder_.reserve(static_cast<size_t>(config.decoder_layers));
  for (int64_t i = 0; i < config.decoder_layers; ++i) {
    decoder_.emplace_back(s / "decoder" / i, layer_config(config, {.causal = true, .cross = true}),
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
Tensor Transformer::source_vectors(const Tensor& ids) const {
  const Embedding& embedding = source_embedding_ ? *source_embedding_ : target_embedding_;
  return embedding(ids, std::sqrt(static_cast<float>(config_.width)));  // [B,S,C]
}

Tensor Transformer::target_vectors(const Tensor& ids) const {
  return target_embedding_(ids, std::sqrt(static_cast<float>(config_.width)));  // [B,T,C]
}

Tensor Transformer::embed_source(const Tensor& ids, const Places& places) const {
  return dropout(encoder_positions_(source_vectors(ids), places), config_.dropout);  // [B,S,C]
}

Tensor Transformer::place(const Tensor& vectors, const Places& places) const {
  return dropout(decoder_positions_(vectors, places), config_.dropout);  // [B,T,C]
}

Tensor Transformer::embed_target(const Tensor& ids, const Places& places) const {
  return place(target_vectors(ids), places);  // [B,T,C]
}

// The lecture's experiment: where residual connections do not carry the positions up, every layer
// is told them again.
Residual Transformer::with_timing(Residual stream, size_t layer, const Places& places) const {
  if (!config_.timing_every_layer || layer == 0) {
    return stream;
  }
  if (stream.branch.defined()) {  // pre-norm: settle the stream first
    const Tensor branch = dropout(stream.branch, config_.dropout);
    stream = {config_.residual ? add(stream.x, branch) : branch, Tensor()};
  }
  return {encoder_positions_(stream.x, places), Tensor()};
}

Tensor Transformer::project(const Tensor& x) const {
  return output_ ? (*output_)(x) : target_embedding_.logits(x, output_bias_);
}

Tensor Transformer::encode(const Tensor& source, const Tensor& lengths) const {
  return encode(source, lengths, {});  // [B,S,C]
}

Tensor Transformer::encode(const Tensor& source, const Tensor& lengths,
                           const Places& places) const {
  Residual stream{embed_source(source, places), Tensor()};  // [B,S,C]
  for (size_t i = 0; i < encoder_.size(); ++i) {
    stream = encoder_[i](with_timing(std::move(stream), i, places), {.self = {.lengths = lengths}});
  }
  return finish(encoder_norm_, stream);  // [B,S,C]
}

Tensor Transformer::hidden(const Tensor& target, const Tensor& memory,
                           const Tensor& lengths) const {
  const DecoderContext context{
      .self = {.causal = true}, .encoded = memory, .memory_lengths = lengths};
  return hidden(embed_target(target), context);  // [B,T,C]
}

std::vector<Tensor> Transformer::project_memory(const Tensor& memory) const {
  std::vector<Tensor> projected;
  projected.reserve(decoder_.size());
  for (const TransformerLayer& layer : decoder_) {
    projected.push_back(layer.project_memory(memory));  // [B,S,2,H,D]
  }
  return projected;
}

Tensor Transformer::hidden(const Tensor& placed, const DecoderContext& context) const {
  Residual stream{placed, Tensor()};  // [B,T,C]
  for (size_t i = 0; i < decoder_.size(); ++i) {
    const Tensor kv = context.memory.empty() ? decoder_[i].project_memory(context.encoded)
                                             : context.memory[i];  // [B,S,2,H,D]
    LayerContext layer{.self = context.self,
                       .memory = {.kv = kv, .lengths = context.memory_lengths},
                       .beam = context.rows_per_source};
    if (!context.caches.empty()) {
      layer.self.caches = {context.caches[i].get()};
    }
    stream = decoder_[i](with_timing(std::move(stream), i, context.places), layer);
  }
  return finish(decoder_norm_, stream);  // [B,T,C]
}

Tensor Transformer::decode(const Tensor& target, const Tensor& memory,
                           const Tensor& lengths) const {
  return project(hidden(target, memory, lengths));  // [B,T,V]
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

Tensor Transformer::hidden(const Batch& batch) const {
  const std::vector<int64_t> offsets = pair_offsets(config_, batch);
  DecoderContext context;
  context.self.causal = true;
  context.places = {.past = offsets};
  context.encoded = encode(batch.source, batch.source_lengths, context.places);  // [B,S,C]
  context.memory_lengths = batch.source_lengths;
  return hidden(embed_target(batch.input, context.places), context);  // [B,T,C]
}

Tensor Transformer::logits(const Batch& batch) const {
  return project(hidden(batch));  // [B,T,V]
}

std::unique_ptr<DecodeState> Transformer::start(const Tensor& source, const Tensor& lengths,
                                                int64_t beam) const {
  check(beam >= 1, "[transformer] a beam of {}, expected 1 or more", beam);
  auto state = std::make_unique<State>();
  for (const TransformerLayer& layer : decoder_) {
    state->caches.push_back(layer.make_cache({.rows = source.dim(0) * beam}));
  }
  state->memory = project_memory(encode(source, lengths));
  state->lengths = lengths;
  state->beam = beam;
  state->seen.resize(static_cast<size_t>(source.dim(0) * beam));
  return state;
}

Tensor Transformer::next(const Tensor& tokens, std::span<const int64_t> lengths,
                         State& state) const {
  DecoderContext context{.self = {.causal = true, .stepwise = !lengths.empty()},
                         .memory = state.memory,
                         .memory_lengths = state.lengths,
                         .rows_per_source = state.beam,
                         .places = {.past = state.seen, .lengths = lengths},
                         .caches = state.caches};
  if (!lengths.empty()) {
    const std::vector<int32_t> own(lengths.begin(), lengths.end());
    context.self.lengths = Tensor::from_ints(own, {std::ssize(own)});
  }
  Tensor x = hidden(embed_target(tokens, context.places), context);  // [R,T,C]
  for (size_t row = 0; row < state.seen.size(); ++row) {
    state.seen[row] += context.places.length(static_cast<int64_t>(row), tokens.dim(1));
  }
  return x;
}

Tensor Transformer::step(const Tensor& tokens, DecodeState& base) const {
  const int64_t rows = tokens.size();
  const Tensor x = next(tokens.reshape({rows, 1}), {}, static_cast<State&>(base));  // [R,1,C]
  return project(x).reshape({rows, config_.vocabulary});                            // [R,V]
}

Verified Transformer::verify(const Tensor& tokens, std::span<const int64_t> lengths,
                             DecodeState& base) const {
  check_lengths("transformer", tokens, lengths, 0);
  const Tensor x =
      without_padding(next(tokens, lengths, static_cast<State&>(base)), lengths);  // [N,C]
  return {x, project(x)};                                                          // [N,C], [N,V]
}

void Transformer::roll_back(DecodeState& base, std::span<const int64_t> dropped) const {
  auto& state = static_cast<State&>(base);
  for (const std::unique_ptr<MixerCache>& cache : state.caches) {
    cache->roll_back(dropped);
  }
  for (size_t row = 0; row < state.seen.size(); ++row) {
    state.seen[row] -= dropped[row];
  }
}

void Transformer::select(DecodeState& base, std::span<const int64_t> sources,
                         std::span<const int64_t> rows) const {
  auto& state = static_cast<State&>(base);
  for (const std::unique_ptr<MixerCache>& cache : state.caches) {
    cache->select(rows);
  }
  const std::vector<int64_t> seen = std::exchange(state.seen, {});
  for (const int64_t row : rows) {
    state.seen.push_back(seen.at(static_cast<size_t>(row)));
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
