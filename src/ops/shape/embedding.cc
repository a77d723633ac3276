#include "ops/shape/embedding.h"

#include <vector>

#include "autograd/tape.h"
#include "kernels/indexing/embedding.h"
#include "ops/check.h"

namespace heed {
namespace {

const OpName kEmbedding{"embedding"};

}  // namespace

Tensor embedding(const Tensor& indices, const Tensor& table, float scale) {
  check_dtype("embedding", "indices", indices, DType::i32);
  const bool packed = table.dtype() == DType::i8;  // see kernels/matmul/int8/int8.h
  if (!packed) {
    check_float("embedding", "table", table);
  }
  check(table.rank() == 2, "[embedding] table is {}, expected [V,C]", table.shape());
  check(indices.rank() < Shape::kMaxRank, "[embedding] indices is {}, expected rank below {}",
        indices.shape(), Shape::kMaxRank);
  const int32_t* index = indices.data<int32_t>();
  for (int64_t i = 0; i < indices.size(); ++i) {
    check(index[i] >= 0 && index[i] < table.dim(0),
          "[embedding] index {} at position {}, expected 0 to {}", index[i], i, table.dim(0) - 1);
  }
  int64_t extents[Shape::kMaxRank];
  const int rank = indices.rank();
  for (int axis = 0; axis < rank; ++axis) {
    extents[axis] = indices.dim(axis);
  }
  extents[rank] = table.dim(1);
  Tensor y = Tensor::empty(Shape(std::span<const int64_t>(extents, size_t(rank) + 1)),
                           packed ? DType::bf16 : table.dtype());  // [..., C]
  kernels::embedding({.count = indices.size(),
                      .rows = table.dim(0),
                      .width = table.dim(1),
                      .indices = index,
                      .table = {table.raw(), table.dtype()},
                      .y = {y.raw(), y.dtype()},
                      .scale = scale});
  if (Tape* tape = Tape::recording({&table})) {
    // d_table[v] = scale * sum of dy over the places where v was picked
    tape->record(kEmbedding, y, [=, table = table.gradient_handle()](const Tensor& dy) {
      const GradTarget target = grad_target(table);
      kernels::embedding_backward({.count = indices.size(),
                                   .rows = table.dim(0),
                                   .width = table.dim(1),
                                   .indices = indices.data<int32_t>(),
                                   .dy = {dy.raw(), dy.dtype()},
                                   .d_table = {target.grad.raw(), target.grad.dtype()},
                                   .scale = scale,
                                   .accumulate = target.accumulate});
    });
  }
  return y;
}

}  // namespace heed
