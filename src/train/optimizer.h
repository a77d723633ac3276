// Optimizers over the flat store: Adam, AdamW, Adafactor, SM3 and SGD behind one interface.
//
// Each updates the f32 master and writes the bf16 copy in the same pass. The learning rate comes
// with every step (train/schedule.h); clipping comes as a factor on the gradients.
//
// An optimizer keeps a reference to its store, which must outlive it, and owns its state. Steps do
// not allocate once the first has run, and give the same bits for any number of threads. Not thread
// safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/config.h"
#include "nn/parameters.h"

namespace heed {

struct OptimizerConfig {
  std::string kind = "adam";
  float beta1 = 0.9F;
  float beta2 = 0.98F;
  float epsilon = 1e-8F;
  float weight_decay = 0.0F;
  bool decay_vectors = false;
  float momentum = 0.0F;
  bool nesterov = false;
  bool parameter_scale = false;
  bool relative_step = false;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("kind", kind, "optimizer; adafactor, and sm3 with beta1 = 0, keep almost no state",
      {.choices = {"adam", "adamw", "adafactor", "sm3", "sgd"}});
    v("beta1", beta1,
      "adam, adamw: decay of the mean gradient; sm3: decay of the mean update (0: none)",
      {.least = 0, .most = kMostDecay});
    v("beta2", beta2, "adam, adamw: decay of the mean squared gradient",
      {.least = 0, .most = kMostDecay});
    v("epsilon", epsilon, "adam, adamw: added to the denominator", {.least = 1e-20, .most = 1});
    v("weight_decay", weight_decay,
      "adam, sgd: add this times the weight to its gradient; others: shrink the weight by this "
      "times the learning rate in each step",
      {.least = 0, .most = 1});
    v("decay_vectors", decay_vectors,
      "apply weight_decay to biases and norms too, not only to matrices");
    v("momentum", momentum,
      "sgd: decay of the summed gradient; adafactor: decay of the mean update",
      {.least = 0, .most = kMostDecay});
    v("nesterov", nesterov, "sgd: use Nesterov momentum");
    v("parameter_scale", parameter_scale,
      "adafactor: scale the learning rate by each parameter's root mean square");
    v("relative_step", relative_step,
      "adafactor: use the paper's learning rate, min(0.01, 1 / sqrt(step)), instead of the "
      "schedule's");
  }

  static constexpr double kMostDecay = 0.99999;  // 1 would never let anything in
};

// A tensor that a checkpoint saves and restores.
struct StateTensor {
  std::string name;                       // "m/decoder.0.norm.weight"
  Tensor tensor;                          // a view of the live one
  const ParameterEntry* entry = nullptr;  // whose it is: split over a mesh as that parameter is
};

// A view for each parameter that this process updates, of an array laid out like theirs.
void add_state_views(const ParameterStore& store, const std::string& prefix, const Tensor& flat,
                     std::vector<StateTensor>& state);

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // Takes the store's gradients, times grad_scale.
  void step(float learning_rate, float grad_scale = 1.0F);

  // Besides the number of steps, all that the next step depends on; in the order of the parameters.
  virtual std::vector<StateTensor> state() const = 0;
  size_t state_bytes() const;
  int64_t steps() const { return steps_; }
  void set_steps(int64_t steps);

 protected:
  explicit Optimizer(ParameterStore& store) : store_(store) {}
  ParameterStore& store() const { return store_; }

 private:
  virtual void update(float learning_rate, float grad_scale) = 0;  // steps() counts this one

  ParameterStore& store_;
  int64_t steps_ = 0;
};

// The store must be allocated for training.
std::unique_ptr<Optimizer> make_optimizer(ParameterStore& store, const OptimizerConfig& config);

// Euclidean norm of all gradients, on all processes of a mesh, which all call it.
double gradient_norm(ParameterStore& store);

}  // namespace heed
