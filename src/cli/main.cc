// The program: parses the command line and hands over. Only here does the process exit; errors
// become one line on standard error and a non-zero status.
#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>

#include "cli/command.h"
#include "kernels/cpu.h"

namespace {

// Every command, in the order of the help.
constexpr std::array kCommands = {
    heed::cli::add_train,          heed::cli::add_translate, heed::cli::add_score,
    heed::cli::add_generate,       heed::cli::add_eval,      heed::cli::add_embed,
    heed::cli::add_classify,       heed::cli::add_attention, heed::cli::add_tokenizer,
    heed::cli::add_compare,        heed::cli::add_corpus,    heed::cli::add_music,
    heed::cli::add_continue,       heed::cli::add_image,     heed::cli::add_serve,
    heed::cli::add_model_commands, heed::cli::add_bench,
};

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
  heed::cli::Program program(
      {.description =
           "Heed trains, fine-tunes, looks into and serves self-attention models on CPUs.",
       .version = std::string("heed ") + HEED_VERSION + " (" + heed::name_of(heed::max_isa()) + ")",
       .footer = "`heed COMMAND --help` explains a command and gives examples."});
  heed::cli::Command root = program.root();
  for (const auto add : kCommands) {
    add(root);
  }
  return program.run(argc, argv);
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
