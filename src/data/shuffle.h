// Shuffling as a function of a random stream alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/random.h"

namespace heed {

// Fisher-Yates.
template <typename T>
void shuffle(std::vector<T>& items, const RandomStream& random) {
  for (size_t i = items.size(); i-- > 1;) {
    const uint64_t below = i + 1;  // 32 random bits times it: a bias of less than 2^-32 times it
    std::swap(items[i], items[(random.bits(i) * below) >> 32]);
  }
}

}  // namespace heed
