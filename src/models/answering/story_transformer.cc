#include "models/answering/story_transformer.h"

#include "base/error.h"
#include "nn/attention.h"
#include "ops/pointwise.h"
#include "ops/shape/gather.h"
#include "ops/shape/shape.h"

namespace heed {
namespace {

// A sentence is a sum of about six words: its columns then have a variance of about 1, as much as
// layers expect.
constexpr float kWordDeviation = 0.4F;

LayerConfig story_layer(const StoryTransformerConfig& config) {
  return {.width = config.width,
          .mixer = mixer<SelfAttention>(
              {.width = config.width, .heads = config.heads, .dropout = config.attention_dropout}),
          .hidden = config.hidden,
          .dropout = config.dropout,
          .pre_norm = config.pre_norm};
}

}  // namespace

StoryTransformer::StoryTransformer(const Scope& s, const StoryTransformerConfig& config)
    : config_(config),
      words_(s / "words", config.vocabulary, config.width, Init::normal(kWordDeviation)),
      sentences_(s / "sentences",
                 {.order = "learned", .longest = config.sentence, .width = config.width}),
      output_(s / "output", config.width, config.answers) {
  check(config.vocabulary > 0,
        "[story transformer] the vocabulary has {} words and there are {} answers, expected some",
        config.vocabulary, config.answers);
  check(config.universal || config.transition == "feed_forward",
        "[story transformer] transition is {}, which only a universal one has: set model.universal "
        "= true",
        config.transition);
  const PositionsConfig places{.width = config.width};
  if (config.universal) {
    universal_.emplace(s / "encoder", config.applied_to({.layer = story_layer(config),
                                                         .positions = places,
                                                         .steps = config.layers,
                                                         .final_norm = config.pre_norm,
                                                         .label = "encoder"}));
  } else {
    positions_.emplace(s / "positions", places);
    layers_.emplace(s / "encoder", StackConfig{.layer = story_layer(config),
                                               .layers = config.layers,
                                               .final_norm = config.pre_norm,
                                               .label = "encoder"});
  }
}

Tensor StoryTransformer::encoded(const Tensor& x, const Tensor& lengths) const {
  if (universal_) {
    return (*universal_)(x, {.self = {.lengths = lengths}, .lengths = lengths});  // [B,T,C]
  }
  return (*layers_)((*positions_)(x), {.lengths = lengths});  // [B,T,C]
}

Tensor StoryTransformer::answers(const StoryBatch& batch) const {
  const int64_t B = batch.stories.dim(0);
  const int64_t T = batch.stories.dim(1);
  check(T - 1 <= config_.memory, "[story transformer] a story has {} facts, the model reads {}",
        T - 1, config_.memory);
  const Tensor weights = sentences_.weights(batch.words);                                // [S,W,C]
  const Tensor sentences = encode_sentences(words_(batch.words), weights);               // [S,C]
  const Tensor x = dropout(index_select(sentences, 0, batch.stories), config_.dropout);  // [B,T,C]
  const Tensor y = encoded(x, batch.lengths);                                            // [B,T,C]
  return output_(slice(y, 1, 0, 1).reshape({B, config_.width}));                         // [B,A]
}

ModelSpec spec_of(const StoryTransformerConfig& config) {
  return {.width = config.width,
          .source_vocabulary = config.vocabulary,
          .target_vocabulary = config.vocabulary,
          .longest = config.memory,
          .classes = config.answers,
          .attention = true};
}

void adapt(StoryTransformerConfig& config, const VocabularySizes& sizes) {
  config.vocabulary = sizes.target;
}

void adapt(StoryTransformerConfig& config, const AnswerSizes& sizes) {
  config.answers = sizes.answers;
}

}  // namespace heed
