// What a causal convolution needs to go on with a sequence: the last positions of each row, in
// front of it.
//
// A value that belongs to one cache; rows are independent of each other.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tensor/tensor.h"

namespace heed {

class LastPositions {
 public:
  // x [R,T,C] behind the last `count` positions of its rows, [R,count+T,C], which it moves on; a
  // row begins with zeros. came[r] of the T belong to row r, the rest is padding; empty: all do.
  Tensor before(const Tensor& x, int64_t count, std::span<const int64_t> came);

  // As a MixerCache has them. Only what came last can be taken back.
  void select(std::span<const int64_t> rows);
  void join(const LastPositions& more);
  void roll_back(std::span<const int64_t> dropped);
  size_t bytes() const { return last_.defined() ? last_.bytes() : 0; }

 private:
  // Remembers the last positions of each row's window when so many of those that came count.
  void keep(std::span<const int64_t> counts);

  Tensor last_;                // [R, count * C]
  Tensor window_;              // what before() gave last, [R,count+T,C]
  std::vector<int64_t> came_;  // how many of the T belong to each row
};

}  // namespace heed
