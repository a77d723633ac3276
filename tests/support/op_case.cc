#include "support/op_case.h"

#include <cmath>
#include <limits>

#include "base/random.h"

namespace heed::testing {
namespace {

std::vector<OpCase>& table() {
  static auto* cases = new std::vector<OpCase>;
  return *cases;
}

double draw(const Input& input, const RandomStream& stream, uint64_t index) {
  if (!input.values.empty()) {
    return input.values[index];
  }
  if (input.kind == Kind::integer || input.kind == Kind::byte) {
    return std::floor(input.offset + input.scale * stream.uniform(index));
  }
  return input.offset + input.scale * stream.normal(index);
}

}  // namespace

bool add_cases(std::vector<OpCase> cases) {
  for (OpCase& op_case : cases) {
    table().push_back(std::move(op_case));
  }
  return true;
}

const std::vector<OpCase>& all_cases() { return table(); }

std::vector<Tensor> make_inputs(const OpCase& op_case, DType dtype) {
  std::vector<Tensor> tensors;
  for (const Input& input : op_case.inputs) {
    const RandomStream stream{stream_of(op_case.op + "/" + op_case.name), tensors.size()};
    std::vector<float> values;
    for (int64_t i = 0; i < input.shape.size(); ++i) {
      values.push_back(static_cast<float>(draw(input, stream, static_cast<uint64_t>(i))));
    }
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

Array to_array(const Tensor& tensor) {
  const std::vector<float> values = tensor.to_vector();
  return {tensor.shape(), {values.begin(), values.end()}};
}

double error_between(const Array& a, const Array& b) {
  if (a.shape != b.shape) {
    return std::numeric_limits<double>::infinity();
  }
  double squares = 0;
  for (const double value : b.values) {
    squares += value * value;
  }
  const double typical =
      std::sqrt(squares / std::max<double>(1, static_cast<double>(b.values.size()))) + 1e-12;
  double worst = 0;
  for (size_t i = 0; i < b.values.size(); ++i) {
    const double error = std::abs(a.values[i] - b.values[i]) / (std::abs(b.values[i]) + typical);
    worst = std::isfinite(error) ? std::max(worst, error) : std::numeric_limits<double>::infinity();
  }
  return worst;
}

}  // namespace heed::testing
