// The program: parses the command line and hands over. Only here does the process exit; errors
// become one line on standard error and a non-zero status.
#include <fmt/core.h>

#include <exception>

#include "cli/command.h"
#include "kernels/cpu.h"

namespace {

int run(int argc, char** argv) {
  CLI::App app{"Heed trains, fine-tunes, looks into and serves self-attention models on CPUs."};
  app.set_version_flag("--version", std::string("heed ") + HEED_VERSION + " (" +
                                        heed::name_of(heed::max_isa()) + ")");
  app.require_subcommand(1);
  app.footer("`heed COMMAND --help` explains a command and gives examples.");
  heed::cli::add_bench(app);
  CLI11_PARSE(app, argc, argv);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "heed: {}\n", error.what());
    return 1;
  }
}
