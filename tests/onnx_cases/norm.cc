// Normalisation over the axes from one on.
#include "ops/norm.h"

#include "onnx_cases/operators.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "ops/shape/shape.h"

namespace heed::onnx_cases {
namespace {

struct Rows {
  Tensor x;                            // [rows, width]: the normalised axes are one
  Shape normal;                        // the normalised axes
  std::vector<int64_t> shape;          // of the input
  std::vector<int64_t> reduced_shape;  // the same with extents of 1 for them
};

Rows rows_of(const Case& c) {
  const Value& value = c.input(0);
  const int axis = normal_axis(c.attribute<int64_t>("axis", -1), value.rank());
  const int64_t rows = product(value.shape, 0, axis);
  const int64_t width = product(value.shape, axis, value.rank());
  Rows result{.x = floats(value, {rows, width}),
              .normal = Shape(std::span(value.shape).subspan(static_cast<size_t>(axis))),
              .shape = value.shape,
              .reduced_shape = value.shape};
  std::fill(result.reduced_shape.begin() + axis, result.reduced_shape.end(), 1);
  return result;
}

// A gain or bias may have fewer axes than are normalised; it repeats.
Tensor gain(const Value* value, const Rows& rows) {
  return value == nullptr ? Tensor() : expand(floats(*value), rows.normal).reshape({rows.x.dim(1)});
}

constexpr float kEpsilon = 1e-5F;

}  // namespace

Outputs layer_norm_case(const Case& c) {
  const Rows rows = rows_of(c);
  const float epsilon = c.attribute<float>("epsilon", kEpsilon);
  const Tensor gamma = gain(&c.input(1), rows);
  const Tensor y = layer_norm(rows.x, gamma, gain(c.find_input(2), rows), epsilon);
  Outputs outputs;
  outputs.emplace_back(y, rows.shape);
  if (c.wants_output(1) || c.wants_output(2)) {
    const Tensor average = mean(rows.x, 1, true);                         // [rows,1]
    const Tensor centred = sub(rows.x, expand(average, rows.x.shape()));  // [rows,width]
    const Tensor variance = mean(square(centred), 1, true);               // [rows,1]
    outputs.emplace_back(average, rows.reduced_shape);
    outputs.emplace_back(rsqrt(add_scalar(variance, epsilon)), rows.reduced_shape);
  }
  return outputs;
}

Outputs rms_norm_case(const Case& c) {
  const Rows rows = rows_of(c);
  const float epsilon = c.attribute<float>("epsilon", kEpsilon);
  return {Output(rms_norm(rows.x, gain(&c.input(1), rows), epsilon), rows.shape)};
}

}  // namespace heed::onnx_cases
