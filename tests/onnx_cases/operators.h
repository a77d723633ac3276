// What runs a case: ONNX operators in terms of Heed's ops.
#pragma once

#include <string>
#include <vector>

#include "onnx_cases/case.h"

namespace heed::onnx_cases {

// An output of a node: in the order of its output names, undefined where nobody asks for it. The
// shape may have more axes than a tensor.
struct Output {
  Output() = default;
  Output(Tensor result)  // NOLINT: an output is a tensor, mostly
      : tensor(std::move(result)),
        shape(tensor.shape().extents().begin(), tensor.shape().extents().end()) {}
  Output(Tensor result, std::vector<int64_t> extents)
      : tensor(std::move(result)), shape(std::move(extents)) {}

  Tensor tensor;
  std::vector<int64_t> shape;
};
using Outputs = std::vector<Output>;
using Operator = Outputs (*)(const Case&);

// Null for an operator that Heed has not.
Operator find_operator(const std::string& op);

// pointwise.cc
Outputs erf_case(const Case& c);
Outputs gelu_case(const Case& c);
Outputs mish_case(const Case& c);
Outputs swish_case(const Case& c);
Outputs softmax_case(const Case& c);
Outputs log_softmax_case(const Case& c);
Outputs softmax_cross_entropy_case(const Case& c);
// products.cc
Outputs gemm_case(const Case& c);
Outputs matmul_case(const Case& c);
// gather.cc
Outputs gather_case(const Case& c);
Outputs gather_elements_case(const Case& c);
Outputs gather_nd_case(const Case& c);
Outputs top_k_case(const Case& c);
// norm.cc
Outputs layer_norm_case(const Case& c);
Outputs rms_norm_case(const Case& c);
// attention.cc, rotary.cc
Outputs attention_case(const Case& c);
Outputs rotary_case(const Case& c);
// optimizers.cc
Outputs adam_case(const Case& c);
Outputs momentum_case(const Case& c);

}  // namespace heed::onnx_cases
