// The tensors of a model folder: model.safetensors, the shards that model.safetensors.index.json
// names, as one, or the only file of that format.
//
// Owns the mappings; entries point into them and live as long. Reading is safe from many threads.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "formats/safetensors.h"

namespace heed {

class TensorFiles {
 public:
  // A folder, or one file.
  explicit TensorFiles(const std::filesystem::path& path);

  // The file, or the index of the shards.
  const std::filesystem::path& path() const { return path_; }
  const std::vector<const TensorEntry*>& entries() const { return entries_; }
  const TensorEntry* find(std::string_view name) const;  // nullptr if there is none
  // As SafetensorsFile::copy().
  void copy(const TensorEntry& entry, std::span<float> to) const;
  uintmax_t bytes() const { return bytes_; }  // of all files

 private:
  void open(const std::filesystem::path& file);
  void open_shards(const std::filesystem::path& index);

  std::filesystem::path path_;
  std::vector<std::unique_ptr<SafetensorsFile>> files_;
  std::vector<const TensorEntry*> entries_;
  std::unordered_map<std::string_view, size_t> file_of_;  // which of files_ has it
  uintmax_t bytes_ = 0;
};

// Whether the folder has weights.
bool has_tensors(const std::filesystem::path& folder);

}  // namespace heed
