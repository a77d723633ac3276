#include "cli/bench/memory.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/parallel.h"
#include "kernels/read_memory.h"
#include "tensor/tensor.h"

namespace heed::cli {
namespace {

// Far more than any cache holds.
constexpr int64_t kBytes = int64_t{512} << 20;

double best_bytes_per_second(const Tensor& memory, int threads, int repetitions) {
  const int before = num_threads();
  set_num_threads(threads);
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i <= repetitions; ++i) {
    const auto start = std::chrono::steady_clock::now();
    kernels::read_memory(memory.raw(), memory.bytes());
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    best = std::min(best, time.count());
  }
  set_num_threads(before);
  return static_cast<double>(memory.bytes()) / best;
}

}  // namespace

double read_bytes_per_second(int threads, int repetitions) {
  return best_bytes_per_second(Tensor::full({kBytes / 4}, 1.0F), threads, repetitions);
}

void bench_memory(const MemoryBench& bench, bool json) {
  const Tensor memory = Tensor::full({kBytes / 4}, 1.0F);
  std::vector<int> threads{1};
  if (num_threads() > 1) {
    threads.push_back(num_threads());
  }
  if (!json) {
    fmt::print("reading {} MiB, the best of {}\n", kBytes >> 20, bench.repetitions);
  }
  for (const int count : threads) {
    const double speed = best_bytes_per_second(memory, count, bench.repetitions) / 1e9;
    if (json) {
      fmt::print(
          "{}\n",
          nlohmann::json{{"case", "memory"}, {"threads", count}, {"gigabytes_per_second", speed}}
              .dump());
    } else {
      fmt::print("{} {}: {:.1f} GB/s\n", count, count == 1 ? "thread" : "threads", speed);
    }
  }
}

}  // namespace heed::cli
