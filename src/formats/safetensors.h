// Safetensors files: named tensors behind a JSON header, the format of model folders and
// checkpoints. Layout: u64 length of the header, the header, then the tensors' bytes without holes.
//
// Files come from strangers: everything in them is checked before it is used, and what is wrong is
// an Error that names the file and the tensor. A SafetensorsFile owns its mapping; entries point
// into it and live as long. Reading is safe from many threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/file.h"
#include "tensor/tensor.h"

namespace heed {

struct TensorEntry {
  std::string name;
  std::string dtype;  // as the file says it: F32, BF16, F16, I64, ...
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;  // row-major, little-endian, at any alignment

  int64_t size() const;  // product of the shape, which is known to fit
};

struct SafetensorsContent {
  std::vector<TensorEntry> entries;  // in the order of their bytes
  std::map<std::string, std::string> metadata;
};

// `file` is the name that errors give; the entries point into `bytes`.
SafetensorsContent parse_safetensors(std::span<const std::byte> bytes, const std::string& file);

class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return file_.path(); }
  const std::vector<TensorEntry>& entries() const { return content_.entries; }
  const std::map<std::string, std::string>& metadata() const { return content_.metadata; }
  const TensorEntry* find(std::string_view name) const;  // nullptr if there is none
  const TensorEntry& at(std::string_view name) const;    // an Error if there is none

  // F32, BF16, I32 and I8 as they are; F16 and F64 become f32, other integers and BOOL i32.
  Tensor load(const TensorEntry& entry) const;
  // Values converted into a buffer of exactly as many elements. Floats take F32, F16, BF16 and F64,
  // rounded to the nearest; int32_t takes all integers and BOOL, and a value outside its range is
  // an Error.
  void copy(const TensorEntry& entry, std::span<float> to) const;
  void copy(const TensorEntry& entry, std::span<bf16> to) const;
  void copy(const TensorEntry& entry, std::span<int32_t> to) const;

 private:
  MappedFile file_;
  SafetensorsContent content_;
  std::unordered_map<std::string_view, const TensorEntry*> by_name_;
};

// A tensor to write: the data must live until the file is written.
struct NamedTensor {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  const void* data = nullptr;  // null: another process writes it
};
NamedTensor named_tensor(std::string name, const Tensor& tensor);

// Several processes that write one file together: each has the data of some of its tensors.
struct FileWriters {
  bool leads = true;  // makes the file and gives it its name
  // What the leader says, on every process.
  std::function<std::string(const std::string& text)> from_leader = {};
  std::function<void()> barrier = {};  // empty: one process writes alone
};

// Atomically; tensors in the given order, the first byte of data at a multiple of 64. The same
// arguments give the same bytes.
void write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors,
                       const std::map<std::string, std::string>& metadata = {},
                       const FileWriters& writers = {});

}  // namespace heed
