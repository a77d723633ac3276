// Rotary positions (Su et al. 2021): pairs of a head's elements are rotated by angles that grow
// with the position.
#include "base/error.h"
#include "onnx_cases/operators.h"
#include "ops/pointwise.h"
#include "ops/shape/gather.h"
#include "ops/shape/shape.h"

namespace heed::onnx_cases {
namespace {

// The input as [B,T,H,D]: it comes as [B,H,T,D] or as [B,T,H*D].
Tensor heads_of(const Case& c) {
  const Tensor x = floats(c.input(0));
  if (x.rank() == 4) {
    return permute(x, {0, 2, 1, 3});
  }
  const int64_t heads = c.attribute<int64_t>("num_heads", 0);
  check(x.rank() == 3 && heads > 0 && x.dim(2) % heads == 0,
        "[{}] input is {} for {} heads, expected [B,H,T,D] or [B,T,H*D]", c.op, x.shape().str(),
        heads);
  return reshape(x, {x.dim(0), x.dim(1), heads, x.dim(2) / heads});
}

// Cosines or sines of each position, repeated over the heads: [B,T,H,R/2].
Tensor angles(const Case& c, size_t cache, const Shape& half) {
  Tensor table = floats(c.input(cache));  // [positions,R/2] or [B,T,R/2]
  if (const Value* positions = c.find_input(3)) {
    table = index_select(table, 0, ints(*positions));  // [B,T,R/2]
  }
  return expand(reshape(table, {half[0], half[1], 1, half[3]}), half);
}

Tensor rotate(const Case& c, const Tensor& x) {
  const bool interleaved = c.attribute<int64_t>("interleaved", 0) != 0;
  const Shape half{x.dim(0), x.dim(1), x.dim(2), x.dim(3) / 2};
  const int64_t pairs = half[3];
  // The two of a pair lie side by side, or half a head apart.
  const Shape paired = interleaved ? Shape{half[0], half[1], half[2], pairs, 2}
                                   : Shape{half[0], half[1], half[2], 2, pairs};
  const int axis = interleaved ? 4 : 3;
  const Tensor both = x.reshape(paired);
  const Tensor first = slice(both, axis, 0, 1).reshape(half);   // [B,T,H,R/2]
  const Tensor second = slice(both, axis, 1, 2).reshape(half);  // [B,T,H,R/2]
  const Tensor cosines = angles(c, 1, half);                    // [B,T,H,R/2]
  const Tensor sines = angles(c, 2, half);                      // [B,T,H,R/2]
  const Tensor real = sub(mul(first, cosines), mul(second, sines));
  const Tensor imaginary = add(mul(first, sines), mul(second, cosines));
  Shape one = paired;
  one.set(axis, 1);
  return concat({real.reshape(one), imaginary.reshape(one)}, axis).reshape(x.shape());
}

}  // namespace

Outputs rotary_case(const Case& c) {
  const Tensor x = heads_of(c);  // [B,T,H,D]
  const int64_t width = x.dim(3);
  const int64_t asked = c.attribute<int64_t>("rotary_embedding_dim", 0);
  const int64_t rotated = asked == 0 ? width : asked;
  check(rotated % 2 == 0 && rotated <= width,
        "[{}] rotary_embedding_dim is {}, expected even and at most {}", c.op, rotated, width);
  Tensor y = rotate(c, slice(x, 3, 0, rotated));
  if (rotated < width) {
    y = concat({y, slice(x, 3, rotated, width)}, 3);  // [B,T,H,D]
  }
  const Value& input = c.input(0);
  return {Output(input.rank() == 4 ? permute(y, {0, 2, 1, 3}) : y, input.shape)};
}

}  // namespace heed::onnx_cases
