// The sum of every column of a matrix: the gradient of a bias.
#pragma once

#include <cstdint>

#include "kernels/copy.h"

namespace heed::kernels {

struct ColumnSum {
  int64_t rows;
  int64_t columns;
  In x;
  Out out;  // [columns]
  bool accumulate = false;
};
// out[c] (+)= sum over r of x[r, c], in the order of the rows: the same for any number of threads.
void column_sum(const ColumnSum& args);

}  // namespace heed::kernels
