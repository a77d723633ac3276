// The discretised mixture of logistics (Salimans et al. 2017, PixelCNN++) over one value at a time,
// such as one channel of a pixel: few parameters for many ordered levels.
#pragma once

#include <span>

#include "base/ignore.h"
#include "ops/loss/reduction.h"
#include "tensor/tensor.h"

namespace heed {

struct LogisticMixtureOptions {
  int64_t levels = 256;                   // 2 to 65536; level v stands at 2 v / (levels - 1) - 1
  Reduction reduction = Reduction::mean;  // mean: over the targets that count
  int32_t ignore = kIgnore;               // targets that do not count
};

// The negative log-likelihood in nats: parameters [..., 3K] (K logits of the weights, K means, K
// log-scales, which count as -7 at least), targets i32 [...] of levels -> f32, one element, or
// [...] for Reduction::none.
Tensor logistic_mixture_loss(const Tensor& parameters, const Tensor& targets,
                             const LogisticMixtureOptions& options = {});

// The probability of every level under the 3K parameters of one position, for samplers:
// probabilities holds `levels` numbers that sum to 1.
void logistic_mixture_probabilities(std::span<const float> parameters, int64_t levels,
                                    std::span<float> probabilities);

}  // namespace heed
