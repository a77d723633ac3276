#include "kernels/matmul/frozen.h"

#include "kernels/matmul/int8/int8.h"
#include "kernels/matmul/panels.h"

namespace heed::kernels {

const bf16* FrozenWeight::panels(const Operand& operand) {
  const std::lock_guard lock(mutex_);
  Tensor& packed = packed_[operand];
  if (!packed.defined()) {
    const auto size = static_cast<int64_t>(panels::packed_size(operand.k, operand.n));
    packed = Tensor::empty({size}, DType::bf16);
    (operand.transposed ? panels::pack_b_transposed : panels::pack_b)(
        operand.data, operand.ld, operand.k, operand.n, packed.data<bf16>());
  }
  return packed.data<bf16>();
}

const void* FrozenWeight::int8(In matrix, int64_t rows, int64_t columns) {
  const std::lock_guard lock(mutex_);
  Tensor& packed = int8_[{matrix.data, rows, columns}];
  if (!packed.defined()) {
    const Tensor wide = Tensor::empty({rows, columns});
    copy({.n = wide.size(), .from = matrix, .to = {wide.raw(), DType::f32}});
    const auto bytes = static_cast<int64_t>(Int8Matrix::bytes(rows, columns));
    packed = Tensor::empty({bytes}, DType::i8);
    int8_pack(wide.data<float>(), rows, columns, packed.raw());
  }
  return packed.raw();
}

}  // namespace heed::kernels
