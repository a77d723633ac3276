// Activations, softmax and the loss over it.
#include "ops/pointwise.h"

#include "base/error.h"
#include "onnx_cases/operators.h"
#include "ops/loss/cross_entropy.h"
#include "ops/shape/shape.h"
#include "ops/softmax.h"

namespace heed::onnx_cases {
namespace {

using SoftmaxOp = Tensor (*)(const Tensor&, int);

// Until opset 12 the input was a matrix: the axes from `axis` on were one, and 1 was the default.
Outputs softmax_with(SoftmaxOp op, const Case& c) {
  constexpr int64_t kFirstWithOneAxis = 13;
  const Value& value = c.input(0);
  const Tensor x = floats(value);
  if (c.opset >= kFirstWithOneAxis) {
    return {op(x, static_cast<int>(c.attribute<int64_t>("axis", -1)))};
  }
  const int axis = normal_axis(c.attribute<int64_t>("axis", 1), x.rank());
  const int64_t rows = product(value.shape, 0, axis);
  const int64_t columns = product(value.shape, axis, value.rank());
  return {Output(op(x.reshape({rows, columns}), -1), value.shape)};
}

Reduction reduction_of(const Case& c) {
  const auto name = c.attribute<std::string>("reduction", "mean");
  check(name == "mean" || name == "sum" || name == "none",
        "[{}] reduction is {}, expected mean, sum or none", c.op, name);
  return name == "mean" ? Reduction::mean : name == "sum" ? Reduction::sum : Reduction::none;
}

}  // namespace

Outputs erf_case(const Case& c) { return {erf(floats(c.input(0)))}; }

Outputs gelu_case(const Case& c) {
  const auto approximate = c.attribute<std::string>("approximate", "none");
  check(approximate == "none" || approximate == "tanh",
        "[{}] approximate is {}, expected none or tanh", c.op, approximate);
  const Tensor x = floats(c.input(0));
  return {approximate == "tanh" ? gelu_tanh(x) : gelu(x)};
}

Outputs mish_case(const Case& c) { return {mish(floats(c.input(0)))}; }

Outputs swish_case(const Case& c) {
  const float alpha = c.attribute<float>("alpha", 1.0F);
  const Tensor x = floats(c.input(0));
  if (alpha == 1.0F) {
    return {silu(x)};
  }
  return {mul(x, sigmoid(scale(x, alpha)))};
}

Outputs softmax_case(const Case& c) { return softmax_with(softmax, c); }
Outputs log_softmax_case(const Case& c) { return softmax_with(log_softmax, c); }

// Scores [N,C,d...], labels [N,d...]: the classes are the second axis.
Outputs softmax_cross_entropy_case(const Case& c) {
  const Value& scores = c.input(0);
  check(scores.rank() >= 2, "[{}] the scores have {} axes, expected at least 2", c.op,
        scores.rank());
  const int64_t batch = scores.shape[0];
  const int64_t classes = scores.shape[1];
  const int64_t places = product(scores.shape, 2, scores.rank());
  const Tensor x = floats(scores, {batch, classes, places});  // [N,C,P]
  const Tensor labels = ints(c.input(1), {batch, places});    // [N,P]
  CrossEntropyOptions options{.reduction = reduction_of(c)};
  options.ignore = c.attribute<int32_t>("ignore_index", options.ignore);
  if (const Value* weights = c.find_input(2)) {
    options.weights = floats(*weights);  // [C]
  }
  const Tensor loss = cross_entropy(transpose(x, 1, 2), labels, options);  // [N,P] or []
  Outputs outputs;
  outputs.emplace_back(
      loss, options.reduction == Reduction::none ? c.input(1).shape : std::vector<int64_t>());
  if (c.wants_output(1)) {
    outputs.emplace_back(log_softmax(x, 1), scores.shape);
  }
  return outputs;
}

}  // namespace heed::onnx_cases
