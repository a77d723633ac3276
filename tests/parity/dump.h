// A folder that another program can read tensors from: tensors.bin, raw and one after the other,
// and manifest.json, which says what lies where.
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tensor/tensor.h"

namespace heed::parity {

class Dump {
 public:
  explicit Dump(std::string folder);  // makes the folder

  void add(const std::string& name, const Tensor& tensor);  // f32 or i32
  void set(const std::string& name, nlohmann::json value);  // a number or text
  void finish();                                            // writes the manifest

 private:
  std::string folder_;
  std::ofstream data_;
  int64_t bytes_ = 0;
  nlohmann::json manifest_;
};

}  // namespace heed::parity
