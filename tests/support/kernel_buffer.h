// What tests of kernels share: arrays that start at odd addresses and notice writes outside of
// them, and loops over the instruction sets of this CPU.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <vector>

#include "base/random.h"
#include "kernels/copy.h"
#include "kernels/cpu.h"
#include "tensor/dtype.h"

namespace heed::testing {

// n elements that begin `offset` elements behind a 64-byte boundary, guarded on both sides. Under
// the address sanitizer the memory ends with the last element, so that reading on is noticed too.
class Buffer {
 public:
  explicit Buffer(int64_t n, DType dtype = DType::f32, int64_t offset = 1)
      : n_(n), dtype_(dtype), start_((kFront + static_cast<size_t>(offset)) * size_of(dtype)) {
    memory_.resize(64 + start_ + bytes() + kBack);
    std::memset(memory_.data(), kGuard, memory_.size());
    const auto address = reinterpret_cast<uintptr_t>(memory_.data());
    start_ += (64 - address % 64) % 64;
    memory_.resize(start_ + bytes() + kBack);
#ifdef __SANITIZE_ADDRESS__
    memory_.shrink_to_fit();
#endif
    std::memset(raw(), 0, bytes());
  }

  int64_t size() const { return n_; }
  DType dtype() const { return dtype_; }
  void* raw() { return memory_.data() + start_; }
  const void* raw() const { return memory_.data() + start_; }
  template <typename T>
  T* data() {
    EXPECT_EQ(dtype_of<T>, dtype_);
    return static_cast<T*>(raw());
  }
  kernels::In in() const { return {raw(), dtype_}; }
  kernels::Out out() { return {raw(), dtype_}; }

  void set(int64_t i, double value) {
    if (dtype_ == DType::f32) {
      static_cast<float*>(raw())[i] = static_cast<float>(value);
    } else if (dtype_ == DType::bf16) {
      static_cast<bf16*>(raw())[i] = bf16(static_cast<float>(value));
    } else {
      static_cast<int8_t*>(raw())[i] = static_cast<int8_t>(value);
    }
  }
  double get(int64_t i) const {
    if (dtype_ == DType::f32) {
      return static_cast<double>(static_cast<const float*>(raw())[i]);
    }
    if (dtype_ == DType::bf16) {
      return static_cast<double>(static_cast<float>(static_cast<const bf16*>(raw())[i]));
    }
    return static_cast<double>(static_cast<const int8_t*>(raw())[i]);
  }
  std::vector<double> values() const {
    std::vector<double> result;
    for (int64_t i = 0; i < n_; ++i) {
      result.push_back(get(i));
    }
    return result;
  }

  // Normal numbers times scale plus offset, rounded to the dtype.
  Buffer& fill(uint64_t seed, double scale = 1.0, double offset = 0.0) {
    const std::vector<float>& table = normals();
    for (int64_t i = 0; i < n_; ++i) {
      const size_t place = (seed * 977 + static_cast<uint64_t>(i)) % table.size();
      set(i, offset + scale * static_cast<double>(table[place]));
    }
    return *this;
  }

  bool guards_intact() const {
    const auto untouched = [](unsigned char byte) { return byte == kGuard; };
    return std::all_of(memory_.begin(), memory_.begin() + static_cast<ptrdiff_t>(start_),
                       untouched) &&
           std::all_of(memory_.begin() + static_cast<ptrdiff_t>(start_ + bytes()), memory_.end(),
                       untouched);
  }

 private:
  // Drawn once: a test fills many buffers, and drawing takes longer than most kernels.
  static const std::vector<float>& normals() {
    static const auto* table = [] {
      auto* drawn = new std::vector<float>;
      const RandomStream stream{4711, 5};
      for (uint64_t i = 0; i < 65521; ++i) {
        drawn->push_back(stream.normal(i));
      }
      return drawn;
    }();
    return *table;
  }

  static constexpr unsigned char kGuard = 0x42;
  static constexpr size_t kFront = 16;
#ifdef __SANITIZE_ADDRESS__
  static constexpr size_t kBack = 0;
#else
  static constexpr size_t kBack = 64;
#endif
  size_t bytes() const { return static_cast<size_t>(n_) * size_of(dtype_); }

  int64_t n_;
  DType dtype_;
  size_t start_;
  std::vector<unsigned char> memory_;
};

// What a result of f32 arithmetic may be off: some ulps of its size and, for bf16, one rounding.
struct Tolerance {
  double absolute = 1e-6;
  double relative = 2e-6;

  bool covers(double value, double expected, DType dtype) const {
    if (std::isnan(expected) || std::isinf(expected)) {
      return std::isnan(expected) ? std::isnan(value) : value == expected;
    }
    const double rounding = dtype == DType::bf16 ? 1.0 / 256 : 0.0;
    return std::abs(value - expected) <= absolute + (relative + rounding) * std::abs(expected);
  }
};

inline void expect_close(const Buffer& result, std::span<const double> expected,
                         Tolerance tolerance = {}) {
  ASSERT_EQ(static_cast<size_t>(result.size()), expected.size());
  EXPECT_TRUE(result.guards_intact()) << "wrote outside";
  for (int64_t i = 0; i < result.size(); ++i) {
    const double wanted = expected[static_cast<size_t>(i)];
    ASSERT_TRUE(tolerance.covers(result.get(i), wanted, result.dtype()))
        << "element " << i << " is " << result.get(i) << ", expected " << wanted;
  }
}

// Runs body once per instruction set this CPU has.
template <typename Body>
void for_each_isa(const Body& body) {
  const Isa before = max_isa();
  for (const Isa isa : usable_isas()) {
    SCOPED_TRACE(name_of(isa));
    set_max_isa(isa);
    body();
    if (::testing::Test::HasFatalFailure()) {
      break;
    }
  }
  set_max_isa(before);
}

inline constexpr DType kFloatTypes[] = {DType::f32, DType::bf16};
// Around the widths of vectors, of blocks, and enough for two threads.
inline constexpr int64_t kLengths[] = {0, 1, 3, 7, 8, 15, 17, 33, 100, 511, 513, 1030, 40001};

}  // namespace heed::testing
