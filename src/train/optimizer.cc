#include "train/optimizer.h"

#include <cmath>

#include "base/error.h"
#include "kernels/adam.h"

namespace heed {

Adam::Adam(ParameterStore& store, const AdamOptions& options)
    : store_(store),
      options_(options),
      m_(Tensor::zeros(store.values().shape())),
      v_(Tensor::zeros(store.values().shape())) {
  check(store.values().defined(), "[adam] the store has no parameters for training yet");
}

void Adam::step(float grad_scale) {
  ++steps_;
  store_.finish_gradients();
  const Tensor& narrow = store_.narrow_values();
  const auto correction = [&](float beta) {
    return static_cast<float>(1.0 - std::pow(double{beta}, static_cast<double>(steps_)));
  };
  kernels::adam({.n = store_.values().size(),
                 .w = store_.values().data<float>(),
                 .m = m_.data<float>(),
                 .v = v_.data<float>(),
                 .g = store_.gradients().data<float>(),
                 .narrow = narrow.defined() ? narrow.data<bf16>() : nullptr,
                 .lr = options_.learning_rate,
                 .beta1 = options_.beta1,
                 .beta2 = options_.beta2,
                 .epsilon = options_.epsilon,
                 .weight_decay = options_.weight_decay,
                 .decoupled = options_.decoupled,
                 .correction1 = correction(options_.beta1),
                 .correction2 = correction(options_.beta2),
                 .grad_scale = grad_scale});
}

double gradient_norm(ParameterStore& store) {
  store.finish_gradients();
  return std::sqrt(kernels::squared_sum(store.gradients().data<float>(), store.gradients().size()));
}

}  // namespace heed
