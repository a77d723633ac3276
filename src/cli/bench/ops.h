// `heed bench ops`: the time of every op, forward and backward, beside its roofline: what memory
// and matrix products would need at the speeds that this machine shows.
#pragma once

#include <string>
#include <vector>

namespace heed::cli {

struct OpsBench {
  std::vector<std::string> names;  // of ops; empty: all
  std::vector<std::string> dtypes{"f32", "bf16"};
  int repetitions = 5;
};
void bench_ops(const OpsBench& bench, bool json);

}  // namespace heed::cli
