// Optimizer steps. A node may update several tensors: after the learning rate R and the number of
// steps T come all weights, then all gradients, then each kind of moment.
#include <cmath>

#include "base/error.h"
#include "kernels/optimizer/adam.h"
#include "onnx_cases/operators.h"
#include "ops/pointwise.h"

namespace heed::onnx_cases {
namespace {

constexpr size_t kFirstTensor = 2;

struct Step {
  float rate;
  double steps;  // done before this one
  size_t tensors;
};

Step step_of(const Case& c, size_t kinds) {
  const size_t all = c.input_names.size() - std::min(c.input_names.size(), kFirstTensor);
  check(all > 0 && all % kinds == 0, "[{}] {} tensors, expected {} for each weight", c.op, all,
        kinds);
  check(c.input(0).data.size() == 1 && c.input(1).data.size() == 1,
        "[{}] R and T are lists, expected one element each", c.op);
  return {static_cast<float>(c.input(0).data[0]), c.input(1).data[0], all / kinds};
}

}  // namespace

// The bias corrections are part of the learning rate, so epsilon is added to an uncorrected root.
Outputs adam_case(const Case& c) {
  constexpr size_t kKinds = 4;  // X, G, V, H
  const Step step = step_of(c, kKinds);
  const size_t n = step.tensors;
  const double alpha = c.attribute<double>("alpha", 0.9);
  const double beta = c.attribute<double>("beta", 0.999);
  const double correction = step.steps > 0 ? std::sqrt(1.0 - std::pow(beta, step.steps)) /
                                                 (1.0 - std::pow(alpha, step.steps))
                                           : 1.0;
  const float keep = 1.0F - c.attribute<float>("norm_coefficient_post", 0.0F);
  Outputs outputs(3 * n);
  for (size_t i = 0; i < n; ++i) {
    const Tensor w = floats(c.input(kFirstTensor + i));
    const Tensor g = floats(c.input(kFirstTensor + n + i));
    const Tensor m = floats(c.input(kFirstTensor + 2 * n + i));
    const Tensor v = floats(c.input(kFirstTensor + 3 * n + i));
    kernels::adam({.n = w.size(),
                   .w = w.data<float>(),
                   .m = m.data<float>(),
                   .v = v.data<float>(),
                   .g = g.data<float>(),
                   .lr = static_cast<float>(step.rate * correction),
                   .beta1 = static_cast<float>(alpha),
                   .beta2 = static_cast<float>(beta),
                   .epsilon = c.attribute<float>("epsilon", 1e-6F),
                   .weight_decay = c.attribute<float>("norm_coefficient", 0.0F)});
    outputs[i] = scale(w, keep);
    outputs[n + i] = m;
    outputs[2 * n + i] = v;
  }
  return outputs;
}

// V' = alpha V + beta G', X' = X - R V', or with Nesterov X - R (G' + alpha V'), where
// G' = G + norm_coefficient X; beta counts from the second step on.
Outputs momentum_case(const Case& c) {
  constexpr size_t kKinds = 3;  // X, G, V
  const Step step = step_of(c, kKinds);
  const size_t n = step.tensors;
  const auto mode = c.attribute<std::string>("mode", "");
  check(mode == "standard" || mode == "nesterov", "[{}] mode is {}, expected standard or nesterov",
        c.op, mode);
  const bool nesterov = mode == "nesterov";
  const float beta = step.steps > 0 ? c.attribute<float>("beta", 1.0F) : 1.0F;
  const auto decay = c.attribute<float>("norm_coefficient", 0.0F);
  Outputs outputs(2 * n);
  for (size_t i = 0; i < n; ++i) {
    const Tensor w = floats(c.input(kFirstTensor + i));
    const Tensor g = floats(c.input(kFirstTensor + n + i));
    const Tensor m = floats(c.input(kFirstTensor + 2 * n + i));
    const Tensor regular = add(g, scale(w, decay));
    kernels::sgd({.n = w.size(),
                  .w = w.data<float>(),
                  .m = m.data<float>(),
                  .g = g.data<float>(),
                  .lr = step.rate,
                  .momentum = c.attribute<float>("alpha", 0.0F),
                  .weight_decay = beta * decay,
                  .nesterov = nesterov,
                  .grad_scale = beta});
    if (nesterov && beta != 1.0F) {  // the kernel took beta G' where the whole of G' belongs
      kernels::sgd({.n = w.size(),
                    .w = w.data<float>(),
                    .g = regular.data<float>(),
                    .lr = step.rate * (1.0F - beta)});
    }
    outputs[i] = w;
    outputs[n + i] = m;
  }
  return outputs;
}

}  // namespace heed::onnx_cases
