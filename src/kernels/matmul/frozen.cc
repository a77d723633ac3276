#include "kernels/matmul/frozen.h"

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

}  // namespace heed::kernels
