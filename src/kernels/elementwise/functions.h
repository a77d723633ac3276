// The pointwise functions, and what is known of each without its vector code. Activations are unary
// functions like the others; models name them in their configuration.
//
// A function is an enumerator here and a row in functions-inl.h: name, value and derivative on
// vectors, value and derivative on doubles, domain. Kernels, ops, references and tests iterate over
// the enumerators, so one without a row does not compile.
#pragma once

#include <span>

namespace heed {

enum class Unary {
  none,  // x itself
  relu,
  gelu,       // x * Phi(x), the exact form
  gelu_tanh,  // GPT-2's approximation by tanh
  sigmoid,
  tanh,
  silu,  // x * sigmoid(x), also called swish
  softplus,
  mish,  // x * tanh(softplus(x))
  elu,
  leaky_relu,  // slope 0.01 below zero
  exp,
  log,
  sqrt,
  rsqrt,  // 1 / sqrt(x)
  square,
  abs,  // its derivative at 0 is 0
  neg,
  sin,
  cos,
  erf,
  reciprocal,
  kCount,
};

// The unary function that a layer applies to its result.
using Activation = Unary;

enum class Binary {
  add,
  sub,
  mul,
  div,
  maximum,  // NaN wins; among equals the first is taken
  minimum,
  swiglu,  // silu(a) * b
  kCount,
};

// Matrix products apply these on the way out, the others in a pass of their own.
constexpr bool fuses_into_products(Activation function) {
  return function == Activation::none || function == Activation::relu ||
         function == Activation::gelu || function == Activation::gelu_tanh;
}

namespace kernels {

// What the derivative of a unary function is computed from.
enum class Saved { argument, value, nothing };

// Where a function is smooth: arguments for tests and measurements come from there.
enum class Domain { all, not_zero, positive };

struct UnaryRow {
  Unary function;
  const char* name;
  Saved saved;
  Domain domain;
  double (*value)(double x);
  double (*derivative)(double x);  // with respect to x
};

// Which operands a partial derivative of a binary function reads. Neither: it is constant.
struct Reads {
  bool a = true;
  bool b = true;
};

struct BinaryRow {
  Binary function;
  const char* name;
  Reads reads_da;  // what the gradient of a needs besides dy
  Reads reads_db;
  Domain domain_b;  // a is anywhere
  bool compares;    // smooth only where a and b differ
  double (*value)(double a, double b);
  double (*da)(double a, double b);  // partial derivatives
  double (*db)(double a, double b);
};

// The tables, in the order of the enumerators.
std::span<const UnaryRow> unary_rows();
std::span<const BinaryRow> binary_rows();
const UnaryRow& row_of(Unary function);
const BinaryRow& row_of(Binary function);

}  // namespace kernels
}  // namespace heed
