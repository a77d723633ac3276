#include "models/images/image_order.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"

namespace heed {
namespace {

std::vector<int32_t> reversed(const std::vector<int32_t>& raster) {
  std::vector<int32_t> step(raster.size());
  for (size_t i = 0; i < raster.size(); ++i) {
    step[static_cast<size_t>(raster[i])] = static_cast<int32_t>(i);
  }
  return step;
}

// A rectangle of pixels, clipped to the image.
struct Area {
  int64_t top, bottom, left, right;
};
template <typename Fn>
void each_sample(const ImageLayout& layout, const Area& area, const Fn& fn) {
  for (int64_t row = std::max<int64_t>(area.top, 0); row < std::min(area.bottom, layout.rows);
       ++row) {
    const int64_t left = std::max<int64_t>(area.left, 0);
    const int64_t right = std::min(area.right, layout.columns);
    for (int64_t i = (row * layout.columns + left) * layout.channels;
         i < (row * layout.columns + right) * layout.channels; ++i) {
      fn(static_cast<int32_t>(i));
    }
  }
}

ImageOrder order_blocks(const ImageLayout& layout, const ImageOrderConfig& config) {
  check(config.block_rows > 0 && config.block_columns > 0 && layout.rows % config.block_rows == 0 &&
            layout.columns % config.block_columns == 0,
        "[image] blocks are {}x{}, expected to divide images of {}x{}; set model.block_rows and "
        "model.block_columns",
        config.block_rows, config.block_columns, layout.rows, layout.columns);
  std::vector<Area> blocks;
  for (int64_t row = 0; row < layout.rows; row += config.block_rows) {
    for (int64_t column = 0; column < layout.columns; column += config.block_columns) {
      blocks.push_back({row, row + config.block_rows, column, column + config.block_columns});
    }
  }
  ImageOrder order;
  for (const Area& block : blocks) {
    each_sample(layout, block, [&](int32_t sample) { order.raster.push_back(sample); });
  }
  order.step = reversed(order.raster);
  const int64_t size = config.block_rows * config.block_columns * layout.channels;
  std::vector<std::vector<int32_t>> memories;
  for (size_t n = 0; n < blocks.size(); ++n) {
    const Area& block = blocks[n];
    std::vector<int32_t>& memory = memories.emplace_back();
    each_sample(layout,
                {block.top - config.memory_rows, block.bottom, block.left - config.memory_columns,
                 block.right + config.memory_columns},
                [&](int32_t sample) {
                  const int32_t step = order.step[static_cast<size_t>(sample)];
                  if (step < static_cast<int64_t>(n) * size) {
                    memory.push_back(step);
                  }
                });
    std::sort(memory.begin(), memory.end());
  }
  order.plan = std::make_shared<BlockPlan>(size, std::move(memories));
  return order;
}

}  // namespace

ImageOrder order_image(const ImageLayout& layout, const ImageOrderConfig& config) {
  check(layout.samples() > 0, "[image] images of {}x{}x{}, expected some samples", layout.rows,
        layout.columns, layout.channels);
  if (config.attention == "local2d") {
    return order_blocks(layout, config);
  }
  const bool full = config.attention == "full";
  check(full || layout.samples() % std::max<int64_t>(config.block, 1) == 0,
        "[image] blocks are of {} samples, expected to divide the {} of an image; set model.block",
        config.block, layout.samples());
  ImageOrder order;
  order.raster.resize(static_cast<size_t>(layout.samples()));
  std::iota(order.raster.begin(), order.raster.end(), 0);
  order.step = order.raster;
  order.plan =
      std::make_shared<BlockPlan>(full ? plan_line(layout.samples(), layout.samples(), 0)
                                       : plan_line(layout.samples(), config.block, config.memory));
  return order;
}

Neighbours neighbours_of(const ImageLayout& layout, const ImageOrder& order, int64_t radius) {
  Neighbours result;
  result.count = ((2 * radius + 1) * (radius + 1)) * layout.channels;
  for (size_t step = 0; step < order.raster.size(); ++step) {
    const int64_t pixel = order.raster[step] / layout.channels;
    const int64_t row = pixel / layout.columns;
    const int64_t column = pixel % layout.columns;
    for (int64_t i = 0; i < result.count; ++i) {
      const int64_t r = row - radius + i / layout.channels / (2 * radius + 1);
      const int64_t c = column - radius + i / layout.channels % (2 * radius + 1);
      const int64_t sample = (r * layout.columns + c) * layout.channels + i % layout.channels;
      const bool inside = r >= 0 && c >= 0 && c < layout.columns;
      const bool before =
          inside && order.step[static_cast<size_t>(sample)] < static_cast<int32_t>(step);
      result.raster.push_back(before ? static_cast<int32_t>(sample) : -1);
    }
  }
  return result;
}

}  // namespace heed
