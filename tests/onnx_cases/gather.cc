// Picking by index.
#include "ops/shape/gather.h"

#include "base/error.h"
#include "onnx_cases/operators.h"

namespace heed::onnx_cases {
namespace {

int axis_of(const Case& c, int64_t otherwise) {
  return static_cast<int>(c.attribute<int64_t>("axis", otherwise));
}

}  // namespace

Outputs gather_case(const Case& c) {
  return {index_select(floats_or_ints(c.input(0)), axis_of(c, 0), ints(c.input(1)))};
}

Outputs gather_elements_case(const Case& c) {
  return {gather_elements(floats_or_ints(c.input(0)), axis_of(c, 0), ints(c.input(1)))};
}

Outputs gather_nd_case(const Case& c) {
  const auto batch_dims = static_cast<int>(c.attribute<int64_t>("batch_dims", 0));
  return {gather_nd(floats_or_ints(c.input(0)), ints(c.input(1)), batch_dims)};
}

Outputs top_k_case(const Case& c) {
  const Value& count = c.input(1);
  check(count.data.size() == 1, "[{}] k has {} elements, expected one", c.op, count.data.size());
  const TopK best = top_k(floats_or_ints(c.input(0)), static_cast<int64_t>(count.data[0]),
                          {.axis = axis_of(c, -1),
                           .largest = c.attribute<int64_t>("largest", 1) != 0,
                           .sorted = c.attribute<int64_t>("sorted", 1) != 0});
  return {best.values, best.indices};
}

}  // namespace heed::onnx_cases
