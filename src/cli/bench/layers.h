// `heed bench layers`: what a layer of self-attention, of an LSTM and of a convolution costs, over
// lengths and dims, beside the operation counts that the lecture gives for them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "tensor/dtype.h"

namespace heed::cli {

struct LayersOptions {
  std::string svg;  // where the plot goes; empty: none
  std::vector<int64_t> lengths{64, 125, 250, 500, 1000, 2000, 4000, 8000};  // at dim 1000
  std::vector<int64_t> dims{64, 125, 250, 500, 1000, 2000};                 // at length 1000
  int64_t heads = 0;  // of self-attention; 0: as many as leave each at least 64 wide
  DType dtype = DType::f32;
  int repetitions = 5;
};
void add_layers_options(Command& bench, LayersOptions& options);
void bench_layers(const LayersOptions& options, bool json);

}  // namespace heed::cli
