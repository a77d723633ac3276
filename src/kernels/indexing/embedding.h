// Rows of a table picked by index, and the gradient that adds them back.
#pragma once

#include <cstdint>

#include "kernels/copy.h"

namespace heed::kernels {

struct Embedding {
  int64_t count;  // indices
  int64_t rows;   // of the table
  int64_t width;
  const int32_t* indices;
  In table;  // or packed i8 (kernels/int8.h)
  Out y;     // [count, width]
  float scale = 1.0F;
};
void embedding(const Embedding& args);

struct EmbeddingBackward {
  int64_t count;
  int64_t rows;
  int64_t width;
  const int32_t* indices;
  In dy;
  Out d_table;
  float scale = 1.0F;
  bool accumulate = false;
};
// Each column adds its rows in the order of the indices, whatever the number of threads.
void embedding_backward(const EmbeddingBackward& args);

}  // namespace heed::kernels
