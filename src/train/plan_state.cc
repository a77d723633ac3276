// What becomes of gradients and weights after the backward pass: their memory, their exchange and
// the optimizer.
#include <algorithm>

#include "base/error.h"
#include "train/gradient_exchange.h"
#include "train/plan.h"

namespace heed {
namespace {

class Updates {
 public:
  Updates(const Recipe& recipe, const ParameterStore& store, PlannedWork& work)
      : recipe_(recipe),
        store_(store),
        mesh_(store.mesh()),
        narrow_(recipe.train.precision == "bf16"),
        work_(work) {}

  void count() {
    count_gradients();
    count_weights();
    count_numbers();
    count_memory();
  }

 private:
  void count_gradients();
  void count_weights();
  void count_numbers();
  void count_memory();
  Stretch largest_stretch() const;
  size_t state_elements(const Stretch& updated) const;
  double touched_bytes(const Stretch& updated) const;

  const Recipe& recipe_;
  const ParameterStore& store_;
  const Mesh& mesh_;
  bool narrow_;  // matrices are used through a bf16 copy
  PlannedWork& work_;
};

void Updates::count_gradients() {
  const Group& batch = mesh_.along("batch");
  if (batch.alone()) {
    return;
  }
  const double wire = recipe_.mesh.wire == "bf16" ? 2.0 : 4.0;
  const double members = batch.size();
  const Bounds& owners = store_.owners();
  double buffer = 0.0;
  for (const GradientBucket& bucket : gradient_buckets(store_, recipe_.mesh)) {
    const auto size = static_cast<double>(bucket.range.size());
    double part = size / members;
    if (store_.sharded()) {
      int64_t largest = 0;  // of what each owner has of it
      for (size_t i = 0; i + 1 < owners.size(); ++i) {
        largest = std::max(largest, std::min(owners[i + 1], bucket.range.end) -
                                        std::max(owners[i], bucket.range.begin));
      }
      part = static_cast<double>(largest);
    }
    work_.gradients.push_back({.axis = axis_of(mesh_, "batch"),
                               .part = wire * part,
                               .times = store_.sharded() ? 1 : 2,
                               .to_one = store_.sharded()});
    // The parts of the others, their sum, and a narrower copy of what is sent.
    buffer = std::max(buffer,
                      wire * part * (members - 1) + 4.0 * part + (wire < 4.0 ? wire * size : 0.0));
  }
  work_.memory.buffers += static_cast<size_t>(buffer);
}

// Owners send their matrices as they are used, and their vectors in f32.
void Updates::count_weights() {
  if (!store_.sharded()) {
    return;
  }
  const Bounds& owners = store_.owners();
  double matrices = 0.0;
  double vectors = 0.0;
  for (size_t i = 0; i + 1 < owners.size(); ++i) {
    const Stretch own{owners[i], owners[i + 1]};
    double elements = 0.0;
    for (const ParameterEntry& entry : store_.entries()) {
      const bool vector = own.contains(entry) && entry.shape.rank() < 2;
      elements += vector ? static_cast<double>(entry.shape.size()) : 0.0;
    }
    matrices = std::max(matrices, (narrow_ ? 2.0 : 4.0) * static_cast<double>(own.size()));
    vectors = std::max(vectors, 4.0 * elements);
  }
  const std::string axis = axis_of(mesh_, "batch");
  work_.weights.push_back({.axis = axis, .part = matrices});
  if (narrow_) {
    work_.weights.push_back({.axis = axis, .part = vectors});
  }
}

// See Trainer: whether to stop and the time; loss and random numbers; the norm of the gradient.
void Updates::count_numbers() {
  if (mesh_.alone()) {
    return;
  }
  constexpr double kNumber = sizeof(double);
  work_.numbers.push_back({.axis = "", .part = kNumber, .times = 2});
  const auto add = [&](std::string_view dimension, int64_t times) {
    if (!mesh_.along(dimension).alone()) {
      work_.numbers.push_back({.axis = axis_of(mesh_, dimension), .part = kNumber, .times = times});
    }
  };
  add("batch", store_.sharded() ? 3 : 2);
  add("heads", 1);
  add("hidden", 1);
  add("vocabulary", 1);
}

// What the process updates that has most to update.
Stretch Updates::largest_stretch() const {
  const Bounds& owners = store_.owners();
  if (!store_.sharded()) {
    return {0, owners.back()};
  }
  Stretch largest;
  for (size_t i = 0; i + 1 < owners.size(); ++i) {
    const Stretch own{owners[i], owners[i + 1]};
    largest = own.size() > largest.size() ? own : largest;
  }
  return largest;
}

// Elements of the optimizer's state: see train/optimizer.cc.
size_t Updates::state_elements(const Stretch& updated) const {
  const OptimizerConfig& config = recipe_.optimizer;
  const bool factored = config.kind == "adafactor" || config.kind == "sm3";
  int64_t copies = config.kind == "adam" || config.kind == "adamw" ? 2 : 0;
  if (config.kind == "sm3") {
    copies = config.beta1 > 0.0F ? 1 : 0;
  } else if (copies == 0) {
    copies = config.momentum > 0.0F ? 1 : 0;
  }
  int64_t elements = 0;
  for (const ParameterEntry& entry : store_.entries()) {
    if (!updated.contains(entry)) {
      continue;
    }
    const Shape& shape = entry.shape;
    elements += copies * shape.size();
    if (factored) {
      check(entry.cut.whole(),
            "[plan] optimizer.kind is {}, which keeps sums of whole rows and columns, and {} is "
            "split over the mesh: take adam, adamw or sgd, or split the batch only",
            config.kind, entry.name);
      elements += shape.rank() >= 2 ? shape[0] + shape.product(1, shape.rank()) : 1 + shape.size();
    }
  }
  return static_cast<size_t>(elements);
}

// Weights and state are read and written, the copy is written; the gradient is read for its norm
// and for the update, and once more for the sums of rows and columns; averages read the weights.
double Updates::touched_bytes(const Stretch& updated) const {
  const std::string& kind = recipe_.optimizer.kind;
  const auto elements = static_cast<double>(updated.size());
  const bool factored = kind == "adafactor" || kind == "sm3";
  const double weights = 8.0 + (narrow_ ? 2.0 : 0.0);
  const double gradients = factored ? 12.0 : 8.0;
  const double average = recipe_.train.ema > 0.0F ? 12.0 : 0.0;
  return elements * (weights + gradients + average) +
         8.0 * static_cast<double>(state_elements(updated));
}

void Updates::count_memory() {
  const auto flat = static_cast<size_t>(store_.owners().back());
  const Stretch updated = largest_stretch();
  const auto own = static_cast<size_t>(updated.size());
  PlannedMemory& memory = work_.memory;
  memory.weights = 4 * (narrow_ ? own : flat) + (narrow_ ? 2 * flat : 0);
  memory.gradients = 4 * flat;
  memory.optimizer = 4 * state_elements(updated);
  memory.average = recipe_.train.ema > 0.0F ? 4 * own : 0;
  work_.optimizer_bytes = touched_bytes(updated);
}

}  // namespace

std::string axis_of(const Mesh& mesh, std::string_view dimension) {
  if (mesh.along(dimension).alone()) {
    return "";
  }
  return parse_layout(mesh.config().layout).at(std::string(dimension));
}

void count_updates(const Recipe& recipe, const ParameterStore& store, PlannedWork& work) {
  Updates(recipe, store, work).count();
}

}  // namespace heed
