// A case of realistic size for every op on the tape: what `heed bench ops` measures. The test suite
// fails if an op has none.
//
// A case says what to call and on what, and how much work that is at least: the operations of its
// matrix products, and the bytes that have to pass between memory and cores if every tensor passes
// once. A direction's roofline is the time that the slower of the two needs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ops/cases/op_input.h"

namespace heed::cases {

// The defaults exceed caches; the tests run the same cases small.
struct Sizes {
  int64_t batch = 8;
  int64_t length = 512;
  int64_t width = 1024;  // a multiple of 64
  int64_t vocabulary = 32000;
  int64_t side = 32;  // of images
};

// Bytes of a case's tensors, each kind in total.
struct Bytes {
  double inputs = 0.0;
  double outputs = 0.0;    // and of their gradients
  double gradients = 0.0;  // of those of the inputs that want them
};
using Traffic = double (*)(const Bytes& bytes);

// Forward: everything is read and written once. Backward: inputs (or outputs as large) and the
// gradients of the outputs are read, the gradients of the inputs are written.
inline double all_forward(const Bytes& b) { return b.inputs + b.outputs; }
inline double all_backward(const Bytes& b) { return b.inputs + b.outputs + b.gradients; }
// For ops whose derivative reads neither inputs nor outputs.
inline double gradients_alone(const Bytes& b) { return b.outputs + b.gradients; }
// For ops that hand their gradient on as it is.
inline double nothing(const Bytes& /*bytes*/) { return 0.0; }
// For ops that read only the elements that they pick.
inline double picked(const Bytes& b) { return 2.0 * b.outputs; }

struct SizedCase {
  std::string op;  // as registered on the tape
  std::vector<Input> inputs;
  Run run;
  double flops = 0.0;           // of the products of the forward pass; 0: none
  double backward_flops = 0.0;  // of the backward pass
  Traffic forward = all_forward;
  Traffic backward = all_backward;
};

std::vector<SizedCase> sized_cases(const Sizes& sizes = {});

}  // namespace heed::cases
