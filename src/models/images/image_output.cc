#include "models/images/image_output.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "ops/loss/cross_entropy.h"
#include "ops/loss/logistic_mixture.h"

namespace heed {

Tensor ImageOutput::loss(const Tensor& outputs, const Tensor& targets, Reduction reduction) const {
  return kind == "categorical"
             ? cross_entropy(outputs, targets, {.reduction = reduction})
             : logistic_mixture_loss(outputs, targets, {.levels = levels, .reduction = reduction});
}

void ImageOutput::probabilities(std::span<const float> outputs,
                                std::span<float> probabilities) const {
  check(std::ssize(outputs) == size() && std::ssize(probabilities) == levels,
        "[image] {} outputs for {} levels, expected {} for {}", outputs.size(),
        probabilities.size(), size(), levels);
  if (kind == "mixture") {
    logistic_mixture_probabilities(outputs, levels, probabilities);
    return;
  }
  const float top = *std::max_element(outputs.begin(), outputs.end());
  double total = 0.0;
  for (size_t i = 0; i < outputs.size(); ++i) {
    probabilities[i] = std::exp(outputs[i] - top);
    total += probabilities[i];
  }
  for (float& probability : probabilities) {
    probability = static_cast<float>(probability / total);
  }
}

void fit_size(const char* key, int64_t& size, int64_t given) {
  check(size == 0 || size == given, "[image] model.{} is {}, but the images have {}", key, size,
        given);
  size = given;
}

}  // namespace heed
