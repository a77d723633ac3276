// What the ops of bottlenecks share: shapes, and which rows training makes discrete.
#pragma once

#include <cstdint>
#include <vector>

#include "autograd/tape.h"
#include "tensor/shape.h"

namespace heed {

// The shape with another last extent.
inline Shape with_last(Shape shape, int64_t last) {
  shape.set(shape.rank() - 1, last);
  return shape;
}

// 1 for about `share` of the rows, chosen by a stream of random numbers of their own.
inline std::vector<int8_t> random_rows(Tape& tape, int64_t rows, float share) {
  const RandomStream stream = tape.draw();
  std::vector<int8_t> chosen(static_cast<size_t>(rows));
  for (size_t row = 0; row < chosen.size(); ++row) {
    chosen[row] = stream.uniform(row) < share ? 1 : 0;
  }
  return chosen;
}

}  // namespace heed
