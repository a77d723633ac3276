// Functions of one, two or three tensors, element by element, and their derivatives.
#pragma once

#include <cstdint>

#include "kernels/copy.h"

namespace heed::kernels {

// sin and cos are for |x| < 39000.
enum class Unary { exp, log, sqrt, rsqrt, square, abs, neg, sin, cos, erf, reciprocal };
enum class Binary { add, sub, mul, div, maximum, minimum };

// Whether the derivative is computed from the function's value and not from its argument.
constexpr bool derives_from_output(Unary function) {
  return function == Unary::exp || function == Unary::sqrt || function == Unary::rsqrt ||
         function == Unary::reciprocal;
}

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
  Out y;
};
void unary(const MapUnary& args);

struct UnaryBackward {
  int64_t n;
  Unary function;
  In saved;  // y if derives_from_output, else x
  In dy;
  Out dx;
  bool accumulate = false;
};
// dx (+)= dy f'(x)
void unary_backward(const UnaryBackward& args);

struct MapBinary {
  int64_t n;
  Binary function;
  In a;
  Operand b;
  Out y;
};
// A NaN on either side makes NaN, also of maximum and minimum.
void binary(const MapBinary& args);

struct BinaryBackward {
  int64_t n;
  Binary function;  // mul, div, maximum or minimum
  bool first;       // the gradient of a, or else of b, not yet summed over its repetitions
  In a;             // not read by the gradient of a of mul and div
  Operand b;        // not read by the gradient of b of mul
  In dy;
  Out out;
  bool accumulate = false;
};
// Of equal numbers the first is the maximum and the minimum.
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
