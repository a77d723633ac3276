// `heed bench memory`: how many bytes a second this machine reads from memory, with one thread and
// with all of them. Decoding a token reads every weight once, so this is its limit.
#pragma once

namespace heed::cli {

struct MemoryBench {
  int repetitions = 5;
};
void bench_memory(const MemoryBench& bench, bool json);

// The best of `repetitions`.
double read_bytes_per_second(int threads, int repetitions);

}  // namespace heed::cli
