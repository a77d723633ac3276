#include "tensor/tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/interrupt.h"

namespace heed {

Tensor::Tensor(const Tensor& other)
    : block_(other.block_),
      data_(other.data_),
      slot_(other.slot_),
      frozen_(other.frozen_),
      shape_(other.shape_),
      dtype_(other.dtype_) {
  if (block_ != nullptr) {
    block_->references.fetch_add(1, std::memory_order_relaxed);
  }
}

Tensor::Tensor(Tensor&& other) noexcept
    : block_(std::exchange(other.block_, nullptr)),
      data_(std::exchange(other.data_, nullptr)),
      slot_(std::exchange(other.slot_, nullptr)),
      frozen_(std::exchange(other.frozen_, nullptr)),
      shape_(other.shape_),
      dtype_(other.dtype_) {}

Tensor& Tensor::operator=(Tensor other) noexcept {
  std::swap(block_, other.block_);
  std::swap(data_, other.data_);
  std::swap(slot_, other.slot_);
  std::swap(frozen_, other.frozen_);
  std::swap(shape_, other.shape_);
  std::swap(dtype_, other.dtype_);
  return *this;
}

Tensor::~Tensor() {
  if (block_ != nullptr) {
    block_->arena->release(block_);
  }
}

Tensor Tensor::empty(const Shape& shape, DType dtype) {
  interrupt_point();  // every op makes a tensor
  Tensor result;
  result.block_ = Arena::global().allocate(static_cast<size_t>(shape.size()) * size_of(dtype));
  result.data_ = result.block_->data();
  result.shape_ = shape;
  result.dtype_ = dtype;
  return result;
}

Tensor Tensor::zeros(const Shape& shape, DType dtype) {
  Tensor result = empty(shape, dtype);
  std::memset(result.raw(), 0, result.bytes());
  return result;
}

Tensor Tensor::full(const Shape& shape, float value, DType dtype) {
  Tensor result = empty(shape, dtype);
  if (dtype == DType::f32) {
    std::fill_n(result.data<float>(), result.size(), value);
  } else {
    check(dtype == DType::bf16, "[full] dtype is {}, expected f32 or bf16", name_of(dtype));
    std::fill_n(result.data<bf16>(), result.size(), bf16(value));
  }
  return result;
}

namespace {

template <typename T>
Tensor copy_of(std::span<const T> values, const Shape& shape) {
  check(static_cast<int64_t>(values.size()) == shape.size(),
        "[tensor] {} values given, expected {} for {}", values.size(), shape.size(), shape);
  Tensor result = Tensor::empty(shape, dtype_of<T>);
  std::copy(values.begin(), values.end(), result.data<T>());
  return result;
}

}  // namespace

Tensor Tensor::from(std::span<const float> values, const Shape& shape, DType dtype) {
  return copy_of(values, shape).to(dtype);
}

Tensor Tensor::from_ints(std::span<const int32_t> values, const Shape& shape) {
  return copy_of(values, shape);
}

Tensor Tensor::from_bytes(std::span<const int8_t> values, const Shape& shape) {
  return copy_of(values, shape);
}

Tensor Tensor::reshape(const Shape& shape) const {
  check(shape.size() == size(), "[reshape] {} has {} elements, {} has {}", shape_, size(), shape,
        shape.size());
  Tensor result = *this;
  result.shape_ = shape;
  return result;
}

Tensor Tensor::rows(int64_t begin, int64_t end) const {
  check(rank() >= 1, "[rows] tensor is a scalar, expected rank 1 or more");
  check(0 <= begin && begin <= end && end <= dim(0), "[rows] rows {} to {} of {}", begin, end,
        shape_);
  Tensor result = detached();
  const int64_t row = shape_.product(1, rank());
  result.data_ =
      static_cast<std::byte*>(data_) + static_cast<size_t>(begin * row) * size_of(dtype_);
  result.shape_.set(0, end - begin);
  return result;
}

Tensor Tensor::detached() const {
  Tensor result = *this;
  result.slot_ = nullptr;
  return result;
}

Tensor Tensor::gradient_handle() const {
  Tensor result;
  result.slot_ = slot_;
  result.shape_ = shape_;
  result.dtype_ = dtype_;
  return result;
}

Tensor Tensor::clone() const {
  Tensor result = empty(shape_, dtype_);
  std::memcpy(result.raw(), raw(), bytes());
  return result;
}

Tensor Tensor::to(DType dtype) const {
  if (dtype == dtype_) {
    return *this;
  }
  Tensor result = empty(shape_, dtype);
  if (dtype_ == DType::f32 && dtype == DType::bf16) {
    std::transform(data<float>(), data<float>() + size(), result.data<bf16>(),
                   [](float v) { return bf16(v); });
  } else if (dtype_ == DType::bf16 && dtype == DType::f32) {
    std::transform(data<bf16>(), data<bf16>() + size(), result.data<float>(),
                   [](bf16 v) { return static_cast<float>(v); });
  } else {
    fail("[to] cannot convert {} to {}", name_of(dtype_), name_of(dtype));
  }
  return result;
}

std::vector<float> Tensor::to_vector() const {
  std::vector<float> result(static_cast<size_t>(size()));
  if (dtype_ == DType::i32) {
    std::copy_n(data<int32_t>(), size(), result.begin());
  } else if (dtype_ == DType::i8) {
    std::copy_n(data<int8_t>(), size(), result.begin());
  } else {
    const Tensor floats = to(DType::f32);
    std::copy_n(floats.data<float>(), size(), result.begin());
  }
  return result;
}

float Tensor::item() const {
  check(size() == 1, "[item] tensor is {}, expected one element", shape_);
  return to_vector()[0];
}

std::string describe(const Tensor& tensor) {
  return tensor.defined() ? fmt::format("{} {}", name_of(tensor.dtype()), tensor.shape().str())
                          : std::string("an undefined tensor");
}

}  // namespace heed
