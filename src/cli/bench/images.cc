#include "cli/bench/images.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "autograd/tape.h"
#include "base/file.h"
#include "base/parallel.h"
#include "base/random.h"
#include "cli/bench/case.h"
#include "cli/pictures/plot.h"
#include "kernels/cpu.h"
#include "models/images/image_transformer.h"
#include "tensor/arena.h"

namespace heed::cli {
namespace {

constexpr std::array<int64_t, 3> kSides{16, 32, 64};
constexpr std::array<const char*, 3> kAttentions{"full", "local1d", "local2d"};
constexpr int64_t kImages = 2;

struct ImageCost {
  int64_t side = 0;
  double forward = std::numeric_limits<double>::infinity();   // seconds an image
  double training = std::numeric_limits<double>::infinity();  // forward and backward
  double mib = 0.0;  // of tensors while training, at most, besides the weights; an image

  double pixels() const { return static_cast<double>(side * side); }
};

ImageTransformerConfig config_of(int64_t side, const std::string& attention) {
  ImageTransformerConfig config;
  config.rows = side;
  config.columns = side;
  config.channels = 1;
  config.levels = 256;
  config.width = 128;
  config.heads = 4;
  config.layers = 2;
  config.hidden = 512;
  config.dropout = 0.0F;
  config.attention = attention;
  config.block = 64;
  config.memory = 128;
  config.block_rows = 8;
  config.block_columns = 8;
  config.memory_rows = 4;
  config.memory_columns = 4;
  return config;
}

double best_of(int repetitions, const std::function<void()>& run) {
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i <= repetitions; ++i) {  // the first warms up
    const auto start = std::chrono::steady_clock::now();
    run();
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    best = i == 0 ? best : std::min(best, spent.count());
  }
  return best;
}

ImageCost measure(int64_t side, const std::string& attention, const ImagesBench& bench) {
  ParameterStore store;
  const ImageTransformer model(store.root(), config_of(side, attention));
  store.allocate(bench.dtype, kBenchSeed);
  const RandomStream random{kBenchSeed, 1};
  std::vector<int32_t> levels(static_cast<size_t>(kImages * side * side));
  for (size_t i = 0; i < levels.size(); ++i) {
    levels[i] = static_cast<int32_t>(random.bits(i) % 256);
  }
  const Tensor images = Tensor::from_ints(levels, {kImages, side * side});
  const auto loss = [&] {
    return model.loss(model.outputs({.values = images, .classes = {}, .source = {}}), images,
                      Reduction::mean);
  };
  Tape tape{kBenchSeed};
  const auto train = [&] {
    tape.clear();
    store.clear_gradients();
    const TapeScope scope(tape);
    tape.backward(loss());
  };
  ImageCost cost{.side = side};
  cost.forward = best_of(bench.repetitions, loss) / kImages;
  const size_t before = Arena::global().live_bytes();
  Arena::global().reset_peak();
  cost.training = best_of(bench.repetitions, train) / kImages;
  cost.mib = static_cast<double>(Arena::global().peak_bytes() - before) / (1 << 20) / kImages;
  return cost;
}

void print(const std::string& attention, const ImageCost& cost, const ImagesBench& bench,
           bool json) {
  if (json) {
    const nlohmann::json row{{"case", "images"},
                             {"attention", attention},
                             {"side", cost.side},
                             {"dtype", name_of(bench.dtype)},
                             {"forward_seconds", cost.forward},
                             {"training_seconds", cost.training},
                             {"training_mib", cost.mib}};
    fmt::print("{}\n", row.dump());
  } else {
    fmt::print("{:<9} {:>5} {:>8} {:>12.2f} {:>12.2f} {:>12.2f} {:>10.1f}\n", attention, cost.side,
               cost.side * cost.side, cost.forward * 1e3, cost.training * 1e3,
               cost.training * 1e6 / cost.pixels(), cost.mib);
  }
  std::fflush(stdout);
}

// How the cost grows at the end: the power of the number of pixels.
double power(const ImageCost& smaller, const ImageCost& larger, double ImageCost::*what) {
  return std::log(larger.*what / smaller.*what) / std::log(larger.pixels() / smaller.pixels());
}

PlotPanel panel(const char* title, const char* unit, double ImageCost::*what, double scale,
                const std::array<std::vector<ImageCost>, kAttentions.size()>& costs) {
  PlotPanel drawn{.title = title, .x_label = "pixels of an image", .y_label = unit, .series = {}};
  for (size_t i = 0; i < costs.size(); ++i) {
    PlotSeries series{.name = kAttentions[i]};
    for (const ImageCost& cost : costs[i]) {
      series.points.push_back({cost.pixels(), cost.*what * scale});
    }
    drawn.series.push_back(series);
    drawn.notes.push_back(fmt::format("{}: pixels to the power of {:.2f} from {} to {}",
                                      kAttentions[i], power(costs[i][1], costs[i][2], what),
                                      kSides[1] * kSides[1], kSides[2] * kSides[2]));
  }
  return drawn;
}

}  // namespace

void bench_images(const ImagesBench& bench, bool json) {
  if (!json) {
    fmt::print("Image Transformer, 2 layers of width 128, {}, {} threads, {}; an image\n",
               name_of(bench.dtype), num_threads(), name_of(max_isa()));
    fmt::print("{:<9} {:>5} {:>8} {:>12} {:>12} {:>12} {:>10}\n", "attention", "side", "pixels",
               "forward, ms", "training, ms", "us a pixel", "MiB");
  }
  std::array<std::vector<ImageCost>, kAttentions.size()> costs;
  for (size_t i = 0; i < kAttentions.size(); ++i) {
    for (const int64_t side : kSides) {
      costs[i].push_back(measure(side, kAttentions[i], bench));
      print(kAttentions[i], costs[i].back(), bench, json);
    }
  }
  if (bench.svg.empty()) {
    return;
  }
  const Plot plot{
      .title = "Local and full attention over the pixels of an image",
      .subtitle = fmt::format("Heed, Image Transformer, 2 layers of width 128, {}, {} threads, {}",
                              name_of(bench.dtype), num_threads(), name_of(max_isa())),
      .panels = {
          panel("Time", "forward and backward, ms an image", &ImageCost::training, 1e3, costs),
          panel("Memory", "tensors, MiB an image", &ImageCost::mib, 1.0, costs)}};
  AtomicFile file(bench.svg);
  file.write(render_svg(plot));
  file.commit();
}

}  // namespace heed::cli
