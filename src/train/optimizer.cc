#include "train/optimizer.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/error.h"
#include "kernels/optimizer/adafactor.h"
#include "kernels/optimizer/adam.h"
#include "kernels/optimizer/sm3.h"

namespace heed {
namespace {

// `offset` is counted from where this process's parameters begin.
bf16* narrow_data(const ParameterStore& store, int64_t offset) {
  const Tensor& narrow = store.narrow_values();
  return narrow.defined() ? narrow.data<bf16>() + store.updated().begin + offset : nullptr;
}

// The parameters that this process updates.
std::vector<const ParameterEntry*> updated_entries(const ParameterStore& store) {
  std::vector<const ParameterEntry*> updated;
  for (const ParameterEntry& entry : store.entries()) {
    if (store.updated().contains(entry)) {
      updated.push_back(&entry);
    }
  }
  return updated;
}

float decay_of(const ParameterEntry& entry, const OptimizerConfig& config) {
  const bool decays = entry.trained && (entry.shape.rank() >= 2 || config.decay_vectors);
  return decays ? config.weight_decay : 0.0F;
}

// Parameters next to each other under one weight decay. Padding goes with what it follows: it is
// zero with a zero gradient, so no step changes it.
struct DecayedStretch : Stretch {
  float weight_decay = 0.0F;
};

// As few as there can be: a single one unless matrices decay and vectors do not. Counted from where
// this process's parameters begin.
std::vector<DecayedStretch> stretches_of(const ParameterStore& store,
                                         const OptimizerConfig& config) {
  std::vector<DecayedStretch> stretches;
  for (const ParameterEntry* entry : updated_entries(store)) {
    const float weight_decay = decay_of(*entry, config);
    const int64_t begin = entry->offset - store.updated().begin;
    if (!stretches.empty() && stretches.back().weight_decay != weight_decay) {
      stretches.back().end = begin;
    }
    if (stretches.empty() || stretches.back().weight_decay != weight_decay) {
      stretches.push_back({{begin, 0}, weight_decay});
    }
  }
  if (!stretches.empty()) {
    stretches.back().end = store.updated().size();
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
        m_(Tensor::zeros({store.updated().size()})),
        v_(Tensor::zeros({store.updated().size()})) {}

  std::vector<StateTensor> state() const override {
    std::vector<StateTensor> result;
    add_state_views(store(), "m", m_, result);
    add_state_views(store(), "v", v_, result);
    return result;
  }

 private:
  void update(float learning_rate, float grad_scale) override {
    const auto correction = [&](float beta) {
      return static_cast<float>(1.0 - std::pow(double{beta}, static_cast<double>(steps())));
    };
    for (const DecayedStretch& stretch : stretches_) {
      kernels::adam({.n = stretch.end - stretch.begin,
                     .w = store().updated_values().data<float>() + stretch.begin,
                     .m = m_.data<float>() + stretch.begin,
                     .v = v_.data<float>() + stretch.begin,
                     .g = store().updated_gradients().data<float>() + stretch.begin,
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
  std::vector<DecayedStretch> stretches_;
  Tensor m_, v_;
};

class Sgd final : public Optimizer {
 public:
  Sgd(ParameterStore& store, const OptimizerConfig& config)
      : Optimizer(store), config_(config), stretches_(stretches_of(store, config)) {
    if (config.momentum > 0) {
      m_ = Tensor::zeros({store.updated().size()});
    }
  }

  std::vector<StateTensor> state() const override {
    std::vector<StateTensor> result;
    if (m_.defined()) {
      add_state_views(store(), "m", m_, result);
    }
    return result;
  }

 private:
  void update(float learning_rate, float grad_scale) override {
    for (const DecayedStretch& stretch : stretches_) {
      kernels::sgd({.n = stretch.end - stretch.begin,
                    .w = store().updated_values().data<float>() + stretch.begin,
                    .m = m_.defined() ? m_.data<float>() + stretch.begin : nullptr,
                    .g = store().updated_gradients().data<float>() + stretch.begin,
                    .narrow = narrow_data(store(), stretch.begin),
                    .lr = learning_rate,
                    .momentum = config_.momentum,
                    .weight_decay = stretch.weight_decay,
                    .nesterov = config_.nesterov,
                    .grad_scale = grad_scale});
    }
  }

  OptimizerConfig config_;
  std::vector<DecayedStretch> stretches_;
  Tensor m_;  // undefined without momentum
};

// A parameter as a matrix of rows by all the rest; a vector is one row.
struct Matrix {
  const ParameterEntry* entry;
  int64_t rows;
  int64_t columns;
  float weight_decay;
  float* row;     // into one array for all parameters
  float* column;  // likewise
};

// What Adafactor and SM3 share: a number for each row and each column instead of each weight, and
// the first moment only if asked for.
class Factored : public Optimizer {
 public:
  std::vector<StateTensor> state() const override {
    std::vector<StateTensor> result;
    int64_t row = 0;
    int64_t column = 0;
    for (const Matrix& matrix : matrices_) {
      const std::string& name = matrix.entry->name;
      result.push_back({"row/" + name, rows_.rows(row, row + matrix.rows), nullptr});
      result.push_back({"column/" + name, columns_.rows(column, column + matrix.columns), nullptr});
      row += matrix.rows;
      column += matrix.columns;
    }
    if (m_.defined()) {
      add_state_views(store(), "m", m_, result);
    }
    return result;
  }

 protected:
  Factored(ParameterStore& store, const OptimizerConfig& config, float beta1)
      : Optimizer(store), config_(config) {
    int64_t rows = 0;
    int64_t columns = 0;
    for (const ParameterEntry* entry : updated_entries(store)) {
      check(entry->cut.whole(),
            "[optimizer] {} keeps sums of whole rows and columns, and {} is split over the mesh: "
            "take adam, adamw or sgd, or split the batch only",
            config.kind, entry->name);
      const int rank = entry->shape.rank();
      Matrix& matrix = matrices_.emplace_back();
      matrix.entry = entry;
      matrix.rows = rank >= 2 ? entry->shape[0] : 1;
      matrix.columns = rank >= 2 ? entry->shape.product(1, rank) : entry->shape.size();
      matrix.weight_decay = decay_of(*entry, config);
      rows += matrix.rows;
      columns += matrix.columns;
    }
    rows_ = Tensor::zeros({rows});
    columns_ = Tensor::zeros({columns});
    float* row = rows_.data<float>();
    float* column = columns_.data<float>();
    for (Matrix& matrix : matrices_) {
      matrix.row = std::exchange(row, row + matrix.rows);
      matrix.column = std::exchange(column, column + matrix.columns);
    }
    if (beta1 > 0) {
      m_ = Tensor::zeros({store.updated().size()});
    }
  }

  const OptimizerConfig& config() const { return config_; }
  int64_t offset_of(const Matrix& matrix) const {
    return matrix.entry->offset - store().updated().begin;
  }
  const std::vector<Matrix>& matrices() const { return matrices_; }
  float* m_data(const Matrix& matrix) const {
    return m_.defined() ? m_.data<float>() + offset_of(matrix) : nullptr;
  }

 private:
  OptimizerConfig config_;
  std::vector<Matrix> matrices_;
  Tensor rows_, columns_;
  Tensor m_;  // undefined without first moment
};

// Shazeer and Stern 2018, with the constants of its Algorithm 5.
class Adafactor final : public Factored {
 public:
  Adafactor(ParameterStore& store, const OptimizerConfig& config)
      : Factored(store, config, config.momentum) {}

 private:
  static constexpr double kDecayExponent = 0.8;
  static constexpr double kLeastScale = 1e-3;  // epsilon 2
  static constexpr double kMostRelativeStep = 0.01;

  void update(float learning_rate, float grad_scale) override {
    const auto t = static_cast<double>(steps());
    const double rate = config().relative_step ? std::min(kMostRelativeStep, 1.0 / std::sqrt(t))
                                               : static_cast<double>(learning_rate);
    for (const Matrix& matrix : matrices()) {
      float* w = matrix.entry->value.data<float>();
      const int64_t size = matrix.rows * matrix.columns;
      double scale = 1.0;
      if (config().parameter_scale) {
        const double mean = kernels::squared_sum(w, size) / static_cast<double>(size);
        scale = std::max(kLeastScale, std::sqrt(mean));
      }
      kernels::adafactor({.rows = matrix.rows,
                          .columns = matrix.columns,
                          .w = w,
                          .g = matrix.entry->slot.grad.data<float>(),
                          .narrow = narrow_data(store(), offset_of(matrix)),
                          .m = m_data(matrix),
                          .row = matrix.row,
                          .column = matrix.column,
                          .lr = static_cast<float>(rate * scale),
                          .beta1 = config().momentum,
                          .beta2 = static_cast<float>(1.0 - std::pow(t, -kDecayExponent)),
                          .weight_decay = matrix.weight_decay,
                          .grad_scale = grad_scale});
    }
  }
};

// Anil, Gupta, Koren and Singer 2019.
class Sm3 final : public Factored {
 public:
  Sm3(ParameterStore& store, const OptimizerConfig& config)
      : Factored(store, config, config.beta1) {}

 private:
  void update(float learning_rate, float grad_scale) override {
    for (const Matrix& matrix : matrices()) {
      kernels::sm3({.rows = matrix.rows,
                    .columns = matrix.columns,
                    .w = matrix.entry->value.data<float>(),
                    .g = matrix.entry->slot.grad.data<float>(),
                    .narrow = narrow_data(store(), offset_of(matrix)),
                    .m = m_data(matrix),
                    .row = matrix.row,
                    .column = matrix.column,
                    .lr = learning_rate,
                    .beta1 = config().beta1,
                    .weight_decay = matrix.weight_decay,
                    .grad_scale = grad_scale});
    }
  }
};

}  // namespace

void add_state_views(const ParameterStore& store, const std::string& prefix, const Tensor& flat,
                     std::vector<StateTensor>& state) {
  for (const ParameterEntry* entry : updated_entries(store)) {
    const int64_t begin = entry->offset - store.updated().begin;
    state.push_back({prefix + "/" + entry->name,
                     flat.rows(begin, begin + entry->shape.size()).reshape(entry->shape), entry});
  }
}

void Optimizer::step(float learning_rate, float grad_scale) {
  store_.finish_gradients();
  ++steps_;
  update(learning_rate, grad_scale);
  store_.share_weights();
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
  if (config.kind == "adafactor") {
    return std::make_unique<Adafactor>(store, config);
  }
  if (config.kind == "sm3") {
    return std::make_unique<Sm3>(store, config);
  }
  return std::make_unique<Adam>(store, config);
}

double gradient_norm(ParameterStore& store) {
  store.finish_gradients();
  const Mesh& mesh = store.mesh();
  if (mesh.alone()) {
    return std::sqrt(
        kernels::squared_sum(store.gradients().data<float>(), store.gradients().size()));
  }
  // Parameters that every process has count once, and split ones are added up over their parts.
  std::map<const Group*, double> split;
  double whole = 0.0;
  for (const ParameterEntry* entry : updated_entries(store)) {
    const double squares =
        kernels::squared_sum(entry->slot.grad.data<float>(), entry->slot.grad.size());
    (entry->cut.whole() ? whole : split[entry->cut.group]) += squares;
  }
  double total = whole;
  for (const std::string_view dimension : {"heads", "hidden", "vocabulary"}) {
    const auto part = split.extract(&mesh.along(dimension));  // the same group counts once
    total += mesh.along(dimension).sum(part.empty() ? 0.0 : part.mapped());
  }
  return std::sqrt(store.sharded() ? mesh.along("batch").sum(total) : total);
}

}  // namespace heed
