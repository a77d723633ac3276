// The extents of a tensor, kept inline: copying a shape never allocates.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace heed {

class Shape {
 public:
  static constexpr int kMaxRank = 6;

  Shape() = default;
  Shape(std::initializer_list<int64_t> extents)
      : Shape(std::span<const int64_t>(extents.begin(), extents.size())) {}
  explicit Shape(std::span<const int64_t> extents);  // throws on rank or negative extent

  int rank() const { return rank_; }
  int64_t size() const;                      // product of the extents; 1 for a scalar
  int64_t operator[](int axis) const;        // negative axes count from the end
  int axis(int axis, const char* op) const;  // normalised to [0, rank), or throws naming `op`
  void set(int axis, int64_t extent) { extents_[static_cast<size_t>(axis)] = extent; }
  std::span<const int64_t> extents() const { return {extents_.data(), size_t(rank_)}; }
  // Product of extents [from, to).
  int64_t product(int from, int to) const;

  bool operator==(const Shape& other) const = default;
  std::string str() const;  // "[2,3]"

 private:
  std::array<int64_t, kMaxRank> extents_{};
  int rank_ = 0;
};

}  // namespace heed

// In messages: "[2,3]". Formatted only when the message is needed.
template <>
struct fmt::formatter<heed::Shape> {
  constexpr auto parse(fmt::format_parse_context& context) const { return context.begin(); }
  template <typename Context>
  auto format(const heed::Shape& shape, Context& context) const {
    const std::string text = shape.str();
    return std::copy(text.begin(), text.end(), context.out());
  }
};
