#include "models/language/rnn_language.h"

#include <cmath>

#include "base/error.h"
#include "models/select.h"
#include "ops/pointwise.h"
#include "ops/shape/shape.h"

namespace heed {

struct RnnLanguage::State : DecodeState {
  std::vector<RecurrentState> layers;  // of R rows; empty: nothing was shown yet
};

RnnLanguage::RnnLanguage(const Scope& s, const RnnLanguageConfig& config)
    : config_(config),
      tokens_(s / "tokens", config.vocabulary, config.embedding,
              Init::normal(1.0F / std::sqrt(static_cast<float>(config.embedding)))) {
  check(!config.tied_output || config.embedding == config.hidden,
        "[rnn_language] embedding is {} and hidden {}, expected the same for tied_output",
        config.embedding, config.hidden);
  const RecurrentCell cell = config.cell == "gru" ? RecurrentCell::gru : RecurrentCell::lstm;
  for (int64_t i = 0; i < config.layers; ++i) {
    layers_.emplace_back(
        s / "layers" / i,
        RecurrentConfig{cell, i == 0 ? config.embedding : config.hidden, config.hidden});
  }
  if (!config.tied_output) {
    output_.emplace(s / "output", config.hidden, config.vocabulary);
  }
}

Tensor RnnLanguage::hidden(const Tensor& tokens, State& state,
                           std::span<const int64_t> lengths) const {
  RecurrentOptions options;
  if (!lengths.empty()) {
    const std::vector<int32_t> steps(lengths.begin(), lengths.end());
    options.lengths = Tensor::from_ints(steps, {std::ssize(steps)});
  }
  state.layers.resize(layers_.size());
  Tensor x = tokens_(tokens, std::sqrt(static_cast<float>(config_.embedding)));  // [R,T,E]
  for (size_t i = 0; i < layers_.size(); ++i) {
    RecurrentResult result = layers_[i](dropout(x, config_.dropout), state.layers[i], options);
    state.layers[i] = result.state;
    x = result.outputs;  // [R,T,H]
  }
  return dropout(x, config_.dropout);
}

Tensor RnnLanguage::project(const Tensor& x) const {
  return output_ ? (*output_)(x) : tokens_.logits(x);
}

Tensor RnnLanguage::logits(const Tensor& tokens, int64_t /*first*/) const {
  check_rows("rnn_language", tokens, {}, 0);
  State state;
  return project(hidden(tokens, state, {}));  // [B,T,V]
}

std::unique_ptr<DecodeState> RnnLanguage::start() const { return std::make_unique<State>(); }

Tensor RnnLanguage::step(const Tensor& tokens, DecodeState& base,
                         std::span<const int64_t> lengths) const {
  auto& state = static_cast<State&>(base);
  check_rows("rnn_language", tokens, lengths, state.layers.empty() ? 0 : 1);
  const int64_t rows = state.layers.empty() ? tokens.dim(0) : state.layers.front().h.dim(0);
  check(tokens.dim(0) == rows, "[rnn_language] {} rows for a state of {}", tokens.dim(0), rows);
  return project(last_rows(hidden(tokens, state, lengths), lengths));  // [R,V]
}

void RnnLanguage::select(DecodeState& base, std::span<const int64_t> rows) const {
  for (RecurrentState& layer : static_cast<State&>(base).layers) {
    layer.h = select_rows(layer.h, rows);
    layer.c = select_rows(layer.c, rows);
  }
}

void RnnLanguage::join(DecodeState& base, const DecodeState& more) const {
  std::vector<RecurrentState>& layers = static_cast<State&>(base).layers;
  const std::vector<RecurrentState>& others = static_cast<const State&>(more).layers;
  if (layers.empty() || others.empty()) {
    layers = layers.empty() ? others : layers;
    return;
  }
  for (size_t i = 0; i < layers.size(); ++i) {
    layers[i].h = concat({layers[i].h, others[i].h}, 0);
    layers[i].c = layers[i].c.defined() ? concat({layers[i].c, others[i].c}, 0) : layers[i].c;
  }
}

ModelSpec spec_of(const RnnLanguageConfig& config) {
  return {.source_vocabulary = config.vocabulary, .target_vocabulary = config.vocabulary};
}

void adapt(RnnLanguageConfig& config, const VocabularySizes& sizes) {
  config.vocabulary = sizes.target;
}

}  // namespace heed
