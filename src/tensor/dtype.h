// Element types. bf16 is the upper half of an f32: same range, 8 bits of precision.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace heed {

struct bf16 {
  uint16_t bits;

  bf16() = default;
  // Round to nearest, ties to even; NaN stays NaN.
  explicit bf16(float value) {
    const uint32_t word = std::bit_cast<uint32_t>(value);
    bits = (word & 0x7FFFFFFFU) > 0x7F800000U
               ? static_cast<uint16_t>((word >> 16) | 0x40U)
               : static_cast<uint16_t>((word + 0x7FFFU + ((word >> 16) & 1U)) >> 16);
  }
  explicit operator float() const {
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  }
};
static_assert(sizeof(bf16) == 2);

enum class DType : uint8_t { f32, bf16, i32, i8 };

constexpr size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
    case DType::i32:
      return 4;
    case DType::bf16:
      return 2;
    case DType::i8:
      return 1;
  }
  return 0;
}

constexpr const char* name_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "f32";
    case DType::bf16:
      return "bf16";
    case DType::i32:
      return "i32";
    case DType::i8:
      return "int8";
  }
  return "?";
}

template <typename T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::f32;
};
template <>
struct DTypeOf<bf16> {
  static constexpr DType value = DType::bf16;
};
template <>
struct DTypeOf<int32_t> {
  static constexpr DType value = DType::i32;
};
template <>
struct DTypeOf<int8_t> {
  static constexpr DType value = DType::i8;
};
template <typename T>
inline constexpr DType dtype_of = DTypeOf<T>::value;

}  // namespace heed
