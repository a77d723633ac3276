// Whether what an operator gave is what a case expects.
#pragma once

#include "onnx_cases/operators.h"

namespace heed::onnx_cases {

// Throws Error naming the first output and element that differ, and by how much.
//
// Heed computes in f32; the tolerance is that of the expected values' type, since the values were
// rounded to it on their way. Integers must be equal.
void check_outputs(const Case& c, const Outputs& outputs);

}  // namespace heed::onnx_cases
