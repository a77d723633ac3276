// Learning the distribution of images, sample by sample.
//
// The loss is the mean of -log p of a sample in nats. For held-out images it is also given as nats
// per image and as bits per dimension; a dimension is a sample.
#pragma once

#include <functional>
#include <optional>

#include "tasks/setup/data_config.h"
#include "tasks/setup/image_data.h"
#include "train/task.h"

namespace heed {

// A part of a set as a model wants it.
ImageBatch image_batch(const ImageModel& model, const ImageSet& set,
                       std::span<const int64_t> indices, int64_t enlarge);
// -log p of all samples of all images.
double image_nats(const ImageModel& model, const ImageSet& set, int64_t batch_images,
                  int64_t enlarge);

struct ImageConfig {
  ImageDataConfig image;
  BatchConfig data;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("image", image, "which images are read");
    v("data", data, "the batches");
  }
};

class ImageTask : public Task {
 public:
  using Config = ImageConfig;
  ImageTask(const Recipe& recipe, const TaskSetup& setup)
      : ImageTask(recipe, setup, own_config<Config>(recipe)) {}
  static void check_recipe(const Recipe& recipe, const Config& own, std::string_view where);
  static void check_model(const Recipe& recipe, const Config& own);

  void begin(const DataState& state) override;
  std::unique_ptr<TaskBatch> next() override;
  std::optional<int64_t> epoch_batches() const override;
  std::string skipped() const override { return splits_.train.skipped; }
  Tensor loss(const TaskBatch& batch) const override;
  Tensor full_batch_loss() const override;
  bool validates() const override { return splits_.valid.count() > 0; }
  Score validate(int64_t step) const override;
  std::string test(const std::filesystem::path& folder) const override;

 protected:
  ImageTask(const Recipe& recipe, const TaskSetup& setup, ImageConfig own);

  // levels i32 [B,T]: those of the batch, in the order of the model's steps.
  virtual Tensor images_loss(const ImageBatch& batch, const Tensor& levels) const;
  // Calls body(batch, levels) for all held-out images.
  void for_each_held_out(
      const std::function<void(const ImageBatch& batch, const Tensor& levels)>& body) const;

 private:
  struct IndexBatch : TaskBatch {
    std::vector<int64_t> images;
  };
  int64_t batch_images() const;
  std::string describe(double nats, int64_t images) const;

  Tensor loss_of(std::span<const int64_t> images) const;

  ImageConfig own_;
  ImageModel* model_ = nullptr;  // any_
  ImageSplits splits_;
  std::vector<int64_t> order_;  // of the images in the epoch
  int64_t ordered_epoch_ = -1;
  DataState state_;
};

}  // namespace heed
