#include "models/language/rnn_encoder.h"

#include <cmath>

#include "base/error.h"
#include "ops/pointwise.h"
#include "ops/shape/gather.h"
#include "ops/shape/shape.h"

namespace heed {

RnnEncoder::RnnEncoder(const Scope& s, const RnnEncoderConfig& config)
    : config_(config),
      tokens_(s / "tokens", config.vocabulary, config.embedding,
              Init::normal(1.0F / std::sqrt(static_cast<float>(config.embedding)))) {
  const RecurrentCell cell = config.cell == "gru" ? RecurrentCell::gru : RecurrentCell::lstm;
  for (int64_t i = 0; i < config.layers; ++i) {
    layers_.emplace_back(s / "layers" / i,
                         RecurrentConfig{cell, i == 0 ? config.embedding : width(), config.hidden},
                         config.bidirectional);
  }
  if (config.labels > 0) {
    classes_.emplace(s / "classes", width(), config.labels);
  }
}

Tensor RnnEncoder::hidden(const TextBatch& batch) const {
  Tensor x = tokens_(batch.tokens);  // [B,T,E]
  for (const RecurrentEncoderLayer& layer : layers_) {
    x = layer(dropout(x, config_.dropout), batch.lengths).outputs;  // [B,T,D]
  }
  return x;
}

Tensor RnnEncoder::summary(const Tensor& hidden, const TextBatch& batch) const {
  const int64_t rows = hidden.dim(0);
  const int64_t steps = hidden.dim(1);
  std::vector<int32_t> last;
  for (int64_t row = 0; row < rows; ++row) {
    last.push_back(static_cast<int32_t>(row * steps) + batch.lengths.data<int32_t>()[row] - 1);
  }
  const Tensor flat = reshape(hidden, {rows * steps, hidden.dim(2)});
  Tensor ends = index_select(flat, 0, Tensor::from_ints(last, {rows}));  // [B,D]
  if (!config_.bidirectional) {
    return ends;
  }
  const Tensor begins = reshape(slice(hidden, 1, 0, 1), {rows, hidden.dim(2)});  // [B,D]
  return concat({slice(ends, 1, 0, config_.hidden), slice(begins, 1, config_.hidden, width())},
                1);  // [B,D]
}

Tensor RnnEncoder::classes(const TextBatch& batch) const {
  check(classes_.has_value(), "[rnn encoder] this model has no head for classes");
  return (*classes_)(dropout(summary(hidden(batch), batch), config_.dropout));  // [B,K]
}

ModelSpec spec_of(const RnnEncoderConfig& config) {
  return {.source_vocabulary = config.vocabulary,
          .target_vocabulary = config.vocabulary,
          .classes = config.labels};
}

void adapt(RnnEncoderConfig& config, const VocabularySizes& sizes) {
  config.vocabulary = sizes.target;
}

void adapt(RnnEncoderConfig& config, const EncoderHeads& heads) {
  check(!heads.masked && !heads.next, "[masked] a rnn_encoder has no head for masked words");
  config.labels = heads.classes;
}

}  // namespace heed
