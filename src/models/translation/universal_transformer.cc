#include "models/translation/universal_transformer.h"

#include <cmath>

#include "base/error.h"
#include "ops/pointwise.h"

namespace heed {
namespace {

UniversalConfig stack_config(const UniversalTransformerConfig& config, const StackKind& kind) {
  return config.applied_to({.layer = layer_config(config, kind),
                            .positions = positions_config(config),
                            .steps = kind.cross ? config.decoder_layers : config.encoder_layers,
                            .final_norm = config.final_norm,
                            .label = kind.cross ? "decoder" : "encoder"});
}

}  // namespace

struct UniversalTransformer::State : DecodeState {
  UniversalStack::State decoder;
};

UniversalTransformer::UniversalTransformer(const Scope& s, const UniversalTransformerConfig& config)
    : config_(config),
      target_embedding_(s / (config.source_vocabulary == 0 ? "embedding" : "target_embedding"),
                        config.vocabulary, config.width, embedding_init(config)),
      encoder_(s / "encoder", stack_config(config, {})),
      decoder_(s / "decoder", stack_config(config, {.causal = true, .cross = true})) {
  check(config.residual, "[universal transformer] residual is false, expected true");
  check(!config.output_bias || !config.tied_output,
        "[universal transformer] output_bias needs tied_output = false");
  if (config.source_vocabulary > 0) {
    source_embedding_.emplace(s / "source_embedding", config.source_vocabulary, config.width,
                              embedding_init(config));
  }
  if (!config.tied_output) {
    output_.emplace(s / "output", config.width, config.vocabulary, config.output_bias);
  }
}

Tensor UniversalTransformer::vectors(const Tensor& ids, const Embedding& embedding) const {
  return dropout(embedding(ids, std::sqrt(static_cast<float>(config_.width))), config_.dropout);
}

Tensor UniversalTransformer::project(const Tensor& x) const {
  return output_ ? (*output_)(x) : target_embedding_.logits(x);
}

Tensor UniversalTransformer::encode(const Tensor& source, const Tensor& lengths,
                                    const Places& places) const {
  const Embedding& embedding = source_embedding_ ? *source_embedding_ : target_embedding_;
  UniversalStack::Context context;
  context.self.lengths = lengths;
  context.lengths = lengths;
  context.places = places;
  return encoder_(vectors(source, embedding), context);  // [B,S,C]
}

Tensor UniversalTransformer::logits(const Batch& batch) const {
  const std::vector<int64_t> offsets = pair_offsets(config_, batch);
  const Places places{.past = offsets};
  const Tensor memory = encode(batch.source, batch.source_lengths, places);  // [B,S,C]
  UniversalStack::Context context;
  context.self.causal = true;
  context.lengths = batch.target_lengths;
  context.memory = {.vectors = memory, .lengths = batch.source_lengths};
  context.places = places;
  return project(decoder_(vectors(batch.input, target_embedding_), context));  // [B,T,V]
}

std::unique_ptr<DecodeState> UniversalTransformer::start(const Tensor& source,
                                                         const Tensor& lengths,
                                                         int64_t beam) const {
  check(beam >= 1, "[universal transformer] a beam of {}, expected 1 or more", beam);
  auto state = std::make_unique<State>();
  state->decoder =
      decoder_.start({.vectors = encode(source, lengths, {}), .lengths = lengths, .beam = beam});
  return state;
}

Tensor UniversalTransformer::step(const Tensor& tokens, DecodeState& state) const {
  const int64_t rows = tokens.size();
  const Tensor x = vectors(tokens.reshape({rows, 1}), target_embedding_);     // [R,1,C]
  const Tensor y = decoder_.step(x, static_cast<State&>(state).decoder, {});  // [R,1,C]
  return project(y).reshape({rows, config_.vocabulary});                      // [R,V]
}

void UniversalTransformer::select(DecodeState& state, std::span<const int64_t> sources,
                                  std::span<const int64_t> rows) const {
  static_cast<State&>(state).decoder.select(sources, rows);
}

ModelSpec spec_of(const UniversalTransformerConfig& config) {
  return spec_of(static_cast<const TransformerConfig&>(config));
}

void adapt(UniversalTransformerConfig& config, const VocabularySizes& sizes) {
  adapt(static_cast<TransformerConfig&>(config), sizes);
}

}  // namespace heed
