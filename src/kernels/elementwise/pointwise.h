// The functions of functions.h over arrays, their derivatives, and selection by a mask.
#pragma once

#include <cstdint>

#include "kernels/copy.h"
#include "kernels/elementwise/functions.h"

namespace heed::kernels {

// Element i of a repeated operand is data[i % period]: a period of 1 is a scalar, the width of the
// last axes a vector or matrix that all leading rows share.
struct Operand {
  In in;
  int64_t period;
};

struct MapUnary {
  int64_t n;
  Unary function;
  In x;
  Out y;  // the dtype of x; may be x itself
};
void unary(const MapUnary& args);

struct UnaryBackward {
  int64_t n;
  Unary function;
  In saved;  // x or f(x), as the function's row says; not read where it says nothing
  In dy;
  Out dx;  // may be dy
  float scale = 1.0F;
  bool accumulate = false;
};
// dx (+)= scale dy f'(x)
void unary_backward(const UnaryBackward& args);

struct MapBinary {
  int64_t n;
  Binary function;
  In a;
  Operand b;
  Out y;
};
void binary(const MapBinary& args);

struct BinaryBackward {
  int64_t n;
  Binary function;
  bool first;  // the gradient of a, or else of b, not yet summed over its repetitions
  In a;        // a and b are read if the function's row says so
  Operand b;
  In dy;
  Out out;
  bool accumulate = false;
};
void binary_backward(const BinaryBackward& args);

struct Select {
  int64_t n;
  const int8_t* mask;
  int64_t mask_period;
  Operand a;
  Operand b;
  Out y;
  bool accumulate = false;
};
// y (+)= mask != 0 ? a : b
void select(const Select& args);

}  // namespace heed::kernels
