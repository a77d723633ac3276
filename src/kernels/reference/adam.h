// The maths of kernels/optimizer/adam.h, obvious and slow: one weight at a time, the papers' order.
#pragma once

#include <cmath>

#include "kernels/optimizer/adam.h"

namespace heed::reference {

template <typename T>
void adam(const kernels::Adam& args, T& w, T& m, T& v, T g) {
  g *= T(args.grad_scale);
  if (args.decoupled) {
    w *= 1 - T(args.lr) * T(args.weight_decay);
  } else {
    g += T(args.weight_decay) * w;
  }
  m = T(args.beta1) * m + (1 - T(args.beta1)) * g;
  v = T(args.beta2) * v + (1 - T(args.beta2)) * g * g;
  const T m_hat = m / T(args.correction1);
  const T v_hat = v / T(args.correction2);
  w -= T(args.lr) * m_hat / (std::sqrt(v_hat) + T(args.epsilon));
}

template <typename T>
void sgd(const kernels::Sgd& args, T& w, T& m, T g) {
  g = T(args.grad_scale) * g + T(args.weight_decay) * w;
  m = T(args.momentum) * m + g;
  w -= T(args.lr) * (args.nesterov ? g + T(args.momentum) * m : m);
}

}  // namespace heed::reference
