#include "ops/cases/op_input.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/random.h"

namespace heed::cases {
namespace {

constexpr int64_t kDrawn = 65536;

double draw(const Input& input, const RandomStream& stream, uint64_t index) {
  if (!input.values.empty()) {
    return input.values[index];
  }
  if (input.kind == Kind::integer || input.kind == Kind::byte) {
    return std::floor(input.offset + input.scale * stream.uniform(index));
  }
  return input.offset + input.scale * stream.normal(index);
}

std::vector<float> draw_values(const Input& input, const RandomStream& stream) {
  const int64_t size = input.shape.size();
  const int64_t drawn = input.values.empty() ? std::min(size, kDrawn) : size;
  std::vector<float> values(static_cast<size_t>(size));
  for (int64_t i = 0; i < size; ++i) {
    values[i] = i < drawn ? static_cast<float>(draw(input, stream, static_cast<uint64_t>(i)))
                          : values[i - drawn];
  }
  return values;
}

}  // namespace

std::vector<Tensor> draw_inputs(std::string_view name, const std::vector<Input>& inputs,
                                DType dtype) {
  std::vector<Tensor> tensors;
  for (const Input& input : inputs) {
    const std::vector<float> values =
        draw_values(input, RandomStream{stream_of(std::string(name)), tensors.size()});
    if (input.kind == Kind::integer) {
      tensors.push_back(
          Tensor::from_ints(std::vector<int32_t>(values.begin(), values.end()), input.shape));
    } else if (input.kind == Kind::byte) {
      tensors.push_back(
          Tensor::from_bytes(std::vector<int8_t>(values.begin(), values.end()), input.shape));
    } else {
      const bool narrow = dtype == DType::bf16 && input.kind == Kind::activation;
      tensors.push_back(Tensor::from(values, input.shape, narrow ? DType::bf16 : DType::f32));
    }
  }
  return tensors;
}

}  // namespace heed::cases
