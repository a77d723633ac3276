#include "mesh/launch.h"

#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "base/error.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

std::unique_ptr<Transport>& opened() {
  static std::unique_ptr<Transport> transport;
  return transport;
}

// Where launchers say how many processes there are and which one this is.
struct LauncherVariables {
  const char* size;
  const char* rank;
  const char* inside;  // set if this is one of them
};
constexpr std::array kLaunchers = {
    LauncherVariables{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    LauncherVariables{"PMI_SIZE", "PMI_RANK", "PMI_SIZE"},  // MPICH and its relatives
    // A batch script of Slurm has SLURM_NTASKS too, but is no step of srun.
    LauncherVariables{"SLURM_NTASKS", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}};

// Null: this process was started alone.
const LauncherVariables* launcher() {
  for (const LauncherVariables& each : kLaunchers) {
    if (std::getenv(each.size) != nullptr && std::getenv(each.inside) != nullptr) {
      return std::atoi(std::getenv(each.size)) > 1 ? &each : nullptr;
    }
  }
  return nullptr;
}

std::array<fs::path, 2> module_places() {
  const fs::path folder = fs::read_symlink("/proc/self/exe").parent_path();
  return {folder / "heed_mpi.so", folder / ".." / "lib" / "heed" / "heed_mpi.so"};
}

void* load_module() {
  for (const fs::path& place : module_places()) {
    if (fs::exists(place)) {
      // Global: Open MPI loads components of its own, which look for its symbols.
      void* module = dlopen(place.c_str(), RTLD_NOW | RTLD_GLOBAL);
      check(module != nullptr, "[mesh] cannot load {}: {}", place.string(), dlerror());
      return module;
    }
  }
  fail(
      "[mesh] this process was started together with others, but there is no {}: install MPI with "
      "tools/install-deps.sh mpi and build again, or start a single process",
      module_places().front().string());
}

}  // namespace

bool launched_together() { return launcher() != nullptr; }

int launched_rank() {
  const char* rank = launched_together() ? std::getenv(launcher()->rank) : nullptr;
  return rank == nullptr ? 0 : std::atoi(rank);
}

Transport* open_transport() {
  if (!launched_together()) {
    return nullptr;
  }
  if (opened() == nullptr) {
    using Open = Transport* (*)();
    const auto open = reinterpret_cast<Open>(dlsym(load_module(), "heed_open_transport"));
    check(open != nullptr, "[mesh] heed_mpi.so is not a module of this program");
    opened().reset(open());
  }
  return opened().get();
}

void close_transport() { opened().reset(); }

void abort_together(int status) {
  if (opened() != nullptr) {
    opened()->abort(status);
  }
}

}  // namespace heed
