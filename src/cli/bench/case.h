// The measured work: the models and sizes that the comparison with other engines is made on.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/matmul/matmul.h"
#include "tensor/dtype.h"

namespace heed::cli {

// The seed of weights and data in all measurements.
inline constexpr uint64_t kBenchSeed = 1;

// Work that is ready to be run again and again.
struct Workload {
  std::function<void()> run;  // one step
  double tokens = 0.0;        // what one step gets through
  // Products inside attention, which do not go through kernels::matmul().
  std::vector<kernels::Matmul> attention = {};
  double weight_bytes = 0.0;    // read for every token, where that is the limit
  std::shared_ptr<void> state;  // keeps models and data alive
};

struct BenchCase {
  std::string name;
  std::string what;  // one line for the help
  std::function<Workload(DType)> make;
  bool int8 = false;  // can run on int8 weights
};

const std::vector<BenchCase>& bench_cases();

// One causal attention layer, forward and backward.
struct AttentionBench {
  int64_t length = 2048;
  int64_t width = 512;
  int64_t heads = 8;
  bool relative = false;
  int64_t window = 0;     // 0: everything
  bool projected = true;  // with the projection to queries, keys and values

  int64_t head_dim() const { return width / heads; }
};
Workload attention_workload(const AttentionBench& bench, DType dtype);

}  // namespace heed::cli
