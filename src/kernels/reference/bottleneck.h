// The maths of kernels/bottleneck/, obvious and slow.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace heed::reference {

template <typename T>
T saturating_sigmoid(T v) {
  return std::max(T(0), std::min(T(1), T(1.2) / (T(1) + std::exp(-v)) - T(0.1)));
}

// x [rows, slices, width], codebook [slices, codes, width] -> [rows, slices]
template <typename T>
std::vector<int64_t> nearest_codes(std::span<const T> x, std::span<const T> codebook,
                                   int64_t slices, int64_t width) {
  const auto codes = static_cast<int64_t>(codebook.size()) / (slices * width);
  std::vector<int64_t> nearest;
  for (int64_t part = 0; part < static_cast<int64_t>(x.size()) / width; ++part) {
    std::vector<T> distances;
    for (int64_t code = 0; code < codes; ++code) {
      T distance = 0;
      for (int64_t i = 0; i < width; ++i) {
        const int64_t at = ((part % slices) * codes + code) * width + i;
        const T d = x[static_cast<size_t>(part * width + i)] - codebook[static_cast<size_t>(at)];
        distance += d * d;
      }
      distances.push_back(distance);
    }
    nearest.push_back(std::min_element(distances.begin(), distances.end()) - distances.begin());
  }
  return nearest;
}

}  // namespace heed::reference
