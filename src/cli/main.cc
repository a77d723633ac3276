// The program: parses the command line and hands over. Only here does the process exit; errors
// become one line on standard error and a non-zero status.
#include <fmt/core.h>

#include <exception>
#include <string>
#include <vector>

#include "cli/command.h"
#include "kernels/cpu.h"

namespace {

constexpr int kUsageError = 2;

int run(int argc, char** argv) {
  CLI::App app{"Heed trains, fine-tunes, looks into and serves self-attention models on CPUs."};
  app.set_version_flag("--version", std::string("heed ") + HEED_VERSION + " (" +
                                        heed::name_of(heed::max_isa()) + ")");
  app.require_subcommand(1);
  app.allow_extras();
  app.footer("`heed COMMAND --help` explains a command and gives examples.");
  heed::cli::add_train(app);
  heed::cli::add_translate(app);
  heed::cli::add_score(app);
  heed::cli::add_attention(app);
  heed::cli::add_tokenizer(app);
  heed::cli::add_model_commands(app);
  heed::cli::add_bench(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::RuntimeError& error) {
    return error.get_exit_code();
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      return app.exit(error);  // --help and --version
    }
    const std::vector<std::string> rest = app.remaining();
    fmt::print(
        stderr, "heed: {} (see heed --help)\n",
        rest.empty() ? std::string(error.what()) : fmt::format("there is no \"{}\"", rest.front()));
    return kUsageError;
  }
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
