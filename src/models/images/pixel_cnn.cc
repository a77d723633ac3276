#include "models/images/pixel_cnn.h"

#include <cmath>
#include <numeric>

#include "base/error.h"
#include "nn/convolution.h"
#include "ops/conv.h"
#include "ops/pointwise.h"
#include "ops/shape/gather.h"
#include "ops/shape/shape.h"

namespace heed {
namespace {

std::vector<int32_t> raster_order(int64_t samples) {
  std::vector<int32_t> order(static_cast<size_t>(samples));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

Init embedding_init(const PixelCnnConfig& config) {
  return Init::normal(1.0F / std::sqrt(static_cast<float>(config.width)));
}

}  // namespace

struct PixelCnn::State : DecodeState {
  int64_t rows = 0;
  int64_t next = 0;
  std::vector<int32_t> levels;  // [R,T]; those to come are 0 and not seen
  Tensor classes;
};

PixelCnn::PixelCnn(const Scope& s, const PixelCnnConfig& config)
    : SampledImageModel(config),
      config_(config),
      order_(raster_order(layout_.samples())),
      samples_(s / "samples", 1 + config.channels * config.levels, config.width,
               embedding_init(config)),
      channels_(s / "channels", config.channels, config.width, embedding_init(config)),
      hidden_(s / "hidden", config.width, config.width),
      project_(s / "output", config.width, output_.size()) {
  check(config.levels > 1, "[pixel_cnn] levels is {}, expected at least 2", config.levels);
  check(config.kernel % 2 == 1, "[pixel_cnn] kernel is {}, expected an odd number", config.kernel);
  if (config.classes > 0) {
    classes_.emplace(s / "classes", config.classes, config.width, embedding_init(config));
  }
  layers_.reserve(static_cast<size_t>(config.layers));
  for (int64_t i = 0; i < config.layers; ++i) {
    layers_.push_back(make_layer(s / "layers" / i, i));
  }
}

PixelCnn::Layer PixelCnn::make_layer(const Scope& s, int64_t number) const {
  const int64_t width = config_.width;
  const int64_t half = config_.kernel / 2;
  const int64_t across = 2 * half * config_.channels + 1;
  const auto kernel = [&](const char* name, int64_t high, int64_t wide) {
    return s.param(name, {2 * width, high, wide, width},
                   variance_init(high * wide * width, config_.dropout, 4.0F));
  };
  Layer layer{.above = kernel("above", half + 1, across),
              .above_bias = s.param("above_bias", {2 * width}, Init::constant(0.0F)),
              .left = kernel("left", 1, half * config_.channels + 1),
              .left_bias = s.param("left_bias", {2 * width}, Init::constant(0.0F)),
              .down = Linear(s / "down", width, 2 * width),
              .out = Linear(s / "out", width, width),
              .non_local = std::nullopt,
              .label = {.kind = "decoder", .layer = number}};
  if (config_.non_local > 0 && (number + 1) % config_.non_local == 0) {
    layer.non_local.emplace(s / "non_local", SelfAttentionConfig{.width = width, .heads = 1});
  }
  return layer;
}

Tensor PixelCnn::shifted(const ImageBatch& batch, bool up) const {
  const int64_t wide = layout_.columns * layout_.channels;
  const int64_t back = up ? wide : 1;
  const Tensor& values = batch.values;
  std::vector<int32_t> ids, channel;
  for (int64_t i = 0; i < values.size(); ++i) {
    const int64_t at = i % layout_.samples();
    const bool edge = up ? at < wide : at % wide == 0;
    const auto offset = static_cast<int32_t>((at - back) % layout_.channels * layout_.levels) + 1;
    ids.push_back(edge ? 0 : values.data<int32_t>()[i - back] + offset);
    channel.push_back(static_cast<int32_t>(at % layout_.channels));
  }
  const float scale = std::sqrt(static_cast<float>(config_.width));
  const Shape shape{values.dim(0), layout_.rows, wide};
  return add(samples_(Tensor::from_ints(ids, shape), scale),
             channels_(Tensor::from_ints(channel, shape), scale));  // [B,rows,wide,C]
}

Tensor PixelCnn::outputs(const ImageBatch& batch) const {
  check(batch.values.rank() == 2 && batch.values.dim(1) == layout_.samples(),
        "[pixel_cnn] images are {}, expected [B,{}]", batch.values, layout_.samples());
  check(!classes_ || batch.classes.defined(), "[pixel_cnn] no classes are given");
  const int64_t half = config_.kernel / 2;
  const int64_t side = half * config_.channels;
  Tensor above = shifted(batch, true);  // [B,rows,wide,C]
  Tensor left = shifted(batch, false);  // [B,rows,wide,C]
  const Shape image = left.shape();
  const Shape sequence{image[0], layout_.samples(), config_.width};
  if (classes_) {
    std::vector<int32_t> ids;
    for (int64_t i = 0; i < batch.values.size(); ++i) {
      ids.push_back(batch.classes.data<int32_t>()[i / layout_.samples()]);
    }
    const float scale = std::sqrt(static_cast<float>(config_.width));
    left = add(left, (*classes_)(Tensor::from_ints(ids, {image[0], image[1], image[2]}), scale));
  }
  for (const Layer& layer : layers_) {
    const Tensor rows = conv2d(above, layer.above, layer.above_bias,
                               {.padding_begin = {half, side}, .padding_end = {0, side}});
    const Tensor line =
        conv2d(left, layer.left, layer.left_bias, {.padding_begin = {0, side}});  // [..., 2C]
    above = blend(above, gated_linear_unit(rows));
    const Tensor gated = gated_linear_unit(add(line, layer.down(gated_linear_unit(rows))));
    left = blend(left, dropout(layer.out(gated), config_.dropout));
    if (layer.non_local) {
      const Tensor seen =
          layer.non_local->mix(left.reshape(sequence), {.causal = true}, layer.label);
      left = add(left, seen.reshape(image));
    }
  }
  const Tensor x = hidden_(relu(left), Activation::relu);
  return project_(x).reshape({image[0], layout_.samples(), output_.size()});  // [B,T,O]
}

std::unique_ptr<DecodeState> PixelCnn::start(int64_t rows, const ImageBatch& conditions) const {
  auto state = std::make_unique<State>();
  state->rows = rows;
  state->levels.resize(static_cast<size_t>(rows * layout_.samples()));
  state->classes = conditions.classes;
  return state;
}

Tensor PixelCnn::next(const Tensor& levels, State& state) const {
  const int64_t samples = layout_.samples();
  check(state.next < samples, "[pixel_cnn] all {} samples are drawn", samples);
  for (int64_t row = 0; state.next > 0 && row < state.rows; ++row) {
    state.levels[static_cast<size_t>(row * samples + state.next - 1)] = levels.data<int32_t>()[row];
  }
  const Tensor all = outputs({.values = Tensor::from_ints(state.levels, {state.rows, samples}),
                              .classes = state.classes,
                              .source = {}});  // [R,T,O]
  const std::vector<int32_t> place{static_cast<int32_t>(state.next++)};
  return index_select(all, 1, Tensor::from_ints(place, {1}))
      .reshape({state.rows, output_.size()});  // [R,O]
}

Tensor PixelCnn::steps(std::span<const ImageStep> parts) const {
  std::vector<Tensor> all;
  for (const ImageStep& part : parts) {
    all.push_back(next(part.levels, static_cast<State&>(part.state)));
  }
  return concat(all, 0);  // [R,O]
}

ModelSpec spec_of(const PixelCnnConfig& config) {
  return {.width = config.width, .classes = config.classes};
}

void adapt(PixelCnnConfig& config, const ImageSizes& images) {
  check(images.source_rows == 0,
        "[image] a pixel_cnn does not enlarge images: leave image.enlarge");
  fit_images(config, images);
}

}  // namespace heed
