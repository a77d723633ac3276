// A bottleneck of categorical samples (Jang, Gu and Poole 2017): logits for each code, a sample
// that gradients pass, and an embedding for each code.
#pragma once

#include "nn/bottleneck/bottleneck.h"
#include "nn/layers.h"

namespace heed {

class GumbelBottleneck final : public Bottleneck {
 public:
  GumbelBottleneck(const Scope& s, int64_t width, const BottleneckConfig& config);

  // The penalty is KL(mean distribution of the batch || uniform): all codes are to be used.
  Discrete operator()(const Tensor& x, float discrete = 1.0F) const override;
  Tensor embed(const Tensor& codes) const override;

 private:
  BottleneckConfig config_;
  Linear logits_;
  Parameter table_;  // [S*K,C]
};

}  // namespace heed
