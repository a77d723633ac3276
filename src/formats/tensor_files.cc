#include "formats/tensor_files.h"

#include <optional>
#include <set>

#include "base/config.h"
#include "base/error.h"
#include "base/file.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFile = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";

// Some folders call their only file model.fp16.safetensors or something else.
std::optional<fs::path> only_file(const fs::path& folder) {
  std::optional<fs::path> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".safetensors") {
      if (found) {
        return std::nullopt;
      }
      found = entry.path();
    }
  }
  return found;
}

}  // namespace

bool has_tensors(const fs::path& folder) {
  return fs::exists(folder / kFile) || fs::exists(folder / kIndex) || only_file(folder);
}

TensorFiles::TensorFiles(const fs::path& path) : path_(path) {
  if (!fs::is_directory(path)) {
    open(path);
  } else if (fs::exists(path / kFile)) {
    path_ = path / kFile;
    open(path_);
  } else if (fs::exists(path / kIndex)) {
    path_ = path / kIndex;
    open_shards(path_);
  } else {
    const std::optional<fs::path> file = only_file(path);
    check(file.has_value(), "[model folder] {} has neither {} nor {}", path.string(), kFile,
          kIndex);
    path_ = *file;
    open(path_);
  }
}

void TensorFiles::open(const fs::path& file) {
  files_.push_back(std::make_unique<SafetensorsFile>(file));
  bytes_ += fs::file_size(file);
  for (const TensorEntry& entry : files_.back()->entries()) {
    const auto [at, fresh] = file_of_.emplace(entry.name, files_.size() - 1);
    check(fresh, "[model folder] tensor {} is in {} and in {}", entry.name,
          files_[at->second]->path().string(), file.string());
    entries_.push_back(&entry);
  }
}

void TensorFiles::open_shards(const fs::path& index) {
  // Printing JSON descends into it: no deeper than an index ever is.
  constexpr int kDepth = 16;
  const auto shallow = [&](int depth, Json::parse_event_t /*event*/, Json& /*value*/) {
    check(depth <= kDepth, "[model folder] {} is nested more than {} deep", index.string(), kDepth);
    return true;
  };
  const Json json = Json::parse(read_file(index), shallow, false);
  const bool sound = json.is_object() && json.contains("weight_map") &&
                     json["weight_map"].is_object() && !json["weight_map"].empty();
  check(sound, "[model folder] {} has no weight_map that names tensors and their files",
        index.string());
  std::set<std::string> names;
  for (const auto& item : json["weight_map"].items()) {
    check(item.value().is_string(), "[model folder] {}: the file of tensor {} is {}, expected text",
          index.string(), item.key(), item.value().dump());
    names.insert(item.value().get<std::string>());
  }
  for (const std::string& name : names) {
    // A name with a path could reach any file of the machine.
    check(fs::path(name).filename() == name,
          "[model folder] {} names {}, expected a file beside it", index.string(), name);
    open(index.parent_path() / name);
  }
  for (const auto& item : json["weight_map"].items()) {
    check(find(item.key()) != nullptr, "[model folder] {}: tensor {} is not in {}", index.string(),
          item.key(), item.value().get<std::string>());
  }
}

const TensorEntry* TensorFiles::find(std::string_view name) const {
  const auto found = file_of_.find(name);
  return found == file_of_.end() ? nullptr : files_[found->second]->find(name);
}

void TensorFiles::copy(const TensorEntry& entry, std::span<float> to) const {
  files_[file_of_.at(entry.name)]->copy(entry, to);
}

}  // namespace heed
