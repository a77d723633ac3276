#include "train/agreement.h"

#include <algorithm>
#include <utility>

#include "base/encoding/sha256.h"
#include "base/error.h"
#include "base/file.h"
#include "base/parallel.h"
#include "kernels/cpu.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

// The files that a recipe names: their sizes, and a digest of how they begin.
std::string data_identity(const Recipe& recipe) {
  constexpr size_t kRead = size_t{1} << 20;
  std::string identity;
  for (const fs::path& path : named_files(recipe)) {
    if (fs::is_regular_file(path)) {
      const MappedFile file(path);
      Sha256 digest;
      digest.update(file.bytes().first(std::min(kRead, file.bytes().size())));
      identity += fmt::format("{} of {} bytes, digest {} ", path.string(), file.bytes().size(),
                              digest.hex().substr(0, 16));
    }
  }
  return identity;
}

// Two texts from shortly before the place where they begin to differ.
std::pair<std::string, std::string> difference_of(const std::string& a, const std::string& b) {
  constexpr size_t kBefore = 30;
  constexpr size_t kShown = 80;
  const auto common = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
  const size_t begin = std::max(static_cast<size_t>(common), kBefore) - kBefore;
  return {a.substr(begin, kShown), b.substr(begin, kShown)};
}

}  // namespace

void check_agreement(const Mesh& mesh, const Recipe& recipe, const Json& model) {
  if (mesh.alone()) {
    return;
  }
  const std::vector<std::pair<std::string, std::string>> facts = {
      {"program", sha256_of_file("/proc/self/exe").substr(0, 16)},
      {"instruction set", name_of(max_isa())},
      {"number of threads", std::to_string(num_threads())},
      {"recipe", write_recipe(recipe).dump()},
      {"model", model.dump()},
      {"data", data_identity(recipe)}};
  for (const auto& [what, own] : facts) {
    const std::vector<std::string> all = mesh.world().gather(own);
    for (size_t rank = 1; rank < all.size(); ++rank) {
      const auto [first, other] = difference_of(all[0], all[rank]);
      check(all[rank] == all[0], "[train] the {} of process {} is {}, and that of process 0 is {}",
            what, rank, other, first);
    }
  }
}

}  // namespace heed
