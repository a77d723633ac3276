#include "cli/bench/rates.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "base/clock.h"
#include "base/parallel.h"
#include "kernels/matmul/matmul.h"
#include "tensor/tensor.h"

namespace heed::cli {
namespace {

// Until it has taken this long, something is measured again; the best time counts.
constexpr double kMeasuredSeconds = 0.05;

template <typename Body>
double best_seconds(const Body& body) {
  body();  // warm-up
  double best = std::numeric_limits<double>::infinity();
  const auto begin = Clock::now();
  do {
    const auto start = Clock::now();
    body();
    best = std::min(best, seconds_since(start));
  } while (seconds_since(begin) < kMeasuredSeconds);
  return best;
}

class OneThread {
 public:
  OneThread() : before_(num_threads()) { set_num_threads(1); }
  ~OneThread() { set_num_threads(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

// y = x W^T, dx = dy W and dW = dy^T x, as linear() and its backward pass have them: FLOP a second.
double rate_of(int64_t tokens, int64_t outputs, int64_t inputs, DType dtype) {
  const Tensor x = Tensor::full({tokens, inputs}, 0.5F, dtype);
  const Tensor w = Tensor::full({outputs, inputs}, 0.5F, dtype);
  const Tensor y = Tensor::full({tokens, outputs}, 0.5F, dtype);
  const Tensor dw = Tensor::zeros({outputs, inputs});
  const double seconds = best_seconds([&] {
    kernels::matmul({.m = tokens,
                     .n = outputs,
                     .k = inputs,
                     .a = {x.raw(), dtype},
                     .b = {w.raw(), dtype},
                     .c = {y.raw(), dtype},
                     .transpose_b = true});
    kernels::matmul({.m = tokens,
                     .n = inputs,
                     .k = outputs,
                     .a = {y.raw(), dtype},
                     .b = {w.raw(), dtype},
                     .c = {x.raw(), dtype}});
    kernels::matmul({.m = outputs,
                     .n = inputs,
                     .k = tokens,
                     .a = {y.raw(), dtype},
                     .b = {x.raw(), dtype},
                     .c = {dw.raw(), DType::f32},
                     .transpose_a = true});
  });
  return 6.0 * static_cast<double>(tokens) * static_cast<double>(outputs * inputs) / seconds;
}

}  // namespace

double product_rate(const std::vector<PlannedProduct>& products, DType dtype) {
  constexpr int64_t kMost = 2048;  // of each side: larger products are not faster
  constexpr size_t kShapes = 6;
  std::map<std::tuple<int64_t, int64_t, int64_t>, double> flop;  // of each shape
  for (const PlannedProduct& product : products) {
    flop[{std::min(product.tokens, kMost), std::min(product.outputs, kMost),
          std::min(product.inputs, kMost)}] += product.forward();
  }
  std::vector<std::pair<double, std::tuple<int64_t, int64_t, int64_t>>> heaviest;
  heaviest.reserve(flop.size());
  for (const auto& [shape, amount] : flop) {
    heaviest.emplace_back(amount, shape);
  }
  std::sort(heaviest.rbegin(), heaviest.rend());
  heaviest.resize(std::min(kShapes, heaviest.size()));
  const OneThread alone;
  double all = 0.0;
  double seconds = 0.0;
  for (const auto& [amount, shape] : heaviest) {
    all += amount;
    seconds += amount / rate_of(std::get<0>(shape), std::get<1>(shape), std::get<2>(shape), dtype);
  }
  return all / seconds;
}

double copy_rate() {
  constexpr int64_t kBytes = int64_t{64} << 20;  // more than caches hold
  const Tensor from = Tensor::full({kBytes / 4}, 1.0F);
  const Tensor to = Tensor::zeros({kBytes / 4});
  return static_cast<double>(kBytes) /
         best_seconds([&] { std::memcpy(to.raw(), from.raw(), from.bytes()); });
}

}  // namespace heed::cli
