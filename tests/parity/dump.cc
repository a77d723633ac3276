#include "parity/dump.h"

#include <filesystem>
#include <utility>
#include <vector>

#include "base/error.h"

namespace heed::parity {

Dump::Dump(std::string folder) : folder_(std::move(folder)) {
  std::filesystem::create_directories(folder_);
  data_.open(folder_ + "/tensors.bin", std::ios::binary | std::ios::trunc);
  check(data_.is_open(), "[parity_dump] cannot write {}/tensors.bin", folder_);
}

void Dump::add(const std::string& name, const Tensor& tensor) {
  check(tensor.dtype() == DType::f32 || tensor.dtype() == DType::i32,
        "[parity_dump] {} is {}, expected f32 or i32", name, name_of(tensor.dtype()));
  const auto extents = tensor.shape().extents();
  manifest_["tensors"][name] = {{"dtype", name_of(tensor.dtype())},
                                {"shape", std::vector<int64_t>(extents.begin(), extents.end())},
                                {"offset", bytes_}};
  data_.write(static_cast<const char*>(tensor.raw()), static_cast<std::streamsize>(tensor.bytes()));
  bytes_ += static_cast<int64_t>(tensor.bytes());
}

void Dump::set(const std::string& name, nlohmann::json value) {
  manifest_["settings"][name] = std::move(value);
}

void Dump::finish() {
  data_.close();
  std::ofstream out(folder_ + "/manifest.json");
  out << manifest_.dump(1) << '\n';
  out.close();
  check(data_.good() && out.good(), "[parity_dump] cannot write {}", folder_);
}

}  // namespace heed::parity
