// CTranslate2's model.bin, binary version 2: trained Transformers of another engine, read to check
// ours against theirs. Integer weights are dequantised, so all tensors come out as f32.
//
// Files come from strangers: everything in them is checked before it is used, and what is wrong is
// an Error that names the file and the tensor. The result owns its values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/tensor.h"

namespace heed {

struct Ctranslate2Tensor {
  std::string name;  // "decoder/layer_0/ffn/linear_0/weight"
  Tensor value;      // f32
};

struct Ctranslate2Model {
  std::string spec;  // "TransformerBase"
  uint32_t revision = 0;
  std::vector<Ctranslate2Tensor> tensors;  // in the order of the file

  const Tensor* find(std::string_view name) const;  // nullptr if there is none
};

Ctranslate2Model read_ctranslate2(const std::filesystem::path& path);

// `file` is the name that errors give.
Ctranslate2Model parse_ctranslate2(std::span<const std::byte> bytes, const std::string& file);

}  // namespace heed
