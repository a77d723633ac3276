// One table of op cases drives the tests of values and of gradients.
//
// A case names the op as the tape does, describes its inputs, runs it, and gives the same maths in
// double. The suite compares the outputs with the reference, and the gradients from the tape with
// four-point differences of the reference, in f32 and in bf16. Speed is measured on the sized cases
// of ops/cases/sized_case.h, which describe their inputs in the same way.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ops/cases/op_input.h"
#include "tensor/tensor.h"

namespace heed::testing {

// A tensor of the reference: plain doubles.
struct Array {
  Shape shape;
  std::vector<double> values;
};

using cases::Input;
using cases::Kind;
using cases::Run;
using Reference = std::function<std::vector<Array>(const std::vector<Array>&)>;

struct OpCase {
  std::string op;    // as registered on the tape
  std::string name;  // unique within the op
  std::vector<Input> inputs;
  Run run;
  Reference reference;
  // Straight-through estimators: what the gradient is that of, since the values have none. Empty:
  // the reference.
  Reference surrogate = {};
  double tolerance = 1e-4;       // f32, relative to the typical size of the values
  double bf16_tolerance = 0.03;  // the same
  bool f32_only = false;         // for ops that have no bf16 form; say why in the case
};

// Call at namespace scope: `const bool kRegistered = add_cases({...});`
bool add_cases(std::vector<OpCase> cases);
const std::vector<OpCase>& all_cases();

// Draws the inputs of a case; values are exactly representable in dtype.
std::vector<Tensor> make_inputs(const OpCase& op_case, DType dtype);
Array to_array(const Tensor& tensor);

// Largest |a - b| / (|b| + rms(b)); infinite when shapes differ or a value is not finite.
double error_between(const Array& a, const Array& b);

// The seed of the tape that cases run on, and the first stream it hands out: references of ops
// with dropout use them.
inline constexpr uint64_t kCaseSeed = 7;

}  // namespace heed::testing
