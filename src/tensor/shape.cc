#include "tensor/shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"

namespace heed {
namespace {

constexpr int64_t kMaxElements = int64_t{1} << 56;  // their bytes still fit

}  // namespace

Shape::Shape(std::span<const int64_t> extents) : rank_(static_cast<int>(extents.size())) {
  check(extents.size() <= kMaxRank, "[shape] rank is {}, expected at most {}", extents.size(),
        kMaxRank);
  for (size_t i = 0; i < extents.size(); ++i) {
    check(extents[i] >= 0, "[shape] extent {} is {}, expected 0 or more", i, extents[i]);
    extents_[i] = extents[i];
  }
  int64_t elements = 1;
  for (const int64_t extent : extents) {
    check(!__builtin_mul_overflow(elements, std::max<int64_t>(extent, 1), &elements) &&
              elements <= kMaxElements,
          "[shape] {} has more elements than any memory", *this);
  }
}

int64_t Shape::size() const { return product(0, rank_); }

int64_t Shape::operator[](int axis) const {
  return extents_[static_cast<size_t>(this->axis(axis, "shape"))];
}

int Shape::axis(int axis, const char* op) const {
  const int normalised = axis < 0 ? axis + rank_ : axis;
  check(normalised >= 0 && normalised < rank_, "[{}] axis is {}, expected {} to {} for {}", op,
        axis, -rank_, rank_ - 1, *this);
  return normalised;
}

int64_t Shape::product(int from, int to) const {
  int64_t result = 1;
  for (int i = from; i < to; ++i) {
    result *= extents_[static_cast<size_t>(i)];
  }
  return result;
}

std::string Shape::str() const { return fmt::format("[{}]", fmt::join(extents(), ",")); }

}  // namespace heed
