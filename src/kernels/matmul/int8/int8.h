// Matrices of 8-bit integers for inference: w = scale * q, q from -127 to 127, with a scale for
// every block of 64 along a row. Scales are bf16 numbers, so that 127 times one is exact and
// quantising again what was quantised gives the same integers and scales.
//
// A product quantises the rows of its left operand in blocks too, sums each block's integers
// exactly, and adds the scaled blocks in f32 in the order of k: a row gives the same bits alone, in
// any batch and on any number of threads.
//
// Packed, a matrix is one piece of memory: tiles of 16 rows and 64 columns, stored as 16 quads of
// columns with 4 bytes (q + 128) for each of the 16 rows, tiles of the same rows side by side; then
// the scales, 16 to a tile. Edges are padded with zeros.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/copy.h"

namespace heed::kernels {

inline constexpr int64_t kInt8Block = 64;
inline constexpr int64_t kInt8Rows = 16;
inline constexpr int64_t kInt8Tile = kInt8Block * kInt8Rows;

inline constexpr int64_t int8_blocks(int64_t columns) {
  return (columns + kInt8Block - 1) / kInt8Block;
}

// A packed matrix [rows, columns].
struct Int8Matrix {
  int64_t rows, columns;
  const uint8_t* tiles;
  const bf16* scales;

  Int8Matrix(const void* packed, int64_t rows, int64_t columns);
  int64_t blocks() const { return int8_blocks(columns); }
  int64_t groups() const { return (rows + kInt8Rows - 1) / kInt8Rows; }
  static size_t bytes(int64_t rows, int64_t columns);  // of the packed form
};

// Row by row, as files have it: integers [rows, columns], scales [rows, int8_blocks(columns)].
struct Int8Values {
  int64_t rows, columns;
  int8_t* values;
  bf16* scales;
};
// x is finite.
void int8_quantize(const float* x, const Int8Values& to);
void int8_dequantize(const Int8Values& from, float* x);
// Quantises x [rows, columns] into the packed form.
void int8_pack(const float* x, int64_t rows, int64_t columns, void* packed);
// One row of a packed matrix, times `scale`.
void int8_row(const Int8Matrix& matrix, int64_t row, float scale, float* out);

// y[m, n] = sum over k of x[m, k] w[n, k] + bias[n]. A block of x that is not finite makes its row
// of y NaN.
struct Int8Product {
  int64_t m;
  In x;  // [m, w.columns], f32 or bf16
  Int8Matrix w;
  Out y;  // [m, w.rows], f32 or bf16
  int64_t ldx, ldy;
  const float* bias = nullptr;
};
void int8_product(const Int8Product& args);

}  // namespace heed::kernels
