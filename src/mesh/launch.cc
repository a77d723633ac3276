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

// Open MPI, MPICH and its relatives, and whatever speaks PMIx, say how many processes there are, or
// at least that there are some.
int started_processes() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"}) {
    const char* value = std::getenv(name);
    const bool inside = std::string(name) != "SLURM_NTASKS" ||  // a step of srun, not the batch
                        std::getenv("SLURM_STEP_NUM_TASKS") != nullptr;
    if (value != nullptr && inside) {
      return std::max(1, std::atoi(value));
    }
  }
  return 1;
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

bool launched_together() { return started_processes() > 1; }

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
