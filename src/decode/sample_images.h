// Images drawn from a model, sample by sample: from nothing, or around what is given of them.
//
// Images are independent: what is drawn depends on the conditions, the options and the image's
// number alone. A model may be used by several threads at once.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "decode/sampling.h"
#include "models/model.h"

namespace heed {

struct SampleOptions {
  int64_t images = 1;
  ImageBatch conditions = {};    // classes and source, for each image; values where some are given
  std::vector<bool> given = {};  // by raster index, which of the values; empty: none
  SamplingOptions sampling = {};
  uint64_t seed = 1;
};

// After every step: how many are done, and all levels so far, [images, T] in raster order. Drawing
// ends when it returns false; what is not drawn yet is 0.
using SampleCallback = std::function<bool(int64_t steps, std::span<const int32_t> levels)>;

// Levels, [images, T] in raster order.
std::vector<int32_t> sample_images(const ImageModel& model, const SampleOptions& options,
                                   const SampleCallback& progress = {});

// log p of each image in nats, step by step as drawing goes: what one pass over the whole image
// gives too.
std::vector<double> stepwise_log_likelihood(const ImageModel& model, const ImageBatch& images);

}  // namespace heed
