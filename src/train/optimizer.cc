#include "train/optimizer.h"

#include <cmath>

#include "base/error.h"
#include "kernels/adam.h"

namespace heed {
namespace {

bf16* narrow_data(const ParameterStore& store, int64_t offset) {
  const Tensor& narrow = store.narrow_values();
  return narrow.defined() ? narrow.data<bf16>() + offset : nullptr;
}

// A view for each parameter of an array laid out like the store's.
void add_views(const ParameterStore& store, const std::string& prefix, const Tensor& flat,
               std::vector<StateTensor>& state) {
  for (const ParameterEntry& entry : store.entries()) {
    state.push_back(
        {prefix + "/" + entry.name,
         flat.rows(entry.offset, entry.offset + entry.shape.size()).reshape(entry.shape)});
  }
}

float decay_of(const ParameterEntry& entry, const OptimizerConfig& config) {
  return entry.shape.rank() >= 2 || config.decay_vectors ? config.weight_decay : 0.0F;
}

// A stretch of the flat arrays under one weight decay. Padding goes with what it follows: it is
// zero with a zero gradient, so no step changes it.
struct Stretch {
  int64_t begin;
  int64_t end;
  float weight_decay;
};

// As few as there can be: a single one unless matrices decay and vectors do not.
std::vector<Stretch> stretches_of(const ParameterStore& store, const OptimizerConfig& config) {
  std::vector<Stretch> stretches;
  for (const ParameterEntry& entry : store.entries()) {
    const float weight_decay = decay_of(entry, config);
    if (!stretches.empty() && stretches.back().weight_decay != weight_decay) {
      stretches.back().end = entry.offset;
    }
    if (stretches.empty() || stretches.back().weight_decay != weight_decay) {
      stretches.push_back({entry.offset, 0, weight_decay});
    }
  }
  if (!stretches.empty()) {
    stretches.back().end = store.values().size();
  }
  return stretches;
}

// Adam (Kingma and Ba 2015) and AdamW (Loshchilov and Hutter 2019).
class Adam final : public Optimizer {
 public:
  Adam(ParameterStore& store, const OptimizerConfig& config)
      : Optimizer(store),
        config_(config),
        stretches_(stretches_of(store, config)),
        m_(Tensor::zeros(store.values().shape())),
        v_(Tensor::zeros(store.values().shape())) {}

  std::vector<StateTensor> state() const override {
    std::vector<StateTensor> result;
    add_views(store(), "m", m_, result);
    add_views(store(), "v", v_, result);
    return result;
  }

 private:
  void update(float learning_rate, float grad_scale) override {
    const auto correction = [&](float beta) {
      return static_cast<float>(1.0 - std::pow(double{beta}, static_cast<double>(steps())));
    };
    for (const Stretch& stretch : stretches_) {
      kernels::adam({.n = stretch.end - stretch.begin,
                     .w = store().values().data<float>() + stretch.begin,
                     .m = m_.data<float>() + stretch.begin,
                     .v = v_.data<float>() + stretch.begin,
                     .g = store().gradients().data<float>() + stretch.begin,
                     .narrow = narrow_data(store(), stretch.begin),
                     .lr = learning_rate,
                     .beta1 = config_.beta1,
                     .beta2 = config_.beta2,
                     .epsilon = config_.epsilon,
                     .weight_decay = stretch.weight_decay,
                     .decoupled = config_.kind == "adamw",
                     .correction1 = correction(config_.beta1),
                     .correction2 = correction(config_.beta2),
                     .grad_scale = grad_scale});
    }
  }

  OptimizerConfig config_;
  std::vector<Stretch> stretches_;
  Tensor m_, v_;
};

class Sgd final : public Optimizer {
 public:
  Sgd(ParameterStore& store, const OptimizerConfig& config)
      : Optimizer(store), config_(config), stretches_(stretches_of(store, config)) {
    if (config.momentum > 0) {
      m_ = Tensor::zeros(store.values().shape());
    }
  }

  std::vector<StateTensor> state() const override {
    std::vector<StateTensor> result;
    if (m_.defined()) {
      add_views(store(), "m", m_, result);
    }
    return result;
  }

 private:
  void update(float learning_rate, float grad_scale) override {
    for (const Stretch& stretch : stretches_) {
      kernels::sgd({.n = stretch.end - stretch.begin,
                    .w = store().values().data<float>() + stretch.begin,
                    .m = m_.defined() ? m_.data<float>() + stretch.begin : nullptr,
                    .g = store().gradients().data<float>() + stretch.begin,
                    .narrow = narrow_data(store(), stretch.begin),
                    .lr = learning_rate,
                    .momentum = config_.momentum,
                    .weight_decay = stretch.weight_decay,
                    .nesterov = config_.nesterov,
                    .grad_scale = grad_scale});
    }
  }

  OptimizerConfig config_;
  std::vector<Stretch> stretches_;
  Tensor m_;  // undefined without momentum
};

}  // namespace

void Optimizer::step(float learning_rate, float grad_scale) {
  store_.finish_gradients();
  ++steps_;
  update(learning_rate, grad_scale);
}

size_t Optimizer::state_bytes() const {
  size_t total = 0;
  for (const StateTensor& part : state()) {
    total += part.tensor.bytes();
  }
  return total;
}

void Optimizer::set_steps(int64_t steps) {
  check(steps >= 0, "[optimizer] steps is {}, expected 0 or more", steps);
  steps_ = steps;
}

std::unique_ptr<Optimizer> make_optimizer(ParameterStore& store, const OptimizerConfig& config) {
  check(store.values().defined(), "[optimizer] the store has no parameters for training yet");
  OptimizerConfig checked;
  config::read(checked, config::write(config), "optimizer");  // throws outside of the ranges
  if (config.kind == "sgd") {
    return std::make_unique<Sgd>(store, config);
  }
  check(config.kind == "adam" || config.kind == "adamw", "[optimizer] no {} yet", config.kind);
  return std::make_unique<Adam>(store, config);
}

double gradient_norm(ParameterStore& store) {
  store.finish_gradients();
  return std::sqrt(kernels::squared_sum(store.gradients().data<float>(), store.gradients().size()));
}

}  // namespace heed
