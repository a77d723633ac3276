// Images drawn from a model, sample by sample: from nothing, or around what is given of them.
//
// Images are independent: what is drawn depends on the conditions, the options and the image's
// number alone. A model may be used by several threads at once.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "data/images/images.h"
#include "decode/sampling.h"
#include "models/folder.h"

namespace heed {

using LoadedImageModel = Loaded<ImageModel>;

// How images become what a model of the layout reads.
ImageOptions options_for(const ImageLayout& layout);
// Levels [images, T] in raster order as a set.
ImageSet image_set(const ImageLayout& layout, std::span<const int32_t> levels);
// The class of each image, i32 [images]: the one that is wanted, by name or number, or all by turns
// if none is. Undefined of a model that knows no classes; it is an Error to want one then.
Tensor classes_for(const LoadedImageModel& model, const std::string& wanted, int64_t images);

struct SampleOptions {
  int64_t images = 1;
  ImageBatch conditions = {};    // classes and source, for each image; values where some are given
  std::vector<bool> given = {};  // by raster index, which of the values; empty: none
  SamplingOptions sampling = {};
  uint64_t seed = 1;
};

// Images while they are drawn. Belongs to one thread; the model must outlive it.
class ImageDrawing {
 public:
  // An Error for options that cannot be.
  ImageDrawing(const ImageModel& model, SampleOptions options);

  // Draws the next sample of every image.
  void step() { step_together(std::array{this}); }
  // Draws the next sample of several drawings by one model, each where it stands: as if one by one,
  // but faster.
  static void step_together(std::span<ImageDrawing* const> drawings);
  bool finished() const { return steps_ == std::ssize(model_.order()); }
  int64_t steps() const { return steps_; }
  // [images, T] in raster order; what is not drawn yet is 0.
  const std::vector<int32_t>& levels() const { return levels_; }

 private:
  void draw_next(std::span<const std::vector<float>> log_probabilities);

  const ImageModel& model_;
  SampleOptions options_;
  std::unique_ptr<DecodeState> state_;
  Tensor before_;  // what the last step drew, i32 [images]
  int64_t steps_ = 0;
  std::vector<int32_t> levels_;
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
