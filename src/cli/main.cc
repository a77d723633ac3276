// The program: parses the command line and hands over. Only here does the process exit; errors
// become one line on standard error and a non-zero status, and so does output that was lost.
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

#include "base/error.h"
#include "cli/command.h"
#include "cli/output.h"
#include "kernels/cpu.h"
#include "mesh/launch.h"

namespace {

// Every command, in the order of the help; commands of the same group stand together there.
constexpr std::array kCommands = {
    heed::cli::add_train,     heed::cli::add_plan,           heed::cli::add_distil,
    heed::cli::add_eval,      heed::cli::add_score,          heed::cli::add_compare,
    heed::cli::add_translate, heed::cli::add_generate,       heed::cli::add_classify,
    heed::cli::add_ask,       heed::cli::add_embed,          heed::cli::add_attention,
    heed::cli::add_continue,  heed::cli::add_music,          heed::cli::add_image,
    heed::cli::add_serve,     heed::cli::add_tokenizer,      heed::cli::add_data,
    heed::cli::add_corpus,    heed::cli::add_model_commands, heed::cli::add_bench,
};

// Those whose work processes that were started together share. The others would do the same work
// several times and write to the same files.
constexpr std::array<std::string_view, 5> kShared = {"train", "translate", "classify", "embed",
                                                     "eval"};

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

void check_shares_work(int argc, char** argv) {
  const std::string_view command = argc > 1 ? argv[1] : "help";
  heed::check(!heed::launched_together() || command == "help" || command.starts_with("-") ||
                  std::find(kShared.begin(), kShared.end(), command) != kShared.end(),
              "several processes can share the work of heed {}, but not that of heed {}: start it "
              "alone",
              fmt::join(kShared, ", "), command);
}

int run(int argc, char** argv) {
  check_shares_work(argc, argv);
  heed::cli::Program program(
      {.description = "Heed trains, fine-tunes, inspects and serves self-attention models on CPUs.",
       .version = std::string("heed ") + HEED_VERSION + " (" + heed::name_of(heed::max_isa()) + ")",
       .footer = "`heed help COMMAND` and `heed COMMAND --help` explain a command and give "
                 "examples. `heed --version` prints the version and the instruction set in use."});
  heed::cli::Command root = program.root();
  for (const auto add : kCommands) {
    add(root);
  }
  return program.run(argc, argv);
}

// Of several processes the first one speaks first, and the launcher then ends the others: so an
// error that all of them meet is said once.
constexpr std::chrono::seconds kAfterTheFirst{3};

// fputs and not fmt::print, which throws if standard error cannot be written to either.
int report(const std::exception& error) {
  std::string who;
  if (const int process = heed::launched_rank(); process > 0) {
    std::this_thread::sleep_for(kAfterTheFirst);
    who = "process " + std::to_string(process) + ": ";
  }
  std::fputs(("heed: " + who + error.what() + "\n").c_str(), stderr);
  return 1;
}

// A process that fails ends those that were started together with it: they would wait for it.
int run_together(int argc, char** argv) {
  const int status = run(argc, argv);
  heed::close_transport();
  return status;
}

int run_and_report(int argc, char** argv) {
  try {
    return run_together(argc, argv);
  } catch (const std::system_error& error) {
    // finish_output() says what is wrong with standard output.
    return std::ferror(stdout) != 0 ? 1 : report(error);
  } catch (const std::exception& error) {
    return report(error);
  }
}

}  // namespace

int main(int argc, char** argv) {
  heed::cli::occupy_closed_streams();
  spin_briefly(argv);
  heed::cli::watch_output();
  const int status = heed::cli::finish_output(run_and_report(argc, argv));
  if (status != 0) {
    heed::abort_together(status);
  }
  return status;
}
