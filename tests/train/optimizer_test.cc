// Every optimizer against its paper's formulas in plain double, over twenty steps.
#include "train/optimizer.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/random.h"
#include "support/error_of.h"

namespace heed::testing {
namespace {

using Doubles = std::vector<double>;

const std::vector<std::pair<std::string, Shape>> kParameters = {
    {"matrix", {7, 13}}, {"filter", {5, 3, 3}}, {"bias", {13}}, {"gain", {1}}, {"wide", {1, 19}}};

void add_parameters(ParameterStore& store, DType compute) {
  for (const auto& [name, shape] : kParameters) {
    store.add(name, shape, Init::normal(0.5F));
  }
  store.allocate(compute, 7);
}

// Gradients of a step: normal numbers, smaller in some parameters, all zero in some steps' biases.
void set_gradients(ParameterStore& store, int step) {
  store.clear_gradients();
  const RandomStream stream{11, static_cast<uint64_t>(step)};
  for (ParameterEntry& entry : store.entries()) {
    if (entry.name == "bias" && step % 5 == 4) {
      continue;  // nobody contributed
    }
    float* g = entry.slot.grad.data<float>();
    for (int64_t i = 0; i < entry.shape.size(); ++i) {
      const float scale = entry.name == "filter" ? 1e-3F : 1.0F;
      g[i] = scale * stream.normal(static_cast<uint64_t>(entry.offset + i));
    }
    entry.slot.written = true;
  }
}

// One parameter and what an optimizer knows of it; vectors are one row.
struct Plain {
  explicit Plain(const ParameterEntry& entry) : vector(entry.shape.rank() < 2) {
    const std::vector<float> values = entry.value.to_vector();
    w.assign(values.begin(), values.end());
    m.resize(w.size());
    v.resize(w.size());
    columns = vector ? w.size() : w.size() / static_cast<size_t>(entry.shape[0]);
    row.resize(w.size() / columns);
    column.resize(columns);
  }
  bool vector;
  size_t columns;
  Doubles w, m, v, row, column;
};

void plain_adam(Plain& p, const Doubles& gradient, const OptimizerConfig& c, double lr, int t) {
  const double decay = p.vector && !c.decay_vectors ? 0.0 : double{c.weight_decay};
  const bool decoupled = c.kind == "adamw";
  for (size_t i = 0; i < p.w.size(); ++i) {
    const double g = gradient[i] + (decoupled ? 0.0 : decay * p.w[i]);
    p.m[i] = double{c.beta1} * p.m[i] + (1 - double{c.beta1}) * g;
    p.v[i] = double{c.beta2} * p.v[i] + (1 - double{c.beta2}) * g * g;
    const double m_hat = p.m[i] / (1 - std::pow(double{c.beta1}, t));
    const double v_hat = p.v[i] / (1 - std::pow(double{c.beta2}, t));
    p.w[i] -= decoupled ? lr * decay * p.w[i] : 0.0;
    p.w[i] -= lr * m_hat / (std::sqrt(v_hat) + double{c.epsilon});
  }
}

void plain_sgd(Plain& p, const Doubles& gradient, const OptimizerConfig& c, double lr) {
  const double decay = p.vector && !c.decay_vectors ? 0.0 : double{c.weight_decay};
  for (size_t i = 0; i < p.w.size(); ++i) {
    const double g = gradient[i] + decay * p.w[i];
    p.m[i] = double{c.momentum} * p.m[i] + g;
    p.w[i] -= lr * (c.nesterov ? g + double{c.momentum} * p.m[i] : p.m[i]);
  }
}

double rms(const Doubles& values) {
  double total = 0;
  for (const double value : values) {
    total += value * value;
  }
  return std::sqrt(total / static_cast<double>(values.size()));
}

void plain_adafactor(Plain& p, const Doubles& g, const OptimizerConfig& c, double lr, int t) {
  const double beta2 = 1 - std::pow(t, -0.8);
  const double decay = p.vector && !c.decay_vectors ? 0.0 : double{c.weight_decay};
  double rate = c.relative_step ? std::min(1e-2, 1 / std::sqrt(t)) : lr;
  rate *= c.parameter_scale ? std::max(1e-3, rms(p.w)) : 1.0;
  for (double& value : p.row) {
    value *= beta2;
  }
  for (double& value : p.column) {
    value *= beta2;
  }
  double total = 0;
  for (size_t i = 0; i < g.size(); ++i) {
    p.row[i / p.columns] += (1 - beta2) * (g[i] * g[i] + 1e-30);
    p.column[i % p.columns] += (1 - beta2) * (g[i] * g[i] + 1e-30);
    p.v[i] = beta2 * p.v[i] + (1 - beta2) * (g[i] * g[i] + 1e-30);
    total += p.v[i];
  }
  Doubles u(g.size());
  for (size_t i = 0; i < g.size(); ++i) {
    const double v = p.vector ? p.v[i] : p.row[i / p.columns] * p.column[i % p.columns] / total;
    u[i] = g[i] / std::sqrt(v);
  }
  const double clip = std::max(1.0, rms(u));
  for (size_t i = 0; i < g.size(); ++i) {
    p.m[i] = double{c.momentum} * p.m[i] + (1 - double{c.momentum}) * rate * u[i] / clip;
    p.w[i] -= p.m[i] + rate * decay * p.w[i];
  }
}

void plain_sm3(Plain& p, const Doubles& g, const OptimizerConfig& c, double lr) {
  const double decay = p.vector && !c.decay_vectors ? 0.0 : double{c.weight_decay};
  Doubles row(p.row.size());
  Doubles column(p.columns);
  for (size_t i = 0; i < g.size(); ++i) {
    p.v[i] =
        (p.vector ? p.v[i] : std::min(p.row[i / p.columns], p.column[i % p.columns])) + g[i] * g[i];
    row[i / p.columns] = std::max(row[i / p.columns], p.v[i]);
    column[i % p.columns] = std::max(column[i % p.columns], p.v[i]);
    const double u = p.v[i] > 0 ? g[i] / std::sqrt(p.v[i]) : 0.0;
    p.m[i] = double{c.beta1} * p.m[i] + (1 - double{c.beta1}) * u;
    p.w[i] -= lr * p.m[i] + lr * decay * p.w[i];
  }
  p.row = row;
  p.column = column;
}

void plain_step(Plain& p, const Doubles& g, const OptimizerConfig& c, double lr, int t) {
  if (c.kind == "sgd") {
    plain_sgd(p, g, c, lr);
  } else if (c.kind == "adafactor") {
    plain_adafactor(p, g, c, lr, t);
  } else if (c.kind == "sm3") {
    plain_sm3(p, g, c, lr);
  } else {
    plain_adam(p, g, c, lr, t);
  }
}

std::vector<OptimizerConfig> variants() {
  return {
      {.kind = "adam"},
      {.kind = "adam", .weight_decay = 0.1F, .decay_vectors = true},
      {.kind = "adamw", .beta2 = 0.999F, .weight_decay = 0.1F},
      {.kind = "adamw", .weight_decay = 0.1F, .decay_vectors = true},
      {.kind = "adafactor"},
      {.kind = "adafactor", .weight_decay = 0.1F, .momentum = 0.9F},
      {.kind = "adafactor", .parameter_scale = true, .relative_step = true},
      {.kind = "sm3"},
      {.kind = "sm3", .beta1 = 0.0F, .weight_decay = 0.1F},
      {.kind = "sgd", .weight_decay = 0.1F},
      {.kind = "sgd", .momentum = 0.9F},
      {.kind = "sgd", .momentum = 0.9F, .nesterov = true},
  };
}

float rate_of_step(int step) { return 0.01F * static_cast<float>(1 + step % 3); }

void check_twenty_steps(const OptimizerConfig& config, DType compute) {
  constexpr float kGradScale = 0.5F;
  ParameterStore store;
  add_parameters(store, compute);
  std::vector<Plain> plain(store.entries().begin(), store.entries().end());
  const auto optimizer = make_optimizer(store, config);
  for (int step = 1; step <= 20; ++step) {
    set_gradients(store, step);
    store.finish_gradients();
    for (size_t i = 0; i < plain.size(); ++i) {
      Doubles g;
      for (const float value : store.entries()[i].slot.grad.to_vector()) {
        g.push_back(double{value} * double{kGradScale});
      }
      plain_step(plain[i], g, config, double{rate_of_step(step)}, step);
    }
    optimizer->step(rate_of_step(step), kGradScale);
  }
  EXPECT_EQ(optimizer->steps(), 20);
  for (size_t p = 0; p < plain.size(); ++p) {
    const ParameterEntry& entry = store.entries()[p];
    const std::vector<float> value = entry.value.to_vector();
    const std::vector<float> used = entry.compute.to_vector();
    for (size_t i = 0; i < value.size(); ++i) {
      ASSERT_NEAR(value[i], plain[p].w[i], 5e-6) << entry.name << " " << i;
      const bool narrow = compute == DType::bf16 && entry.shape.rank() >= 2;
      ASSERT_EQ(used[i], narrow ? static_cast<float>(bf16(value[i])) : value[i]);
    }
  }
}

TEST(Optimizer, TwentyStepsAreThePapers) {
  for (const OptimizerConfig& config : variants()) {
    for (const DType compute : {DType::f32, DType::bf16}) {
      SCOPED_TRACE(config::write(config).dump() + " " + std::string(name_of(compute)));
      check_twenty_steps(config, compute);
    }
  }
}

void run_steps(ParameterStore& store, Optimizer& optimizer, int first, int last) {
  for (int step = first; step <= last; ++step) {
    set_gradients(store, step);
    optimizer.step(rate_of_step(step), 0.5F);
  }
}

// Weights that are not trained get no gradient, and nothing else moves them either.
TEST(Optimizer, LeavesWhatIsNotTrainedAsItIs) {
  for (const OptimizerConfig& config : variants()) {
    ParameterStore store;
    add_parameters(store, DType::f32);
    const std::vector<float> matrix = store.find("matrix").value.to_vector();
    const std::vector<float> bias = store.find("bias").value.to_vector();
    const std::vector<float> filter = store.find("filter").value.to_vector();
    store.train_only([](std::string_view name) { return name != "matrix" && name != "bias"; });
    EXPECT_FALSE(needs_grad(store.find("matrix").compute));
    const auto optimizer = make_optimizer(store, config);
    for (int step = 1; step <= 3; ++step) {
      set_gradients(store, step);
      for (const char* name : {"matrix", "bias"}) {
        store.find(name).slot.written = false;  // nobody contributes
      }
      optimizer->step(0.1F);
    }
    SCOPED_TRACE(config::write(config).dump());
    EXPECT_EQ(store.find("matrix").value.to_vector(), matrix);
    EXPECT_EQ(store.find("bias").value.to_vector(), bias);
    EXPECT_NE(store.find("filter").value.to_vector(), filter);
  }
}

TEST(Optimizer, RestoredStateGoesOnWithTheSameBits) {
  for (const OptimizerConfig& config : variants()) {
    SCOPED_TRACE(config::write(config).dump());
    ParameterStore first;
    add_parameters(first, DType::bf16);
    const auto before = make_optimizer(first, config);
    run_steps(first, *before, 1, 6);

    ParameterStore second;
    add_parameters(second, DType::bf16);
    std::memcpy(second.values().raw(), first.values().raw(), first.values().bytes());
    second.refresh_narrow();
    const auto after = make_optimizer(second, config);
    const std::vector<StateTensor> saved = before->state();
    const std::vector<StateTensor> restored = after->state();
    ASSERT_EQ(saved.size(), restored.size());
    for (size_t i = 0; i < saved.size(); ++i) {
      ASSERT_EQ(saved[i].name, restored[i].name);
      ASSERT_EQ(saved[i].tensor.shape(), restored[i].tensor.shape());
      std::memcpy(restored[i].tensor.raw(), saved[i].tensor.raw(), saved[i].tensor.bytes());
    }
    after->set_steps(before->steps());

    run_steps(first, *before, 7, 12);
    run_steps(second, *after, 7, 12);
    EXPECT_EQ(first.values().to_vector(), second.values().to_vector());
    EXPECT_EQ(first.narrow_values().to_vector(), second.narrow_values().to_vector());
  }
}

TEST(Optimizer, StateNamesAreOfParameters) {
  ParameterStore store;
  add_parameters(store, DType::f32);
  const auto adam = make_optimizer(store, {});
  const std::vector<StateTensor> state = adam->state();
  ASSERT_EQ(state.size(), 2 * kParameters.size());
  EXPECT_EQ(state[1].name, "m/filter");
  EXPECT_EQ(state[1].tensor.shape(), Shape({5, 3, 3}));
  EXPECT_EQ(state[5].name, "v/matrix");
  const auto adafactor = make_optimizer(store, {.kind = "adafactor"});
  EXPECT_EQ(adafactor->state()[2].name, "row/filter");
  EXPECT_EQ(adafactor->state()[2].tensor.size(), 5);
  EXPECT_EQ(adafactor->state()[3].tensor.size(), 9);
}

TEST(Optimizer, FactoredStateIsSmall) {
  ParameterStore store;
  store.add("matrix", {512, 2048}, Init::normal(1));
  store.allocate(DType::f32, 1);
  const auto bytes = [&](const OptimizerConfig& config) {
    return make_optimizer(store, config)->state_bytes();
  };
  constexpr size_t kMatrix = size_t{512} * 2048 * 4;
  constexpr size_t kEdges = size_t{512 + 2048} * 4;
  EXPECT_EQ(bytes({.kind = "adam"}), 2 * kMatrix);
  EXPECT_EQ(bytes({.kind = "adafactor"}), kEdges);
  EXPECT_EQ(bytes({.kind = "adafactor", .momentum = 0.9F}), kEdges + kMatrix);
  EXPECT_EQ(bytes({.kind = "sm3", .beta1 = 0.0F}), kEdges);
  EXPECT_EQ(bytes({.kind = "sm3"}), kEdges + kMatrix);
  EXPECT_EQ(bytes({.kind = "sgd"}), 0);
}

// Half the sum of curvature (w - target)^2, with curvatures from 1 to 10.
double quadratic(ParameterStore& store) {
  double loss = 0;
  store.clear_gradients();
  for (ParameterEntry& entry : store.entries()) {
    const float* w = entry.value.data<float>();
    float* g = entry.slot.grad.data<float>();
    for (int64_t i = 0; i < entry.shape.size(); ++i) {
      const float curvature = 1.0F + static_cast<float>(i % 10);
      const float away = w[i] - std::sin(static_cast<float>(i));
      g[i] = curvature * away;
      loss += 0.5 * double{g[i]} * double{away};
    }
    entry.slot.written = true;
  }
  return loss;
}

TEST(Optimizer, EachMinimisesAQuadratic) {
  constexpr int kSteps = 400;
  const std::vector<std::pair<OptimizerConfig, float>> cases = {
      {{.kind = "adam"}, 0.1F},
      {{.kind = "adamw"}, 0.1F},
      {{.kind = "adafactor"}, 0.1F},
      {{.kind = "adafactor", .momentum = 0.9F, .parameter_scale = true}, 0.2F},
      {{.kind = "sm3"}, 0.5F},
      {{.kind = "sgd"}, 0.1F},
      {{.kind = "sgd", .momentum = 0.9F, .nesterov = true}, 0.05F}};
  for (const auto& [config, rate] : cases) {
    SCOPED_TRACE(config::write(config).dump());
    ParameterStore store;
    add_parameters(store, DType::f32);
    const auto optimizer = make_optimizer(store, config);
    const double first = quadratic(store);
    for (int step = 0; step < kSteps; ++step) {
      quadratic(store);
      optimizer->step(rate * (1.0F - static_cast<float>(step) / kSteps));
    }
    EXPECT_LT(quadratic(store), 1e-4 * first);
  }
}

TEST(Optimizer, RefusesWhatItCannotDo) {
  ParameterStore empty;
  expect_error([&] { make_optimizer(empty, {}); },
               "[optimizer] the store has no parameters for training yet");
  ParameterStore store;
  add_parameters(store, DType::f32);
  expect_error([&] { make_optimizer(store, {.kind = "lion"}); },
               "[optimizer] kind is \"lion\", expected one of: adam, adamw, adafactor, sm3, sgd");
  expect_error([&] { make_optimizer(store, {.beta1 = 1.0F}); },
               "[optimizer] beta1 is 1, expected at most 0.99999");
  expect_error([&] { make_optimizer(store, {})->set_steps(-1); },
               "[optimizer] steps is -1, expected 0 or more");
}

TEST(Optimizer, GradientNorm) {
  ParameterStore store;
  add_parameters(store, DType::f32);
  store.clear_gradients();
  ParameterEntry& gain = store.find("gain");
  gain.slot.grad.data<float>()[0] = -3.0F;
  gain.slot.written = true;
  ParameterEntry& bias = store.find("bias");
  std::memset(bias.slot.grad.raw(), 0, bias.slot.grad.bytes());
  bias.slot.grad.data<float>()[12] = 4.0F;
  bias.slot.written = true;
  EXPECT_DOUBLE_EQ(gradient_norm(store), 5.0);
}

}  // namespace
}  // namespace heed::testing
