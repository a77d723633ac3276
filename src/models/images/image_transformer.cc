#include "models/images/image_transformer.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "ops/pointwise.h"
#include "ops/shape/cast.h"
#include "ops/shape/shape.h"

namespace heed {
namespace {

LayerConfig layer_config(const ImageTransformerConfig& config, MixerFactory attention) {
  return {.width = config.width,
          .mixer = std::move(attention),
          .hidden = config.hidden,
          .activation = Activation::gelu,
          .dropout = config.dropout,
          .pre_norm = true,
          .epsilon = config.epsilon};
}

// Reads small images.
LayerConfig encoder_config(const ImageTransformerConfig& config) {
  return layer_config(config, mixer<SelfAttention>({.width = config.width, .heads = config.heads}));
}

// Draws, and looks at the small image if there is one.
LayerConfig decoder_config(const ImageTransformerConfig& config,
                           const std::shared_ptr<const BlockPlan>& plan) {
  LayerConfig layer = layer_config(
      config, mixer<BlockAttention>({.width = config.width, .heads = config.heads, .plan = plan}));
  if (config.source_rows > 0) {
    layer.cross = {.width = config.width, .heads = config.heads};
  }
  return layer;
}

Init embedding_init(const ImageTransformerConfig& config) {
  return Init::normal(1.0F / std::sqrt(static_cast<float>(config.width)));
}

}  // namespace

struct ImageTransformer::State : DecodeState {
  int64_t rows = 0;
  int64_t next = 0;             // step
  std::vector<int32_t> levels;  // [R,T], raster order, as far as they are known
  Tensor classes;
  std::vector<std::unique_ptr<MixerCache>> caches;
  std::vector<Tensor> memory;  // of each layer, [R,S,2,H,D]

