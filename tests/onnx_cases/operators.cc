#include "onnx_cases/operators.h"

#include <map>

namespace heed::onnx_cases {

Operator find_operator(const std::string& op) {
  static const std::map<std::string, Operator> operators = {
      {"Adam", adam_case},
      {"Attention", attention_case},
      {"Erf", erf_case},
      {"Gather", gather_case},
      {"GatherElements", gather_elements_case},
      {"GatherND", gather_nd_case},
      {"Gelu", gelu_case},
      {"Gemm", gemm_case},
      {"LayerNormalization", layer_norm_case},
      {"LogSoftmax", log_softmax_case},
      {"MatMul", matmul_case},
      {"Mish", mish_case},
      {"Momentum", momentum_case},
      {"RMSNormalization", rms_norm_case},
      {"RotaryEmbedding", rotary_case},
      {"Softmax", softmax_case},
      {"SoftmaxCrossEntropyLoss", softmax_cross_entropy_case},
      {"Swish", swish_case},
      {"TopK", top_k_case},
  };
  const auto found = operators.find(op);
  return found == operators.end() ? nullptr : found->second;
}

}  // namespace heed::onnx_cases
