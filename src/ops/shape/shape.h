// Ops that move elements: no arithmetic forward, sums of gradients backward. They take any dtype;
// gradients flow through f32 and bf16. Negative axes count from the end.
#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include "tensor/tensor.h"

namespace heed {

// Rows [begin, end) of an axis; negative bounds count from the end. A view where the rows are
// contiguous (the leading axis), else a copy.
Tensor slice(const Tensor& x, int axis, int64_t begin, int64_t end);

// Pieces of the given sizes, which add up to the axis; views where slice gives views.
std::vector<Tensor> split(const Tensor& x, int axis, std::span<const int64_t> sizes);
std::vector<Tensor> split(const Tensor& x, int axis, std::initializer_list<int64_t> sizes);

// Tensors that are equal but along the axis, one after the other.
Tensor concat(std::span<const Tensor> tensors, int axis);
Tensor concat(std::initializer_list<Tensor> tensors, int axis);

struct PadOptions {
  int64_t before = 0;
  int64_t after = 0;
  float value = 0.0F;
};
Tensor pad(const Tensor& x, int axis, const PadOptions& options);

// Axis i of the result is axis axes[i] of x.
Tensor permute(const Tensor& x, std::span<const int> axes);
Tensor permute(const Tensor& x, std::initializer_list<int> axes);
// Two axes change places.
Tensor transpose(const Tensor& x, int axis_a, int axis_b);

// The same elements under another shape, sharing the gradient; one extent may be -1.
Tensor reshape(const Tensor& x, std::span<const int64_t> extents);
Tensor reshape(const Tensor& x, std::initializer_list<int64_t> extents);

// Repeats axes of extent 1, and adds leading axes, until x has the shape.
Tensor expand(const Tensor& x, const Shape& shape);
// Each row of the axis `count` times in a row: [a, b] -> [a, a, b, b].
Tensor repeat(const Tensor& x, int axis, int64_t count);

}  // namespace heed
