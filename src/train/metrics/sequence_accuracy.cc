#include "train/metrics/sequence_accuracy.h"

#include <algorithm>

namespace heed {

void SequenceAccuracy::add(std::span<const int32_t> said, std::span<const int32_t> expected) {
  for (size_t i = 0; i < std::min(said.size(), expected.size()); ++i) {
    right_symbols_ += said[i] == expected[i] ? 1 : 0;
  }
  symbols_ += std::ssize(expected);
  right_sequences_ += std::ranges::equal(said, expected) ? 1 : 0;
  ++sequences_;
}

}  // namespace heed
