#include "cli/bench/layers.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "autograd/tape.h"
#include "base/error.h"
#include "base/file.h"
#include "base/parallel.h"
#include "base/random.h"
#include "cli/pictures/plot.h"
#include "kernels/cpu.h"
#include "ops/attention/attention.h"
#include "ops/conv.h"
#include "ops/recurrent.h"

namespace heed::cli {
namespace {

// The lecture's example: every curve passes through this length and dim.
constexpr int64_t kReference = 1000;
constexpr int64_t kKernelWidth = 3;

enum Layer : size_t { kAttention, kLstm, kConvolution, kLayers };
constexpr std::array<const char*, kLayers> kNames{"self-attention", "LSTM", "convolution"};

struct Place {
  int64_t length = 0;
  int64_t dim = 0;
};

struct LayerTime {
  double operations = 0.0;  // of the forward pass, as the lecture counts them
  double forward = 0.0;     // seconds, without a tape
  double training = 0.0;    // seconds, forward and backward
};

struct Row {
  Place place;
  int64_t heads = 0;
  std::array<LayerTime, kLayers> times;
};

// A multiplication and an addition are two operations; softmax, gates and biases are not counted.
double count_operations(Layer layer, const Place& place) {
  const double length = static_cast<double>(place.length);
  const double dim = static_cast<double>(place.dim);
  switch (layer) {
    case kAttention:
      return 2.0 * 2.0 * length * length * dim;  // queries with keys, weights with values
    case kLstm:
      return 2.0 * 8.0 * length * dim * dim;  // four gates see the input and the state
    default:
      return 2.0 * static_cast<double>(kKernelWidth) * length * dim * dim;
  }
}

// As many as leave each head 64 or more, what models use; threads share attention out by heads. The
// number of heads does not change the count of operations.
int64_t heads_for(int64_t dim) {
  int64_t size = std::min<int64_t>(dim, 64);
  while (dim % size != 0) {
    ++size;
  }
  return dim / size;
}

// A layer on its own: op(inputs) with a gradient for every input.
struct LayerRun {
  std::vector<Tensor> inputs;
  std::function<Tensor(const std::vector<Tensor>&)> op;
  Tensor dy;

