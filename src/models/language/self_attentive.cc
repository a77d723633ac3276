#include "models/language/self_attentive.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "nn/scopes/attention_scope.h"
#include "nn/scopes/loss_scope.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "ops/shape/cast.h"
#include "ops/shape/shape.h"
#include "ops/softmax.h"

namespace heed {
namespace {

// i8 [B,r,T]: 1 for the words of a text, 0 for its padding.
Tensor seen_words(const TextBatch& batch, int64_t hops) {
  const int64_t rows = batch.tokens.dim(0);
  const int64_t width = batch.tokens.dim(1);
  Tensor seen = Tensor::zeros({rows, hops, width}, DType::i8);
  for (int64_t row = 0; row < rows * hops; ++row) {
    std::fill_n(seen.data<int8_t>() + row * width, batch.lengths.data<int32_t>()[row / hops],
                int8_t{1});
  }
  return seen;
}

// [r,r], f32
Tensor identity(int64_t size) {
  Tensor ones = Tensor::zeros({size, size});
  for (int64_t i = 0; i < size; ++i) {
    ones.data<float>()[i * size + i] = 1.0F;
  }
  return ones;
}

}  // namespace

SelfAttentive::SelfAttentive(const Scope& s, const SelfAttentiveConfig& config)
    : config_(config),
      tokens_(s / "tokens", config.vocabulary, config.embedding,
              Init::normal(1.0F / std::sqrt(static_cast<float>(config.embedding)))),
      first_(s / "attention" / "first", 2 * config.hidden, config.attention_width, false),
      second_(s / "attention" / "second", config.attention_width, config.hops, false) {
  for (int64_t i = 0; i < config.layers; ++i) {
    layers_.emplace_back(
        s / "layers" / i,
        RecurrentConfig{RecurrentCell::lstm, i == 0 ? config.embedding : width(), config.hidden},
        true);
  }
  if (config.labels > 0) {
    const int64_t text = config.hops * width();
    const bool between = config.classes_hidden > 0;
    if (between) {
      classes_hidden_.emplace(s / "classes" / "hidden", text, config.classes_hidden);
    }
    classes_.emplace(s / "classes" / "output", between ? config.classes_hidden : text,
                     config.labels);
  }
}

Tensor SelfAttentive::hidden(const TextBatch& batch) const {
  check(batch.tokens.rank() == 2 && batch.tokens.size() > 0,
        "[self-attentive] tokens is {}, expected [B,T]", batch.tokens.shape());
  Tensor x = tokens_(batch.tokens);  // [B,T,E]
  for (const RecurrentEncoderLayer& layer : layers_) {
    x = layer(dropout(x, config_.dropout), batch.lengths).outputs;  // [B,T,2u]
  }
  return x;
}

// A [B,r,T]
Tensor SelfAttentive::hops(const Tensor& hidden, const TextBatch& batch) const {
  const Tensor scores = second_(first_(hidden, Activation::tanh));  // [B,T,r]
  const Tensor never = Tensor::full({1}, -std::numeric_limits<float>::infinity());
  return softmax(where(seen_words(batch, config_.hops),  // [B,r,T]
                       cast(transpose(scores, 1, 2), DType::f32), never));
}

// penalty * |A A^T - I|^2, the mean over the texts: one element.
Tensor SelfAttentive::repetition(const Tensor& hops) const {
  const Tensor overlaps = matmul(hops, hops, {.transpose_b = true});              // [B,r,r]
  const Tensor squares = square(sub(overlaps, identity(config_.hops)));           // [B,r,r]
  return scale(sum(squares), config_.penalty / static_cast<float>(hops.dim(0)));  // []
}

Tensor SelfAttentive::summary(const Tensor& hidden, const TextBatch& batch) const {
  const Tensor a = hops(hidden, batch);  // [B,r,T]
  AttentionScope::report({"hops", 0}, a.reshape({a.dim(0), 1, a.dim(1), a.dim(2)}));
  if (LossScope::open() && config_.penalty > 0.0F) {
    LossScope::report(repetition(a));
  }
  const Tensor m = matmul(cast(a, hidden.dtype()), hidden);  // [B,r,2u]
  return m.reshape({m.dim(0), m.dim(1) * m.dim(2)});         // [B,r 2u]
}

Tensor SelfAttentive::classes(const TextBatch& batch) const {
  check(classes_.has_value(),
        "[self-attentive] this model has no head for classes: train one with a recipe of task "
        "\"classify\"");
  Tensor m = dropout(summary(hidden(batch), batch), config_.dropout);  // [B,r 2u]
  if (classes_hidden_) {
    m = dropout((*classes_hidden_)(m, Activation::relu), config_.dropout);  // [B,C]
  }
  return (*classes_)(m);  // [B,K]
}

ModelSpec spec_of(const SelfAttentiveConfig& config) {
  return {.source_vocabulary = config.vocabulary,
          .target_vocabulary = config.vocabulary,
          .classes = config.labels,
          .attention = true};
}

void adapt(SelfAttentiveConfig& config, const VocabularySizes& sizes) {
  config.vocabulary = sizes.target;
}

void adapt(SelfAttentiveConfig& config, const EncoderHeads& heads) {
  check(!heads.masked && !heads.next, "[masked] a self_attentive has no head for masked words");
  config.labels = heads.classes;
}

}  // namespace heed
