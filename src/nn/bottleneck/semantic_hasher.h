// Improved semantic hashing as a layer (Kaiser and Bengio 2018): a projection to a few numbers,
// their signs as bits, and a small network from the bits back to a vector.
#pragma once

#include "nn/bottleneck/bottleneck.h"
#include "nn/layers.h"

namespace heed {

class SemanticHasher final : public Bottleneck {
 public:
  SemanticHasher(const Scope& s, int64_t width, const BottleneckConfig& config);

  Discrete operator()(const Tensor& x, float discrete = 1.0F) const override;
  Tensor embed(const Tensor& codes) const override;

 private:
  Tensor spread(const Tensor& bits) const;  // [N,S*b] -> [N,C]

  float noise_;
  int64_t bits_;  // b: of a code
  Linear hash_;
  Linear hidden_;
  Linear out_;
};

}  // namespace heed
