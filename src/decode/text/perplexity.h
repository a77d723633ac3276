// How well a language model predicts a text.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "models/model.h"

namespace heed {

struct PerplexityOptions {
  // Of the context, in tokens; 0: the model's. A model that remembers segments then goes through
  // the text once, from segment to segment.
  int64_t length = 0;
  int64_t memory = -1;  // of such a model: positions before it that a token sees; -1: as it says
  // A window begins so many tokens after the one before, and only tokens that no window has
  // counted yet count: the smaller, the more every token sees before it. 0: the length.
  int64_t stride = 0;
  int64_t batch_tokens = 4096;
  // Of several processes that share the text: this one measures batch `turn` and then every
  // `turns`-th. The sums over all processes are those of the text.
  int64_t turn = 0;
  int64_t turns = 1;
  std::function<void(double done)> progress = {};  // from 0 to 1, after each batch
};

struct Perplexity {
  double nats = 0.0;   // sum of -log p
  int64_t tokens = 0;  // that were predicted: all but the first

  double loss() const { return tokens > 0 ? nats / static_cast<double>(tokens) : 0.0; }
};
Perplexity measure_perplexity(const LanguageModel& model, std::span<const int32_t> tokens,
                              const PerplexityOptions& options);

}  // namespace heed
