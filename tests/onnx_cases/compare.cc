#include "onnx_cases/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace heed::onnx_cases {
namespace {

struct Tolerance {
  double relative;
  double absolute;
};

Tolerance tolerance_of(const Value& expected) {
  if (expected.dtype == "float16") {
    return {.relative = 4e-3, .absolute = 2e-3};
  }
  if (expected.dtype == "bfloat16") {
    return {.relative = 3e-2, .absolute = 1e-2};
  }
  return expected.is_float() ? Tolerance{.relative = 2e-5, .absolute = 2e-6} : Tolerance{0.0, 0.0};
}

bool close(double got, double expected, const Tolerance& tolerance) {
  if (std::isnan(expected) || std::isinf(expected)) {
    return std::isnan(expected) ? std::isnan(got) : got == expected;
  }
  // Written so that a NaN is not close.
  return std::abs(got - expected) <= tolerance.absolute + tolerance.relative * std::abs(expected);
}

std::vector<double> elements(const Tensor& tensor) {
  std::vector<double> result(static_cast<size_t>(tensor.size()));
  if (tensor.dtype() == DType::i32) {
    std::copy_n(tensor.data<int32_t>(), result.size(), result.begin());
  } else {
    check(tensor.dtype() == DType::f32, "an output is {}", describe(tensor));
    std::copy_n(tensor.data<float>(), result.size(), result.begin());
  }
  return result;
}

std::string shape_text(const std::vector<int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ","));
}

const Value& expected_value(const Case& c, const std::string& name) {
  for (const Value& value : c.outputs) {
    if (value.name == name) {
      return value;
    }
  }
  fail("output {} has no value", name);
}

void check_output(const Output& output, const Value& expected) {
  check(output.tensor.defined(), "output {} was not computed", expected.name);
  check(output.shape == expected.shape, "output {} is {}, expected {}", expected.name,
        shape_text(output.shape), shape_text(expected.shape));
  const std::vector<double> got = elements(output.tensor);
  check(got.size() == expected.data.size(), "output {} has {} elements, expected {}", expected.name,
        got.size(), expected.data.size());
  const Tolerance tolerance = tolerance_of(expected);
  size_t wrong = 0;
  size_t first = 0;
  for (size_t i = got.size(); i-- > 0;) {
    if (!close(got[i], expected.data[i], tolerance)) {
      ++wrong;
      first = i;
    }
  }
  check(wrong == 0, "output {} differs in {} of {} elements, first at {}: {}, expected {}",
        expected.name, wrong, got.size(), first, got[first], expected.data[first]);
}

}  // namespace

void check_outputs(const Case& c, const Outputs& outputs) {
  for (size_t i = 0; i < c.output_names.size(); ++i) {
    if (c.wants_output(i)) {
      check(i < outputs.size(), "output {} was not computed", c.output_names[i]);
      check_output(outputs[i], expected_value(c, c.output_names[i]));
    }
  }
}

}  // namespace heed::onnx_cases
