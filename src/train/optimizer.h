// Optimizers over the flat store: one loop over all parameters.
#pragma once

#include "nn/module.h"

namespace heed {

struct AdamOptions {
  float learning_rate = 1e-4F;
  float beta1 = 0.9F;
  float beta2 = 0.98F;
  float epsilon = 1e-8F;
  float weight_decay = 0.0F;
  bool decoupled = false;  // AdamW
};

// Adam (Kingma and Ba 2015) and AdamW (Loshchilov and Hutter 2019). Updates the f32 master and
// writes the bf16 copy in the same pass.
class Adam {
 public:
  Adam(ParameterStore& store, const AdamOptions& options);

  // Takes the store's gradients, scaled by grad_scale (for clipping).
  void step(float grad_scale = 1.0F);
  int64_t steps() const { return steps_; }

 private:
  ParameterStore& store_;
  AdamOptions options_;
  Tensor m_, v_;
  int64_t steps_ = 0;
};

// Euclidean norm of all gradients.
double gradient_norm(ParameterStore& store);

}  // namespace heed
