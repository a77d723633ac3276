#include "support/op_case.h"

#include <cmath>
#include <limits>

namespace heed::testing {
namespace {

std::vector<OpCase>& table() {
  static auto* cases = new std::vector<OpCase>;
  return *cases;
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
  return cases::draw_inputs(op_case.op + "/" + op_case.name, op_case.inputs, dtype);
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
