// What a matrix that no longer changes keeps for the products it takes part in: its packed forms,
// made when a product first asks for them. The owner of the matrix owns this too and hands it to
// products with the elements (In::frozen, which tensors carry along). Thread safe.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <tuple>

#include "kernels/copy.h"
#include "tensor/tensor.h"

namespace heed::kernels {

class FrozenWeight {
 public:
  // With `by_rows`, products give each row the same bits whatever the other rows are.
  explicit FrozenWeight(bool by_rows = false) : by_rows_(by_rows) {}

  bool by_rows() const { return by_rows_; }

  // A right operand [k, n] inside the matrix, or [n, k] if transposed, with rows ld apart.
  struct Operand {
    const bf16* data;
    int64_t k, n, ld;
    bool transposed;
    auto operator<=>(const Operand&) const = default;
  };
  // Its panels (panels.h).
  const bf16* panels(const Operand& operand);

  // Dense rows of the matrix, [rows, columns], f32 or bf16, as packed integers (int8/int8.h).
  const void* int8(In matrix, int64_t rows, int64_t columns);

 private:
  const bool by_rows_;
  std::mutex mutex_;
  std::map<Operand, Tensor> packed_;
  std::map<std::tuple<const void*, int64_t, int64_t>, Tensor> int8_;  // by the arguments
};

}  // namespace heed::kernels
