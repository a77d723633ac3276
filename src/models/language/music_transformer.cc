#include "models/language/music_transformer.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "data/music/music_tokens.h"
#include "ops/pointwise.h"

namespace heed {
namespace {

LayerConfig layer_config(const MusicTransformerConfig& config) {
  return {.width = config.width,
          .mixer = mixer<SelfAttention>({.width = config.width,
                                         .heads = config.heads,
                                         .window = config.window,
                                         .dropout = config.attention_dropout,
                                         .relative_distance = config.relative_distance,
                                         .relative_per_head = config.relative_per_head,
                                         .label_distance = config.pitch_distance}),
          .hidden = config.hidden,
          .activation = activation_of(config.activation),
          .dropout = config.dropout,
          .hidden_dropout = config.hidden_dropout,
          .pre_norm = true,
          .epsilon = config.epsilon};
}

// What decoding has to keep: no more than attention can see.
int64_t positions_kept(const MusicTransformerConfig& config) {
  const int64_t smaller = std::min(config.window, config.memory);
  return smaller > 0 ? smaller : std::max(config.window, config.memory);
}

// Positions modulo `cycle`, i32 [B,T], where each row has a past of its own or none.
Tensor phases(const Shape& shape, const Places& places, int64_t cycle) {
  Tensor result = Tensor::empty(shape, DType::i32);
  for (int64_t i = 0; i < result.size(); ++i) {
    const int64_t before = places.before(i / shape[1]);
    result.data<int32_t>()[i] = static_cast<int32_t>((before + i % shape[1]) % cycle);
  }
  return result;
}

// The pitch of each token. A vocabulary may be larger than the form's: it is rounded up for the
// products.
std::vector<int32_t> pitches_of(int64_t vocabulary) {
  for (const MusicForm form : {MusicForm::performance, MusicForm::chorale}) {
    std::vector<int32_t> pitches = music_pitches(form);
    if (std::ssize(pitches) <= vocabulary) {
      pitches.resize(static_cast<size_t>(vocabulary), kNoPitch);
      return pitches;
    }
  }
  fail("[music_transformer] pitch_distance is for tokens of music; a vocabulary of {} is none",
       vocabulary);
}

}  // namespace

MusicTransformer::MusicTransformer(const Scope& s, const MusicTransformerConfig& config)
    : config_(config),
      tokens_(s / "tokens", config.vocabulary, config.width,
              Init::normal(1.0F / std::sqrt(static_cast<float>(config.width)))),
      positions_(s / "positions", {.kind = config.positions, .width = config.width}) {
  check(config.relative_distance > 0 || config.positions != "none",
        "[music_transformer] positions is none and relative_distance 0: the model would not know "
        "the order of its tokens; set model.positions = \"sinusoidal\" or a relative_distance");
  check(
      config.cycles.empty() || config.context == 0,
      "[music_transformer] cycles are counted from the beginning of a piece, which a context of {} "
      "forgets: set model.context = 0",
      config.context);
  for (const int64_t cycle : config.cycles) {
    cycles_.emplace_back(s / "cycles" / cycle, cycle, config.width,
                         Init::normal(1.0F / std::sqrt(static_cast<float>(config.width))));
  }
  build(s, {.name = "music_transformer",
            .layers =
                std::vector<LayerConfig>(static_cast<size_t>(config.layers), layer_config(config)),
            .memory = positions_kept(config)});
  if (config.pitch_distance > 0) {
    pitches_ = pitches_of(config.vocabulary);
  }
  if (!config.tied_output) {
    output_.emplace(s / "output", config.width, config.vocabulary);
  }
}

Tensor MusicTransformer::embed(const Tensor& tokens, const Places& places) const {
  const float scale = std::sqrt(static_cast<float>(config_.width));
  Tensor x = positions_(tokens_(tokens, scale), places);  // [B,T,C]
  for (size_t i = 0; i < cycles_.size(); ++i) {
    x = add(x, cycles_[i](phases(tokens.shape(), places, config_.cycles[i]), scale));
  }
  return dropout(x, config_.dropout);  // [B,T,C]
}

Tensor MusicTransformer::project(const Tensor& x) const {
  return output_ ? (*output_)(x) : tokens_.logits(x);
}

Tensor MusicTransformer::labels(const Tensor& tokens) const {
  if (pitches_.empty()) {
    return {};
  }
  Tensor labels = Tensor::empty(tokens.shape(), DType::i32);
  const int32_t* from = tokens.data<int32_t>();
  std::transform(from, from + tokens.size(), labels.data<int32_t>(),
                 [&](int32_t token) { return pitches_.at(static_cast<size_t>(token)); });
  return labels;
}

ModelSpec spec_of(const MusicTransformerConfig& config) {
  return {.width = config.width,
          .source_vocabulary = config.vocabulary,
          .target_vocabulary = config.vocabulary,
          .longest = config.context,
          .attention = true,
          .from_start = !config.cycles.empty()};
}

void adapt(MusicTransformerConfig& config, const VocabularySizes& sizes) {
  config.vocabulary = sizes.target;
}

}  // namespace heed
