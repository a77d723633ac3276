#include "cli/pictures/image_attention.h"

#include <algorithm>

#include "base/error.h"
#include "cli/pictures/canvas.h"
#include "nn/scopes/attention_scope.h"

namespace heed::cli {
namespace {

constexpr int64_t kScale = 6;  // pixels of the picture for one of the image
constexpr int64_t kGap = 4;

// The attention of one step to every pixel, summed over channels, the largest 1.
std::vector<float> looked_at(const ImageModel& model, const float* weights) {
  const ImageLayout& layout = model.layout();
  std::vector<float> seen(static_cast<size_t>(layout.rows * layout.columns));
  for (size_t step = 0; step < model.order().size(); ++step) {
    seen[static_cast<size_t>(model.order()[step] / layout.channels)] += weights[step];
  }
  const float most = std::max(*std::max_element(seen.begin(), seen.end()), 1e-9F);
  for (float& weight : seen) {
    weight /= most;
  }
  return seen;
}

// What the samples of the image look at; what reading a small image looks at is left out.
std::vector<LayerAttention> attention_to_samples(const ImageModel& model, const ImageBatch& batch) {
  AttentionScope scope;
  model.outputs(batch);
  std::vector<LayerAttention> maps = scope.take();
  std::erase_if(maps, [](const LayerAttention& map) { return map.kind != "decoder"; });
  check(!maps.empty(), "[image] the model has no attention to show");
  return maps;
}

struct Panel {
  const ImageLayout& layout;
  const int32_t* levels;  // of the image
  const std::vector<float>& seen;
  int64_t pixel;
};
Rgb colour_of(const Panel& panel, int64_t pixel) {
  const ImageLayout& layout = panel.layout;
  int64_t sum = 0;
  for (int64_t c = 0; c < layout.channels; ++c) {
    sum += panel.levels[pixel * layout.channels + c];
  }
  const float light =
      static_cast<float>(sum) / static_cast<float>(layout.channels * (layout.levels - 1));
  const float weight = panel.seen[static_cast<size_t>(pixel)];
  Rgb colour = weight_colour(weight);
  for (uint8_t& part : colour) {  // the image shows through as a light grey
    part =
        static_cast<uint8_t>(static_cast<float>(part) * (1.0F - 0.35F * light * (1.0F - weight)));
  }
  return pixel == panel.pixel ? Rgb{220, 40, 40} : colour;
}

void draw_panel(const Panel& panel, int64_t x0, int64_t y0, Image& picture) {
  for (int64_t y = 0; y < panel.layout.rows * kScale; ++y) {
    for (int64_t x = 0; x < panel.layout.columns * kScale; ++x) {
      const Rgb colour = colour_of(panel, y / kScale * panel.layout.columns + x / kScale);
      std::copy(colour.begin(), colour.end(),
                picture.pixels.begin() + ((y0 + y) * picture.width + x0 + x) * 3);
    }
  }
}

}  // namespace

void check_pixel(const ImageLayout& layout, int64_t row, int64_t column) {
  check(row >= 0 && row < layout.rows && column >= 0 && column < layout.columns,
        "[image] pixel {},{} lies outside {}x{}", row, column, layout.rows, layout.columns);
}

Image attention_of_pixel(const ImageModel& model, const ImageBatch& batch, int64_t row,
                         int64_t column) {
  const ImageLayout& layout = model.layout();
  check_pixel(layout, row, column);
  const std::vector<LayerAttention> maps = attention_to_samples(model, batch);
  const int64_t pixel = row * layout.columns + column;
  const auto order = model.order();
  const auto step =
      std::find(order.begin(), order.end(), static_cast<int32_t>(pixel * layout.channels)) -
      order.begin();
  const int64_t heads = maps.front().weights.dim(1);
  const int64_t wide = layout.columns * kScale + kGap;
  const int64_t high = layout.rows * kScale + kGap;
  Image picture{.width = heads * wide + kGap,
                .height = std::ssize(maps) * high + kGap,
                .channels = 3,
                .pixels = {}};
  picture.pixels.assign(static_cast<size_t>(picture.width * picture.height * 3), 255);
  for (size_t layer = 0; layer < maps.size(); ++layer) {
    for (int64_t head = 0; head < heads; ++head) {
      const float* weights =
          maps[layer].weights.data<float>() + (head * layout.samples() + step) * layout.samples();
      const std::vector<float> seen = looked_at(model, weights);
      draw_panel({layout, batch.values.data<int32_t>(), seen, pixel}, kGap + head * wide,
                 kGap + static_cast<int64_t>(layer) * high, picture);
    }
  }
  return picture;
}

}  // namespace heed::cli
