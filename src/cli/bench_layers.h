// `heed bench layers`: what a layer of self-attention, of an LSTM and of a convolution costs, over
// lengths and dims, beside the operation counts that the lecture gives for them.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace heed::cli {

struct LayersOptions {
  std::string svg;  // where the plot goes; empty: none
};
void add_layers_options(CLI::App& bench, LayersOptions& options);
void bench_layers(const LayersOptions& options, bool json);

}  // namespace heed::cli
