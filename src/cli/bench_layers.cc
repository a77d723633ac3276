#include "cli/bench_layers.h"
namespace heed::cli { void add_layers_options(CLI::App&, LayersOptions&) {} void bench_layers(const LayersOptions&, bool) {} }
