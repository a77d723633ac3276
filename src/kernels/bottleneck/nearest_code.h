// Which vector of a codebook is nearest to each row: the assignment of vector quantisation.
//
// A row consists of slices, each with a codebook of its own; with one slice this is plain vector
// quantisation. Distances are squared, Euclidean, summed in f32 in an order that does not depend on
// the other rows. Of codes at the same distance the first is taken; a row with NaN gets code 0.
#pragma once

#include <cstdint>

#include "kernels/copy.h"

namespace heed::kernels {

struct NearestCode {
  int64_t rows;
  int64_t slices;
  int64_t codes;          // of each slice's codebook
  int64_t width;          // of a code
  In x;                   // [rows, slices, width]
  const float* codebook;  // [slices, codes, width]
  int32_t* nearest;       // [rows, slices]
};
void nearest_code(const NearestCode& args);

}  // namespace heed::kernels
