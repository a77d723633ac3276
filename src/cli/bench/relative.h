// `heed bench relative`: what relative attention costs with a vector for every pair of positions
// (Shaw et al. 2018), and by skewing (Huang et al. 2018), as Heed has it.
#pragma once

#include <cstdint>

namespace heed::cli {

struct RelativeBench {
  int64_t length = 2048;
  int64_t width = 512;
  int64_t heads = 8;
  int repetitions = 3;
};
void bench_relative(const RelativeBench& bench, bool json);

}  // namespace heed::cli
