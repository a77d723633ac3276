// Products of matrices.
#include <algorithm>

#include "base/error.h"
#include "onnx_cases/operators.h"
#include "ops/linear.h"
#include "ops/pointwise.h"
#include "ops/shape/shape.h"

namespace heed::onnx_cases {
namespace {

// The matrices of x, repeated over the leading axes.
Tensor with_leading(const Tensor& x, const std::vector<int64_t>& leading) {
  std::vector<int64_t> extents = leading;
  extents.push_back(x.dim(-2));
  extents.push_back(x.dim(-1));
  return expand(x, Shape(extents));
}

// As numpy broadcasts: aligned at the end, extents of 1 repeat.
std::vector<int64_t> broadcast_leading(const Tensor& a, const Tensor& b) {
  const int rank = std::max(a.rank(), b.rank());
  std::vector<int64_t> leading;
  for (int axis = -rank; axis < -2; ++axis) {
    const int64_t extent_a = -axis <= a.rank() ? a.dim(axis) : 1;
    const int64_t extent_b = -axis <= b.rank() ? b.dim(axis) : 1;
    leading.push_back(extent_a == 1 ? extent_b : extent_a);
  }
  return leading;
}

}  // namespace

// alpha A B + beta C, where A or B may be transposed and C broadcasts.
Outputs gemm_case(const Case& c) {
  Tensor y = matmul(floats(c.input(0)), floats(c.input(1)),
                    {.transpose_a = c.attribute<int64_t>("transA", 0) != 0,
                     .transpose_b = c.attribute<int64_t>("transB", 0) != 0});  // [M,N]
  y = scale(y, c.attribute<float>("alpha", 1.0F));
  if (const Value* value = c.find_input(2)) {
    const Tensor bias = scale(floats(*value), c.attribute<float>("beta", 1.0F));
    y = add(y, expand(bias, y.shape()));  // [M,N]
  }
  return {y};
}

// A vector in front is a row, one behind a column; the axis added for it is dropped again.
Outputs matmul_case(const Case& c) {
  Tensor a = floats(c.input(0));
  Tensor b = floats(c.input(1));
  check(a.rank() >= 1 && b.rank() >= 1, "[{}] a is {}, b is {}: expected one axis or more", c.op,
        a.shape().str(), b.shape().str());
  const bool row = a.rank() == 1;
  const bool column = b.rank() == 1;
  a = row ? reshape(a, {1, a.dim(0)}) : a;
  b = column ? reshape(b, {b.dim(0), 1}) : b;
  const std::vector<int64_t> leading = broadcast_leading(a, b);
  a = with_leading(a, leading);
  b = b.rank() == 2 ? b : with_leading(b, leading);
  const Tensor y = matmul(a, b);  // [..., M, N]
  std::vector<int64_t> shape = leading;
  if (!row) {
    shape.push_back(y.dim(-2));
  }
  if (!column) {
    shape.push_back(y.dim(-1));
  }
  return {Output(y, shape)};
}

}  // namespace heed::onnx_cases