  void forward() const { op(inputs); }
  void training(Tape& tape) const {
    tape.clear();
    const TapeScope scope(tape);
    std::vector<Tensor> leaves = inputs;
    for (Tensor& leaf : leaves) {
      tape.watch(leaf);
    }
    tape.backward(op(leaves), dy);
  }
};

Tensor random_values(const Shape& shape, DType dtype, float scale, uint64_t stream) {
  const RandomStream random{1, stream};
  std::vector<float> values(static_cast<size_t>(shape.size()));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = scale * random.normal(i);
  }
  return Tensor::from(values, shape, dtype);
}

LayerRun make_layer(Layer layer, const Row& row, DType dtype) {
  const auto [length, dim] = row.place;
  // Weights that keep the size of activations, so that no gate saturates and nothing overflows.
  const float scale = 1.0F / std::sqrt(static_cast<float>(dim));
  if (layer == kAttention) {
    const Shape shape{1, length, row.heads, dim / row.heads};
    return {.inputs = {random_values(shape, dtype, 1.0F, 1), random_values(shape, dtype, 1.0F, 2),
                       random_values(shape, dtype, 1.0F, 3)},
            .op = [](const auto& in) { return attention(in[0], in[1], in[2]).y; },
            .dy = random_values(shape, dtype, 1.0F, 4)};
  }
  const Tensor x = random_values({1, length, dim}, dtype, 1.0F, 1);
  const Tensor dy = random_values({1, length, dim}, dtype, 1.0F, 4);
  if (layer == kLstm) {
    return {.inputs = {x, random_values({4 * dim, dim}, dtype, scale, 2),
                       random_values({4 * dim, dim}, dtype, scale, 3), Tensor::zeros({4 * dim}),
                       Tensor::zeros({4 * dim})},
            .op =
                [](const auto& in) {
                  return lstm(in[0], {.weight_ih = in[1],
                                      .weight_hh = in[2],
                                      .bias_ih = in[3],
                                      .bias_hh = in[4]})
                      .outputs;
                },
            .dy = dy};
  }
  return {
      .inputs = {x, random_values({dim, kKernelWidth, dim}, dtype, scale, 2), Tensor::zeros({dim})},
      .op =
          [](const auto& in) {
            return conv1d(in[0], in[1], in[2], {.padding_left = 1, .padding_right = 1});
          },
      .dy = dy};
}

double seconds_of(const std::function<void()>& run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The best of `repetitions` after a warm-up, which builds primitives and touches fresh memory. Long
// runs are repeated less, or the whole grid would take minutes, and hide their own warm-up.
double best_seconds(const std::function<void()>& run, int repetitions) {
  constexpr double kEnough = 1.0;   // spent on one layer: after that only a second run
  constexpr double kTooLong = 3.0;  // for a second run
  double best = seconds_of(run);
  double spent = best;
  if (best > kTooLong) {
    return best;
  }
  for (int i = 0; i < repetitions && (i == 0 || spent < kEnough); ++i) {
    const double seconds = seconds_of(run);
    best = std::min(best, seconds);
    spent += seconds;
  }
  return best;
}

LayerTime measure_layer(Layer layer, const Row& row, const LayersOptions& options) {
  const LayerRun run = make_layer(layer, row, options.dtype);
  Tape tape;
  return {.operations = count_operations(layer, row.place),
          .forward = best_seconds([&] { run.forward(); }, options.repetitions),
          .training = best_seconds([&] { run.training(tape); }, options.repetitions)};
}

// Lengths at the reference dim, then dims at the reference length, each rising and without the
// reference itself a second time.
std::vector<Row> grid_of(const LayersOptions& options) {
  const auto sorted = [](std::vector<int64_t> values) {
    values.push_back(kReference);
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    return values;
  };
  std::vector<Row> grid;
  const auto add = [&](int64_t length, int64_t dim) {
    check(options.heads == 0 || dim % options.heads == 0,
          "[bench layers] {} heads do not divide dim {}; choose --heads and --dims that fit (dim "
          "{} is always measured)",
          options.heads, dim, kReference);
    grid.push_back({.place = {length, dim},
                    .heads = options.heads > 0 ? options.heads : heads_for(dim),
                    .times = {}});
  };
  for (const int64_t length : sorted(options.lengths)) {
    add(length, kReference);
  }
  for (const int64_t dim : sorted(options.dims)) {
    if (dim != kReference) {
      add(kReference, dim);
    }
  }
  return grid;
}

// One line that is overwritten on a terminal, a line a step in a log.
void show_progress(size_t done, size_t all, const std::string& what) {
  const bool terminal = isatty(STDERR_FILENO) != 0;
  fmt::print(stderr, "{}[{}/{}] {}{}", terminal ? "\r\033[K" : "", done, all, what,
             terminal ? "" : "\n");
  if (terminal && done == all) {
    fmt::print(stderr, "\r\033[K");
  }
  std::fflush(stderr);
}

void measure(std::vector<Row>& grid, const LayersOptions& options) {
  size_t done = 0;
  for (Row& row : grid) {
    show_progress(done++, grid.size(),
                  fmt::format("length {}, dim {}", row.place.length, row.place.dim));
    for (size_t layer = 0; layer < kLayers; ++layer) {
      row.times[layer] = measure_layer(static_cast<Layer>(layer), row, options);
    }
  }
  show_progress(done, grid.size(), "done");
}

// One axis of the grid: the rows on it and how to read them.
struct Sweep {
  const char* along;  // "length" or "dim"
  const char* fixed;
  int64_t Place::*variable;
  std::vector<Row> rows;
};

std::array<Sweep, 2> sweeps_of(const std::vector<Row>& grid) {
  std::array<Sweep, 2> sweeps{Sweep{"length", "dim", &Place::length, {}},
                              Sweep{"dim", "length", &Place::dim, {}}};
  for (const Row& row : grid) {
    if (row.place.dim == kReference) {
      sweeps[0].rows.push_back(row);
    }
    if (row.place.length == kReference) {
      sweeps[1].rows.push_back(row);
    }
  }
  const auto by_dim = [](const Row& a, const Row& b) { return a.place.dim < b.place.dim; };
  std::sort(sweeps[1].rows.begin(), sweeps[1].rows.end(), by_dim);
  return sweeps;
}

std::vector<PlotPoint> curve_of(const Sweep& sweep, Layer layer, double LayerTime::*what) {
  std::vector<PlotPoint> points;
  for (const Row& row : sweep.rows) {
    points.push_back(
        {static_cast<double>(row.place.*sweep.variable), 1e3 * row.times[layer].*what});
  }
  return points;
}

// Where self-attention and another layer cost the same.
struct Comparison {
  const Sweep* sweep;
  Layer other;
  double LayerTime::*what;
  std::vector<Crossing> crossings;
};

Comparison compare(const Sweep& sweep, Layer other, double LayerTime::*what) {
  return {&sweep, other, what,
          find_crossings(curve_of(sweep, kAttention, what), curve_of(sweep, other, what))};
}

// By the counts: 4 length^2 dim = 16 length dim^2 at length = 4 dim; a convolution of width 3 at
// length = 1.5 dim.
double counted_crossing(const Comparison& c) {
  const double ratio = c.other == kLstm ? 4.0 : static_cast<double>(kKernelWidth) / 2.0;
  return c.sweep->variable == &Place::length ? static_cast<double>(kReference) * ratio
                                             : static_cast<double>(kReference) / ratio;
}

// Only towards greater lengths, where the counts say that they meet; small dims are all overhead.
std::optional<double> extrapolated(const Comparison& c) {
  const Sweep& sweep = *c.sweep;
  if (!c.crossings.empty() || sweep.variable != &Place::length || sweep.rows.size() < 2) {
    return std::nullopt;
  }
  const auto meeting =
      extrapolate_crossing(curve_of(sweep, kAttention, c.what), curve_of(sweep, c.other, c.what));
  if (!meeting) {
    return std::nullopt;
  }
  // Two digits are all that it is worth.
  const double unit = std::pow(10.0, std::floor(std::log10(meeting->x)) - 1.0);
  return std::round(meeting->x / unit) * unit;
}

// "up to length 3200", "from dim 310 on": where self-attention is the cheaper one.
std::string where_cheaper(const Comparison& c) {
  const Sweep& sweep = *c.sweep;
  if (c.crossings.empty()) {
    const Row& first = sweep.rows.front();
    const bool cheaper = first.times[kAttention].*c.what < first.times[c.other].*c.what;
    const std::optional<double> meeting = extrapolated(c);
    return fmt::format("at {} {} measured{}", cheaper ? "every" : "no", sweep.along,
                       meeting ? fmt::format(", meeting near {:.0f}", *meeting) : "");
  }
  std::string ranges;
  for (size_t i = 0; i < c.crossings.size(); ++i) {
    const Crossing& crossing = c.crossings[i];
    if (crossing.a_below_before && i > 0) {
      continue;  // the end of a range that the crossing before it opened
    }
    ranges += fmt::format("{}{} {} {:.0f}", ranges.empty() ? "" : " and ",
                          crossing.a_below_before ? "up to" : "from", sweep.along, crossing.at.x);
    if (!crossing.a_below_before) {
      const bool last = i + 1 == c.crossings.size();
      ranges += last ? " on" : fmt::format(" to {:.0f}", c.crossings[i + 1].at.x);
    }
  }
  return ranges;
}

// "the LSTM up to length 3200 (by count up to 4000)"
std::string describe(const Comparison& c) {
  return fmt::format("the {} {} (by count {} {:.0f})", kNames[c.other], where_cheaper(c),
                     c.sweep->variable == &Place::length ? "up to" : "from", counted_crossing(c));
}

void print_row(const Row& row, const LayersOptions& options, bool json) {
  for (size_t layer = 0; layer < kLayers; ++layer) {
    const LayerTime& time = row.times[layer];
    const double relative = time.forward / row.times[kAttention].forward;
    const double gflops = time.operations / time.forward / 1e9;
    if (json) {
      nlohmann::json object{{"layer", kNames[layer]},
                            {"length", row.place.length},
                            {"dim", row.place.dim},
                            {"dtype", name_of(options.dtype)},
                            {"threads", num_threads()},
                            {"isa", name_of(max_isa())},
                            {"operations", time.operations},
                            {"forward_seconds", time.forward},
                            {"training_seconds", time.training},
                            {"gflops", gflops},
                            {"relative_to_attention", relative}};
      if (layer == kAttention) {
        object["heads"] = row.heads;
      }
      fmt::print("{}\n", object.dump());
    } else {
      fmt::print("{:<15} {:>6} {:>5} {:>11.3g} {:>11.2f} {:>12.2f} {:>9.1f} {:>12.2f}\n",
                 kNames[layer], row.place.length, row.place.dim, time.operations,
                 1e3 * time.forward, 1e3 * time.training, gflops, relative);
    }
  }
}

void print_comparison(const Comparison& c, bool json) {
  const bool forward = c.what == &LayerTime::forward;
  if (!json) {
    fmt::print("{} self-attention is cheaper than {}\n",
               forward ? "forward:             " : "forward + backward:  ", describe(c));
    return;
  }
  nlohmann::json at = nlohmann::json::array();
  for (const Crossing& crossing : c.crossings) {
    at.push_back(crossing.at.x);
  }
  nlohmann::json object{{"crossing_with", kNames[c.other]},
                        {"along", c.sweep->along},
                        {c.sweep->fixed, kReference},
                        {"pass", forward ? "forward" : "training"},
                        {"at", at},
                        {"counted", counted_crossing(c)},
                        {"attention_cheaper", where_cheaper(c)}};
  if (const std::optional<double> meeting = extrapolated(c)) {
    object["extrapolated"] = *meeting;
  }
  fmt::print("{}\n", object.dump());
}

void print_crossings(const std::array<Sweep, 2>& sweeps, bool json) {
  for (const Sweep& sweep : sweeps) {
    if (!json) {
      fmt::print("\nAt {} {}\n", sweep.fixed, kReference);
    }
    for (const auto what : {&LayerTime::forward, &LayerTime::training}) {
      for (const Layer other : {kLstm, kConvolution}) {
        print_comparison(compare(sweep, other, what), json);
      }
    }
  }
}

// Counted operations as a time: the line that the measured point at the reference would lie on.
std::vector<PlotPoint> counted_curve(const Sweep& sweep, Layer layer) {
  const auto reference = std::find_if(sweep.rows.begin(), sweep.rows.end(), [](const Row& row) {
    return row.place.length == kReference && row.place.dim == kReference;
  });
  const double scale = reference->times[layer].forward / reference->times[layer].operations;
  std::vector<PlotPoint> points = curve_of(sweep, layer, &LayerTime::operations);
  for (PlotPoint& point : points) {
    point.y *= scale;
  }
  return points;
}

PlotPanel panel_of(const Sweep& sweep) {
  PlotPanel panel{
      .title = fmt::format("Cost against {} ({} {})", sweep.along, sweep.fixed, kReference),
      .x_label = sweep.along,
      .y_label = "forward pass, ms",
      .series = {},
      .marks = {},
      .notes = {"Self-attention is cheaper than"}};
  // Dashed lines first, so that what was measured lies on top.
  for (const bool dashed : {true, false}) {
    for (const Layer layer : {kAttention, kLstm, kConvolution}) {
      panel.series.push_back({.name = kNames[layer],
                              .points = dashed ? counted_curve(sweep, layer)
                                               : curve_of(sweep, layer, &LayerTime::forward),
                              .dashed = dashed});
    }
  }
  for (const Layer other : {kLstm, kConvolution}) {
    const Comparison comparison = compare(sweep, other, &LayerTime::forward);
    for (const Crossing& crossing : comparison.crossings) {
      panel.marks.push_back(crossing.at);
    }
    panel.notes.push_back(describe(comparison));
  }
  return panel;
}

void write_plot(const std::array<Sweep, 2>& sweeps, const LayersOptions& options) {
  Plot plot{
      .title = "One layer of self-attention, LSTM and convolution",
      .subtitle = fmt::format("Heed, batch 1, {}, {} thread{}, {}; convolution of width {}",
                              name_of(options.dtype), num_threads(), num_threads() == 1 ? "" : "s",
                              name_of(max_isa()), kKernelWidth),
      .dashed_legend = "operations counted, scaled to meet at 1000",
      .panels = {}};
  for (const Sweep& sweep : sweeps) {
    plot.panels.push_back(panel_of(sweep));
  }
  write_file(options.svg, render_svg(plot));
}

}  // namespace

void add_layers_options(Command& bench, LayersOptions& options) {
  const std::string group = "Options of heed bench layers";
  // Far above what memory and patience allow, and far below where sizes overflow.
  constexpr double kMost = 1 << 20;
  bench.option("--svg", options.svg, "write a plot to FILE; also of heed bench images")
      .value_name("FILE")
      .group(group);
  bench.option("--lengths", options.lengths, "lengths to measure at dim 1000")
      .separated_by(',')
      .value_name("N,N")
      .range(1, kMost)
      .show_default()
      .group(group);
  bench.option("--dims", options.dims, "dims to measure at length 1000")
      .separated_by(',')
      .value_name("N,N")
      .range(1, kMost)
      .show_default()
      .group(group);
  bench
      .option("--heads", options.heads,
              "heads of self-attention (default: as many as are at least 64 wide)")
      .range(1, kMost)
      .group(group);
}

void bench_layers(const LayersOptions& options, bool json) {
  std::vector<Row> grid = grid_of(options);
  measure(grid, options);
  if (!json) {
    fmt::print("{} threads, {}, {}, batch 1; operations and GFLOP/s are the forward pass's\n",
               num_threads(), name_of(max_isa()), name_of(options.dtype));
    fmt::print("{:<15} {:>6} {:>5} {:>11} {:>11} {:>12} {:>9} {:>12}\n", "layer", "length", "dim",
               "operations", "forward ms", "fwd + bwd ms", "GFLOP/s", "x attention");
  }
  for (const Row& row : grid) {
    print_row(row, options, json);
  }
  const std::array<Sweep, 2> sweeps = sweeps_of(grid);
  print_crossings(sweeps, json);
  if (!options.svg.empty()) {
    write_plot(sweeps, options);
  }
}

}  // namespace heed::cli
