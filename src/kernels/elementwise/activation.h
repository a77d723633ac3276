// The activation functions that models name in their configuration.
#pragma once

namespace heed {

enum class Activation {
  none,
  relu,
  gelu,       // x * Phi(x), the exact form
  gelu_tanh,  // GPT-2's approximation by tanh
  // Matrix products fuse the ones above; the ones below are applied in a pass of their own.
  sigmoid,
  tanh,
  silu,  // x * sigmoid(x), also called swish
  softplus,
  mish,  // x * tanh(softplus(x))
  elu,
  leaky_relu,  // slope 0.01 below zero
};

inline constexpr float kLeakySlope = 0.01F;

}  // namespace heed
