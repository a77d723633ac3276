// Tensor: a cheap value handle on contiguous, row-major elements in the arena.
//
// Copying a handle shares the elements; the last handle gives them back. Views exist only as a
// reshape and as a slice of leading rows, so a kernel never sees a stride it did not ask for.
// Handles may be copied from any thread; access to the elements is not synchronised.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "tensor/arena.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace heed {

struct GradSlot;  // where the gradient of a tensor collects: autograd/tape.h
namespace kernels {
class FrozenWeight;  // packed forms of elements that do not change: kernels/matmul/frozen.h
}

class Tensor {
 public:
  Tensor() = default;
  Tensor(const Tensor& other);
  Tensor(Tensor&& other) noexcept;
  Tensor& operator=(Tensor other) noexcept;
  ~Tensor();

  // Elements are not set.
  static Tensor empty(const Shape& shape, DType dtype = DType::f32);
  static Tensor zeros(const Shape& shape, DType dtype = DType::f32);
  static Tensor full(const Shape& shape, float value, DType dtype = DType::f32);
  // Copies; f32 values are rounded when dtype is bf16.
  static Tensor from(std::span<const float> values, const Shape& shape, DType dtype = DType::f32);
  static Tensor from_ints(std::span<const int32_t> values, const Shape& shape);
  static Tensor from_bytes(std::span<const int8_t> values, const Shape& shape);

  bool defined() const { return block_ != nullptr; }
  const Shape& shape() const { return shape_; }
  int rank() const { return shape_.rank(); }
  int64_t dim(int axis) const { return shape_[axis]; }
  int64_t size() const { return shape_.size(); }
  size_t bytes() const { return static_cast<size_t>(size()) * size_of(dtype_); }
  DType dtype() const { return dtype_; }

  void* raw() const { return data_; }
  template <typename T>
  T* data() const {
    assert(dtype_ == dtype_of<T>);
    return static_cast<T*>(data_);
  }
  template <typename T>
  std::span<T> span() const {
    return {data<T>(), static_cast<size_t>(size())};
  }

  // The same elements under another shape of the same size; the gradient is shared too.
  Tensor reshape(const Shape& shape) const;
  // Leading rows [begin, end) as a view without gradient; `ops/shape/shape.h` has the
  // differentiable one.
  Tensor rows(int64_t begin, int64_t end) const;
  // Shape, dtype and gradient slot without the elements: for backward closures that contribute to
  // a gradient but need not keep the values alive.
  Tensor gradient_handle() const;
  // The same elements, cut off from the tape.
  Tensor detached() const;
  Tensor clone() const;                  // a copy without gradient
  Tensor to(DType dtype) const;          // converted copy without gradient; *this if equal
  std::vector<float> to_vector() const;  // f32, bf16 or i32 elements as floats
  float item() const;                    // the only element

  // True when no other handle shares the elements.
  bool unique() const { return block_->references.load(std::memory_order_acquire) == 1; }

  GradSlot* slot() const { return slot_; }
  void set_slot(GradSlot* slot) { slot_ = slot; }

  // Shared by all handles and views made from this one.
  kernels::FrozenWeight* frozen() const { return frozen_; }
  void set_frozen(kernels::FrozenWeight* frozen) { frozen_ = frozen; }

 private:
  Block* block_ = nullptr;
  void* data_ = nullptr;
  GradSlot* slot_ = nullptr;
  kernels::FrozenWeight* frozen_ = nullptr;
  Shape shape_;
  DType dtype_ = DType::f32;
};

// "bf16 [2,3]", for error texts.
std::string describe(const Tensor& tensor);

}  // namespace heed

// In messages: "bf16 [2,3]".
template <>
struct fmt::formatter<heed::Tensor> {
  constexpr auto parse(fmt::format_parse_context& context) const { return context.begin(); }
  template <typename Context>
  auto format(const heed::Tensor& tensor, Context& context) const {
    const std::string text = heed::describe(tensor);
    return std::copy(text.begin(), text.end(), context.out());
  }
};
