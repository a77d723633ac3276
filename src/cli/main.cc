// The program: parses the command line and hands over. Only here does the process exit; errors
// become one line on standard error and a non-zero status.
#include <fmt/core.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/command.h"
#include "kernels/cpu.h"

namespace {

constexpr int kUsageError = 2;

// By default libgomp's threads spin for milliseconds at the end of each parallel region. With other
// work on the same cores every region then waits for a time slice, and decoding, which has
// thousands of them a second, comes to a halt. libgomp reads the setting before main(), so the
// program starts itself once more; where that fails it goes on as it is.
void spin_briefly(char** argv) {
  if (std::getenv("GOMP_SPINCOUNT") == nullptr && std::getenv("OMP_WAIT_POLICY") == nullptr) {
    ::setenv("GOMP_SPINCOUNT", "1000", 0);
    std::error_code error;
    const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
    if (!error) {
      ::execv(self.c_str(), argv);
    }
  }
}

int run(int argc, char** argv) {
  CLI::App app{"Heed trains, fine-tunes, looks into and serves self-attention models on CPUs."};
  app.set_version_flag("--version", std::string("heed ") + HEED_VERSION + " (" +
                                        heed::name_of(heed::max_isa()) + ")");
  app.require_subcommand(1);
  app.footer("`heed COMMAND --help` explains a command and gives examples.");
  heed::cli::add_train(app);
  heed::cli::add_translate(app);
  heed::cli::add_score(app);
  heed::cli::add_generate(app);
  heed::cli::add_eval(app);
  heed::cli::add_embed(app);
  heed::cli::add_classify(app);
  heed::cli::add_attention(app);
  heed::cli::add_tokenizer(app);
  heed::cli::add_compare(app);
  heed::cli::add_corpus(app);
  heed::cli::add_music(app);
  heed::cli::add_continue(app);
  heed::cli::add_image(app);
  heed::cli::add_serve(app);
  heed::cli::add_model_commands(app);
  heed::cli::add_bench(app);
  app.allow_extras();  // last: commands made after it would take options they do not have
  try {
    app.parse(argc, argv);
  } catch (const CLI::RuntimeError& error) {
    return error.get_exit_code();
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      return app.exit(error);  // --help and --version
    }
    const std::vector<std::string> rest = app.remaining(true);
    fmt::print(
        stderr, "heed: {} (see heed --help)\n",
        rest.empty() ? std::string(error.what()) : fmt::format("there is no \"{}\"", rest.front()));
    return kUsageError;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  spin_briefly(argv);
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "heed: {}\n", error.what());
    return 1;
  }
}
