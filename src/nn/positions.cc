#include "nn/positions.h"

#include <algorithm>
#include <functional>

#include "autograd/tape.h"
#include "base/error.h"
#include "nn/sinusoid.h"
#include "ops/pointwise.h"
#include "ops/shape/shape.h"

namespace heed {
namespace {

constexpr int64_t kTable = 1024;  // positions computed ahead
constexpr float kInitDeviation = 0.02F;

Sinusoids layout_of(const std::string& kind) {
  return kind == "sinusoidal_halves" ? Sinusoids::halves : Sinusoids::interleaved;
}

// All sines of the pairs, then all their cosines.
Sinusoid half_sinusoid(int64_t column, int64_t pairs) {
  return {
      .rate = sinusoid_rate(column % pairs, static_cast<double>(std::max<int64_t>(pairs - 1, 1))),
      .sine = column < pairs};
}

}  // namespace

Tensor sinusoidal_positions(int64_t length, int64_t width, Sinusoids layout, int64_t first) {
  const bool halves = layout == Sinusoids::halves;
  // An odd column out of halves stays zero.
  const int64_t columns = halves ? width - width % 2 : width;
  Tensor table = Tensor::zeros({length, width});
  for (int64_t c = 0; c < columns; ++c) {
    const Sinusoid column = halves ? half_sinusoid(c, width / 2) : interleaved_sinusoid(c, width);
    for (int64_t t = 0; t < length; ++t) {
      table.data<float>()[t * width + c] = static_cast<float>(column(first + t));
    }
  }
  return table;
}

std::vector<int64_t> random_offsets(int64_t rows, int64_t most) {
  Tape* tape = Tape::current();
  if (tape == nullptr || most <= 0) {
    return {};
  }
  const RandomStream random = tape->draw();
  std::vector<int64_t> offsets;
  for (int64_t row = 0; row < rows; ++row) {
    const uint64_t below = static_cast<uint64_t>(most) + 1;
    offsets.push_back(
        static_cast<int64_t>((random.bits(static_cast<uint64_t>(row)) * below) >> 32));
  }
  return offsets;
}

Positions::Positions(const Scope& s, const PositionsConfig& config) : config_(config) {
  if (config.kind == "learned") {
    learned_.emplace(s, config.longest, config.width, Init::normal(kInitDeviation));
  } else if (config.kind != "none") {
    table_ = sinusoidal_positions(kTable, config.width, layout_of(config.kind), config.first);
  }
}

Tensor Positions::signals(int64_t past, int64_t steps, int64_t length) const {
  if (learned_) {
    check(past + length <= config_.longest,
          "[positions] a sequence of {} tokens, expected at most {}: the positions are learned",
          past + length, config_.longest);
    std::vector<int32_t> places;
    for (int64_t i = past; i < past + steps; ++i) {
      places.push_back(static_cast<int32_t>(std::min(i, config_.longest - 1)));
    }
    return (*learned_)(Tensor::from_ints(places, {steps}));  // [T,C]
  }
  if (past + steps <= kTable) {
    return table_.rows(past, past + steps);  // [T,C]
  }
  return sinusoidal_positions(steps, config_.width, layout_of(config_.kind), config_.first + past);
}

Tensor Positions::operator()(const Tensor& x, int64_t past) const {
  return config_.kind == "none" ? x : add(x, signals(past, x.dim(1), x.dim(1)));  // [B,T,C]
}

Tensor Positions::operator()(const Tensor& x, const Places& places) const {
  const std::span<const int64_t> past = places.past;
  const bool equal =
      places.lengths.empty() &&
      std::adjacent_find(past.begin(), past.end(), std::not_equal_to<>()) == past.end();
  if (equal || config_.kind == "none") {
    return (*this)(x, past.empty() ? 0 : past.front());  // [B,T,C]
  }
  check(past.empty() || std::ssize(past) == x.dim(0), "[positions] {} rows with {} pasts", x.dim(0),
        past.size());
  std::vector<Tensor> rows;
  for (int64_t row = 0; row < x.dim(0); ++row) {
    rows.push_back(signals(places.before(row), x.dim(1), places.length(row, x.dim(1))));  // [T,C]
  }
  return add(x, concat(rows, 0).reshape(x.shape()));  // [B,T,C]
}

}  // namespace heed
