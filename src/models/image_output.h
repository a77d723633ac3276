// How a model says the distribution of a sample: a probability for each level, or a mixture of
// logistic distributions over them (Salimans et al. 2017).
#pragma once

#include <span>
#include <string>

#include "ops/reduction.h"
#include "tensor/tensor.h"

namespace heed {

struct ImageOutput {
  std::string kind = "categorical";  // categorical or mixture
  int64_t levels = 256;
  int64_t mixtures = 10;

  int64_t size() const { return kind == "categorical" ? levels : 3 * mixtures; }  // O
  // outputs [..., O], levels i32 [...] -> -log p in nats.
  Tensor loss(const Tensor& outputs, const Tensor& targets, Reduction reduction) const;
  // Of each level, from O numbers.
  void probabilities(std::span<const float> outputs, std::span<float> probabilities) const;
};

}  // namespace heed
