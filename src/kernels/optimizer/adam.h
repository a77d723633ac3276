// Optimizer steps over flat f32 arrays, each one pass over memory, and the norm for clipping.
#pragma once

#include <cstdint>

#include "tensor/dtype.h"

namespace heed::kernels {

// Adam (Kingma and Ba 2015) and AdamW (Loshchilov and Hutter 2019):
//   g = grad_scale g;  without `decoupled`: g = g + weight_decay w
//   m = beta1 m + (1 - beta1) g,  v = beta2 v + (1 - beta2) g^2
//   w = w - lr (m / correction1) / (sqrt(v / correction2) + epsilon)
// with w multiplied by 1 - lr weight_decay first if `decoupled`.
struct Adam {
  int64_t n;
  float* w;
  float* m;
  float* v;
  const float* g;
  bf16* narrow = nullptr;  // the new w, rounded; null if not wanted
  float lr;
  float beta1 = 0.9F;
  float beta2 = 0.999F;
  float epsilon = 1e-8F;
  float weight_decay = 0.0F;
  bool decoupled = false;
  float correction1 = 1.0F;  // 1 - beta1^t at step t = 1, 2, ...
  float correction2 = 1.0F;  // 1 - beta2^t
  float grad_scale = 1.0F;   // clipping, loss scaling
};
void adam(const Adam& args);

// Gradient descent with momentum:
//   g = grad_scale g + weight_decay w,  m = momentum m + g,  w = w - lr m   (nesterov: g + momentum
//   m)
struct Sgd {
  int64_t n;
  float* w;
  float* m = nullptr;  // null: no momentum
  const float* g;
  bf16* narrow = nullptr;
  float lr;
  float momentum = 0.0F;
  float weight_decay = 0.0F;
  bool nesterov = false;
  float grad_scale = 1.0F;
};
void sgd(const Sgd& args);

// Sum of squares, the same for any number of threads.
double squared_sum(const float* x, int64_t n);

}  // namespace heed::kernels
