// How a model says the distribution of a sample: a probability for each level, or a mixture of
// logistic distributions over them (Salimans et al. 2017).
#pragma once

#include <span>
#include <string>

#include "models/model.h"

namespace heed {

struct ImageOutput {
  std::string kind = "categorical";  // categorical or mixture
  int64_t levels = 256;
  int64_t mixtures = 10;

  int64_t size() const { return kind == "categorical" ? levels : 3 * mixtures; }  // O
  // outputs [..., O], levels i32 [...] -> -log p in nats.
  Tensor loss(const Tensor& outputs, const Tensor& targets, Reduction reduction) const;
  // The probability of each level, from O numbers.
  void probabilities(std::span<const float> outputs, std::span<float> probabilities) const;
};

// What models that say samples so have in common.
class SampledImageModel : public ImageModel {
 public:
  const ImageLayout& layout() const final { return layout_; }
  Tensor loss(const Tensor& outputs, const Tensor& levels, Reduction reduction) const final {
    return output_.loss(outputs, levels, reduction);
  }
  void probabilities(std::span<const float> outputs, std::span<float> probabilities) const final {
    output_.probabilities(outputs, probabilities);
  }

 protected:
  // From a configuration with rows, columns, channels, levels, output and mixtures.
  template <typename Config>
  explicit SampledImageModel(const Config& config)
      : layout_{config.rows, config.columns, config.channels, config.levels},
        output_{config.output, config.levels, config.mixtures} {}

  ImageLayout layout_;
  ImageOutput output_;
};

// A size that a configuration leaves open (0) becomes the data's; another one is an Error.
void fit_size(const char* key, int64_t& size, int64_t given);
// All of them but those of small images.
template <typename Config>
void fit_images(Config& config, const ImageSizes& images) {
  fit_size("rows", config.rows, images.rows);
  fit_size("columns", config.columns, images.columns);
  fit_size("channels", config.channels, images.channels);
  fit_size("levels", config.levels, images.levels);
  if (images.classes > 0) {
    fit_size("classes", config.classes, images.classes);
  }
}

}  // namespace heed