  void take(const Tensor& came, const ImageLayout& layout, std::span<const int32_t> raster);
};

ImageTransformer::ImageTransformer(const Scope& s, const ImageTransformerConfig& config)
    : SampledImageModel(config),
      config_(config),
      order_(order_image(layout_, {.attention = config.attention,
                                   .block = config.block,
                                   .memory = config.memory,
                                   .block_rows = config.block_rows,
                                   .block_columns = config.block_columns,
                                   .memory_rows = config.memory_rows,
                                   .memory_columns = config.memory_columns})),
      samples_(s / "samples", 1 + config.channels * config.levels, config.width,
               embedding_init(config)),
      rows_(s / "rows", config.rows, config.width, embedding_init(config)),
      columns_(s / "columns", config.columns, config.width, embedding_init(config)),
      channels_(s / "channels", config.channels, config.width, embedding_init(config)),
      norm_(s / "norm", config.width, config.epsilon),
      project_(s / "output", config.width, output_.size()) {
  check(config.levels > 1, "[image_transformer] levels is {}, expected at least 2", config.levels);
  if (config.classes > 0) {
    classes_.emplace(s / "classes", config.classes, config.width, embedding_init(config));
  }
  if (config.neighbours > 0) {
    neighbours_ = neighbours_of(layout_, order_, config.neighbours);
    neighbour_input_.emplace(s / "neighbours", 2 * neighbours_.count, config.width);
    if (config.output == "mixture") {
      neighbour_output_.emplace(s / "neighbour_output", 2 * neighbours_.count, config.mixtures,
                                true, Init::constant(0.0F));
    }
  }
  if (config.source_rows > 0) {
    source_rows_.emplace(s / "source_rows", config.source_rows, config.width,
                         embedding_init(config));
    source_columns_.emplace(s / "source_columns", config.source_columns, config.width,
                            embedding_init(config));
    for (int64_t i = 0; i < config.encoder_layers; ++i) {
      encoder_.emplace_back(s / "encoder" / i, encoder_config(config),
                            AttentionLabel{"encoder", i});
    }
    encoder_norm_.emplace(s / "encoder" / "norm", config.width, config.epsilon);
  }
  for (int64_t i = 0; i < config.layers; ++i) {
    layers_.emplace_back(s / "layers" / i, decoder_config(config, order_.plan),
                         AttentionLabel{"decoder", i});
  }
}

ImageLayout ImageTransformer::source() const {
  return {config_.source_rows, config_.source_columns, config_.channels, config_.levels};
}

// The levels around each step and whether they are known, from -1 to 1.
Tensor ImageTransformer::neighbours(const Steps& steps) const {
  if (!neighbour_input_) {
    return {};
  }
  const int64_t count = neighbours_.count;
  Tensor features = Tensor::empty({steps.batch, steps.count, 2 * count});
  float* to = features.data<float>();
  const float scale = 2.0F / static_cast<float>(layout_.levels - 1);
  for (int64_t b = 0; b < steps.batch; ++b) {
    const int32_t* levels = steps.levels + b * layout_.samples();
    const int32_t* around = neighbours_.raster.data() + steps.first * count;
    for (int64_t i = 0; i < steps.count * count; ++i, to += 2) {
      const bool known = around[i] >= 0;
      to[0] = known ? static_cast<float>(levels[around[i]]) * scale - 1.0F : 0.0F;
      to[1] = known ? 1.0F : 0.0F;
    }
  }
  return features;
}

// What each step is told: the sample before it, its own place, and the condition.
Tensor ImageTransformer::embed(const Steps& steps, const Tensor& neighbours) const {
  std::vector<int32_t> before, row, column, channel;
  for (int64_t b = 0; b < steps.batch; ++b) {
    for (int64_t t = steps.first; t < steps.first + steps.count; ++t) {
      const int32_t last = t > 0 ? order_.raster[static_cast<size_t>(t - 1)] : 0;
      const auto offset = static_cast<int32_t>(last % layout_.channels * layout_.levels) + 1;
      before.push_back(t > 0 ? steps.levels[b * layout_.samples() + last] + offset : 0);
    }
  }
  for (int64_t t = steps.first; t < steps.first + steps.count; ++t) {
    const int64_t sample = order_.raster[static_cast<size_t>(t)];
    const int64_t pixel = sample / layout_.channels;
    row.push_back(static_cast<int32_t>(pixel / layout_.columns));
    column.push_back(static_cast<int32_t>(pixel % layout_.columns));
    channel.push_back(static_cast<int32_t>(sample % layout_.channels));
  }
  const float scale = std::sqrt(static_cast<float>(config_.width));
  const auto place = [&](const Embedding& embedding, const std::vector<int32_t>& ids) {
    return embedding(Tensor::from_ints(ids, {steps.count}), scale);  // [count,C]
  };
  Tensor x = samples_(Tensor::from_ints(before, {steps.batch, steps.count}), scale);  // [B,count,C]
  x = add(x, add(add(place(rows_, row), place(columns_, column)), place(channels_, channel)));
  if (classes_) {
    std::vector<int32_t> ids;
    for (int64_t i = 0; i < steps.batch * steps.count; ++i) {
      ids.push_back(steps.classes.data<int32_t>()[i / steps.count]);
    }
    x = add(x, (*classes_)(Tensor::from_ints(ids, {steps.batch, steps.count}), scale));
  }
  if (neighbour_input_) {
    x = add(x, (*neighbour_input_)(cast(neighbours, x.dtype())));
  }
  return dropout(x, config_.dropout);  // [B,count,C]
}

// A small image, read as a whole.
Tensor ImageTransformer::encode(const Tensor& source) const {
  const ImageLayout small = this->source();
  check(source.defined() && source.rank() == 2 && source.dim(1) == small.samples(),
        "[image_transformer] the small images are {}, expected [B,{}]", source, small.samples());
  std::vector<int32_t> ids(static_cast<size_t>(source.size())), row, column, channel;
  for (int64_t i = 0; i < source.size(); ++i) {
    ids[static_cast<size_t>(i)] =
        source.data<int32_t>()[i] + static_cast<int32_t>(i % small.channels * small.levels) + 1;
  }
  for (int64_t i = 0; i < small.samples(); ++i) {
    row.push_back(static_cast<int32_t>(i / small.channels / small.columns));
    column.push_back(static_cast<int32_t>(i / small.channels % small.columns));
    channel.push_back(static_cast<int32_t>(i % small.channels));
  }
  const float scale = std::sqrt(static_cast<float>(config_.width));
  const auto place = [&](const Embedding& embedding, const std::vector<int32_t>& at) {
    return embedding(Tensor::from_ints(at, {small.samples()}), scale);  // [S,C]
  };
  const Tensor places = add(add(place(*source_rows_, row), place(*source_columns_, column)),
                            place(channels_, channel));
  Residual stream{dropout(add(samples_(Tensor::from_ints(ids, source.shape()), scale), places),
                          config_.dropout),
                  Tensor()};  // [B,S,C]
  for (const TransformerLayer& layer : encoder_) {
    stream = layer(std::move(stream), {});
  }
  return (*encoder_norm_)(stream, config_.dropout);  // [B,S,C]
}

ImageTransformer::Steps ImageTransformer::all_steps(const ImageBatch& batch) const {
  check(batch.values.rank() == 2 && batch.values.dim(1) == layout_.samples(),
        "[image_transformer] images are {}, expected [B,{}]", batch.values, layout_.samples());
  check(!classes_ || batch.classes.defined(), "[image_transformer] no classes are given");
  return {.levels = batch.values.data<int32_t>(),
          .batch = batch.values.dim(0),
          .first = 0,
          .count = layout_.samples(),
          .classes = batch.classes};
}

Tensor ImageTransformer::whole(const ImageBatch& batch, const Tensor& around) const {
  const Tensor memory = encoder_norm_ ? encode(batch.source) : Tensor();  // [B,S,C]
  Residual stream{embed(all_steps(batch), around), Tensor()};             // [B,T,C]
  for (const TransformerLayer& layer : layers_) {
    const Tensor kv = memory.defined() ? layer.project_memory(memory) : Tensor();  // [B,S,2,H,D]
    stream = layer(std::move(stream), {.self = {.causal = true}, .memory = {.kv = kv}});
  }
  return norm_(stream, config_.dropout);  // [B,T,C]
}

Tensor ImageTransformer::hidden(const ImageBatch& batch) const {
  return whole(batch, neighbours(all_steps(batch)));  // [B,T,C]
}

Tensor ImageTransformer::outputs(const ImageBatch& batch) const {
  const Tensor around = neighbours(all_steps(batch));  // [B,T,F]
  return say(whole(batch, around), around);            // [B,T,O]
}

// What the stream says of each step. For a mixture it says how far the means lie, in units of their
// scales, from what a line through the pixels around foretells: so steps of one size suit sharp and
// broad ones.
Tensor ImageTransformer::say(const Tensor& x, const Tensor& neighbours) const {
  Tensor y = project_(x);
  if (!neighbour_output_) {
    return y;
  }
  const int64_t k = config_.mixtures;
  const std::vector<Tensor> parts = split(cast(y, DType::f32), 2, {k, k, k});
  const Tensor foretold = (*neighbour_output_)(cast(neighbours, y.dtype()));  // [B,count,K]
  const Tensor means = add(cast(foretold, DType::f32), mul(parts[1], exp(parts[2])));
  return concat({parts[0], means, parts[2]}, 2);
}

std::unique_ptr<DecodeState> ImageTransformer::start(int64_t rows,
                                                     const ImageBatch& conditions) const {
  check(!classes_ || (conditions.classes.defined() && conditions.classes.dim(0) == rows),
        "[image_transformer] {} images need as many classes", rows);
  auto state = std::make_unique<State>();
  state->rows = rows;
  state->levels.resize(static_cast<size_t>(rows * layout_.samples()));
  state->classes = conditions.classes;
  const Tensor memory = encoder_norm_ ? encode(conditions.source) : Tensor();  // [R,S,C]
  for (const TransformerLayer& layer : layers_) {
    state->caches.push_back(layer.make_cache({.rows = rows}));
    if (memory.defined()) {
      state->memory.push_back(layer.project_memory(memory));  // [R,S,2,H,D]
    }
  }
  return state;
}

// The levels of the step before take their places.
void ImageTransformer::State::take(const Tensor& came, const ImageLayout& layout,
                                   std::span<const int32_t> raster) {
  check(next < layout.samples(), "[image_transformer] all {} samples are drawn", layout.samples());
  if (next == 0) {
    return;
  }
  check(came.defined() && came.size() == rows, "[image_transformer] levels are {}, expected [{}]",
        came, rows);
  const int32_t last = raster[static_cast<size_t>(next - 1)];
  for (int64_t row = 0; row < rows; ++row) {
    const int32_t level = came.data<int32_t>()[row];
    check(level >= 0 && level < layout.levels,
          "[image_transformer] a level is {}, expected 0 to {}", level, layout.levels - 1);
    levels[static_cast<size_t>(row * layout.samples() + last)] = level;
  }
}

ImageTransformer::Next ImageTransformer::next(std::span<State* const> states, int64_t count) const {
  std::vector<Tensor> around, inputs;
  for (State* state : states) {
    const Steps steps{.levels = state->levels.data(),
                      .batch = state->rows,
                      .first = state->next,
                      .count = count,
                      .classes = state->classes};
    state->next += count;
    around.push_back(neighbours(steps));            // [r,count,F]
    inputs.push_back(embed(steps, around.back()));  // [r,count,C]
  }
  Residual stream{concat(inputs, 0), Tensor()};  // [R,count,C]
  for (size_t i = 0; i < layers_.size(); ++i) {
    std::vector<MixerCache*> caches;
    std::vector<Tensor> memories;
    for (State* state : states) {
      caches.push_back(state->caches[i].get());
      if (encoder_norm_) {
        memories.push_back(state->memory[i]);  // [r,S,2,H,D]
      }
    }
    stream =
        layers_[i](std::move(stream),
                   {.self = {.causal = true, .caches = std::move(caches), .stepwise = count > 1},
                    .memory = {.kv = encoder_norm_ ? concat(memories, 0) : Tensor()}});
  }
  return {norm_(stream, config_.dropout),  // [R,count,C]
          neighbour_output_ ? concat(around, 0) : Tensor()};
}

Tensor ImageTransformer::steps(std::span<const ImageStep> parts) const {
  std::vector<State*> states;
  for (const ImageStep& part : parts) {
    states.push_back(static_cast<State*>(&part.state));
    states.back()->take(part.levels, layout_, order_.raster);
  }
  const Next found = next(states, 1);
  const Tensor y = say(found.x, found.around);  // [R,1,O]
  return y.reshape({y.dim(0), output_.size()});
}

Verified ImageTransformer::verify(const Tensor& tokens, std::span<const int64_t> lengths,
                                  DecodeState& base) const {
  auto& state = static_cast<State&>(base);
  const int64_t count = tokens.dim(1);
  check(std::all_of(lengths.begin(), lengths.end(), [&](int64_t own) { return own == count; }) &&
            std::ssize(lengths) == state.rows && count <= room(state),
        "[image_transformer] levels are {}, expected [{},T] with T from 1 to {}", tokens.shape(),
        state.rows, room(state));
  for (int64_t i = 0; i < count; ++i) {
    std::vector<int32_t> came;
    for (int64_t row = 0; row < state.rows; ++row) {
      came.push_back(tokens.data<int32_t>()[row * count + i]);
    }
    state.take(Tensor::from_ints(came, {state.rows}), layout_, order_.raster);
    ++state.next;
  }
  state.next -= count;
  State* const only = &state;
  const Next found = next({&only, 1}, count);
  const Tensor y = say(found.x, found.around);  // [R,T,O]
  return {found.x.reshape({state.rows * count, config_.width}),
          y.reshape({state.rows * count, output_.size()})};
}

void ImageTransformer::roll_back(DecodeState& base, std::span<const int64_t> dropped) const {
  auto& state = static_cast<State&>(base);
  for (const std::unique_ptr<MixerCache>& cache : state.caches) {
    cache->roll_back(dropped);
  }
  state.next -= dropped.front();
}

int64_t ImageTransformer::room(const DecodeState& base) const {
  const int64_t block = order_.plan->block();
  return block - static_cast<const State&>(base).next % block;
}

ModelSpec spec_of(const ImageTransformerConfig& config) {
  return {.width = config.width, .classes = config.classes, .attention = true};
}

void adapt(ImageTransformerConfig& config, const ImageSizes& images) {
  fit_images(config, images);
  if (images.source_rows > 0) {
    fit_size("source_rows", config.source_rows, images.source_rows);
    fit_size("source_columns", config.source_columns, images.source_columns);
  }
}

}  // namespace heed
