// How a case describes the inputs of an op, and how they are drawn. The op cases of the tests
// (tests/support/op_case.h) and the sized cases that `heed bench ops` measures share it.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "tensor/tensor.h"

namespace heed::cases {

enum class Kind {
  activation,  // f32 or bf16, as the case runs
  parameter,   // f32 always: biases, gains
  integer,     // i32, no gradient
  byte,        // i8, no gradient: masks
};

struct Input {
  Shape shape;
  Kind kind = Kind::activation;
  double scale = 1.0;   // normal numbers times scale plus offset; for integers: uniform in
  double offset = 0.0;  // [offset, offset + scale)
  bool gradient = true;
  std::vector<double> values = {};  // given values instead of drawn ones

  bool wants_gradient() const { return gradient && kind <= Kind::parameter; }
};

using Run = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

// Values are exactly representable in dtype, and depend on the name alone. Beyond 65,536 elements
// they repeat.
std::vector<Tensor> draw_inputs(std::string_view name, const std::vector<Input>& inputs,
                                DType dtype);

}  // namespace heed::cases
