#include "cli/bench/relative.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/parallel.h"
#include "base/random.h"
#include "ops/attention/attention.h"
#include "ops/linear.h"
#include "ops/pointwise.h"
#include "ops/shape/shape.h"
#include "ops/softmax.h"
#include "tensor/arena.h"

namespace heed::cli {
namespace {

Tensor random_values(const Shape& shape, uint64_t stream) {
  const RandomStream random{1, stream};
  std::vector<float> values(static_cast<size_t>(shape.size()));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = random.normal(i);
  }
  return Tensor::from(values, shape);
}

struct Operands {
  explicit Operands(const RelativeBench& bench)
      : dim(bench.width / bench.heads),
        q(random_values({1, bench.length, bench.heads, dim}, 1)),
        k(random_values(q.shape(), 2)),
        v(random_values(q.shape(), 3)),
        relative(random_values({bench.heads, bench.length, dim}, 4)) {}

  int64_t dim;
  Tensor q, k, v;
  Tensor relative;  // [H,L,D]: distances L-1 to 0 in the past
};

Tensor skewed(const Operands& o) {
  return attention(o.q, o.k, o.v, {.causal = true, .relative = o.relative}).y;
}

// The embedding of every pair's distance, copied to its place: [H,L,L,D].
Tensor all_pairs(const Operands& o) {
  const int64_t heads = o.relative.dim(0);
  const int64_t length = o.relative.dim(1);
  Tensor pairs = Tensor::zeros({heads, length, length, o.dim});
  const auto bytes = static_cast<size_t>(o.dim) * sizeof(float);
  parallel_for(heads * length, 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t i = row % length;
      for (int64_t j = 0; j <= i; ++j) {
        const int64_t from = row / length * length + length - 1 - (i - j);
        std::memcpy(pairs.data<float>() + (row * length + j) * o.dim,
                    o.relative.data<float>() + from * o.dim, bytes);
      }
    }
  });
  return pairs;
}

Tensor naive(const Operands& o) {
  const int64_t heads = o.relative.dim(0);
  const int64_t length = o.relative.dim(1);
  const auto by_head = [&](const Tensor& x) {
    return permute(x, {0, 2, 1, 3}).reshape({heads, length, o.dim});
  };
  const Tensor q = by_head(o.q);
  Tensor logits = matmul(q, by_head(o.k), {.transpose_b = true});  // [H,L,L]
  {
    const Tensor pairs = all_pairs(o);
    const Tensor terms = matmul(pairs.reshape({heads * length, length, o.dim}),
                                q.reshape({heads * length, o.dim, 1}));  // [HL,L,1]
    logits = add(logits, terms.reshape(logits.shape()));
  }
  logits = scale(logits, 1.0F / std::sqrt(static_cast<float>(o.dim)));
  for (int64_t row = 0; row < heads * length; ++row) {
    float* begin = logits.data<float>() + row * length;
    std::fill(begin + row % length + 1, begin + length, -std::numeric_limits<float>::infinity());
  }
  return matmul(softmax(logits), by_head(o.v));  // [H,L,D]
}

struct RelativeCost {
  double seconds = std::numeric_limits<double>::infinity();
  double mib = 0.0;  // of tensors besides the operands, at most
};

RelativeCost measure(const std::function<Tensor()>& run, int repetitions) {
  RelativeCost cost;
  const size_t before = Arena::global().live_bytes();
  Arena::global().reset_peak();
  for (int i = 0; i <= repetitions; ++i) {  // the first warms up
    const auto start = std::chrono::steady_clock::now();
    run();
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    cost.seconds = i == 0 ? cost.seconds : std::min(cost.seconds, spent.count());
  }
  cost.mib = static_cast<double>(Arena::global().peak_bytes() - before) / (1 << 20);
  return cost;
}

// That both say the same.
double largest_difference(const Tensor& by_position, const Tensor& by_head) {
  const Tensor same =
      permute(by_head.reshape({1, by_head.dim(0), by_head.dim(1), by_head.dim(2)}), {0, 2, 1, 3});
  double worst = 0.0;
  for (int64_t i = 0; i < by_position.size(); ++i) {
    worst = std::max(worst, std::abs(static_cast<double>(by_position.data<float>()[i]) -
                                     static_cast<double>(same.data<float>()[i])));
  }
  return worst;
}

}  // namespace

void bench_relative(const RelativeBench& bench, bool json) {
  const Operands operands(bench);
  const auto mib = [](double elements) { return elements * sizeof(float) / (1 << 20); };
  const double table = mib(static_cast<double>(operands.relative.size()));
  const double pairs = table * static_cast<double>(bench.length);
  const RelativeCost fast = measure([&] { return skewed(operands); }, bench.repetitions);
  const RelativeCost slow = measure([&] { return naive(operands); }, 1);
  const double difference = largest_difference(skewed(operands), naive(operands));
  check(difference < 1e-3, "[bench] both forms differ by {}, expected less than 0.001", difference);
  const auto print = [&](const char* form, double term, const RelativeCost& cost) {
    if (json) {
      const nlohmann::json row{{"case", "relative"},     {"form", form},
                               {"length", bench.length}, {"width", bench.width},
                               {"term_mib", term},       {"peak_mib", cost.mib},
                               {"seconds", cost.seconds}};
      fmt::print("{}\n", row.dump());
    } else {
      fmt::print("{:<22} {:>14.1f} {:>14.1f} {:>12.1f}\n", form, term, cost.mib,
                 cost.seconds * 1e3);
    }
  };
  if (!json) {
    fmt::print("relative attention, causal, L={} D={} H={}, f32, {} threads, forward\n",
               bench.length, bench.width, bench.heads, num_threads());
    fmt::print("{:<22} {:>14} {:>14} {:>12}\n", "form", "term, MiB", "peak, MiB", "ms");
  }
  print("a vector for each pair", pairs, slow);
  print("skewed", table, fast);
}

}  // namespace heed::cli
