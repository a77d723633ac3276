// How many sequences, and how many of their symbols, are right.
#pragma once

#include <cstdint>
#include <span>

namespace heed {

// A symbol is right if what was said has the same symbol at the same place: what is missing at the
// end is wrong, and what is said beyond the end does not count. A sequence is right if all of it is
// equal, its length included. Shares of nothing are 0.
class SequenceAccuracy {
 public:
  void add(std::span<const int32_t> said, std::span<const int32_t> expected);

  double symbols() const { return share(right_symbols_, symbols_); }        // of those expected
  double sequences() const { return share(right_sequences_, sequences_); }  // of those added

 private:
  static double share(int64_t right, int64_t all) {
    return all > 0 ? static_cast<double>(right) / static_cast<double>(all) : 0.0;
  }

  int64_t symbols_ = 0;
  int64_t right_symbols_ = 0;
  int64_t sequences_ = 0;
  int64_t right_sequences_ = 0;
};

}  // namespace heed
