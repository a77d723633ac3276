// Improved semantic hashing (Kaiser and Bengio 2018): vectors become bits that gradients can pass.
#pragma once

#include "tensor/tensor.h"

namespace heed {

struct SemanticHashOptions {
  float noise = 1.0F;     // standard deviation of what training adds
  float discrete = 0.5F;  // share of the rows that training makes bits; the others stay between
};

// x [..., W] -> [..., W], the bits of each row: 1 where x > 0, else 0.
//
// While a tape is in scope, noise is added to x, and a row is either bits or the saturating sigmoid
// of its values, as chance decides. In both the gradient is that of the saturating sigmoid s (the
// straight-through estimator): dx = dy s'(x + noise).
Tensor semantic_hash(const Tensor& x, const SemanticHashOptions& options = {});

// x [..., S * bits], bits or what semantic_hash() makes bits of: those above 0 are set -> codes i32
// [..., S] below 2^bits, the first bit being the lowest. Without gradient.
Tensor codes_of_bits(const Tensor& x, int64_t bits);
// The other way round: codes i32 [..., S] -> [..., S * bits], 0 or 1.
Tensor bits_of_codes(const Tensor& codes, int64_t bits, DType dtype);

}  // namespace heed
