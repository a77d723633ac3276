// Learning the distribution of images, sample by sample.
//
// The loss is the mean of -log p of a sample in nats. For held-out images it is also given as nats
// per image and as bits per dimension; a dimension is a sample.
#pragma once

#include <optional>

#include "tasks/data_config.h"
#include "tasks/image_data.h"
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

class ImageTask : public TaskWith<ImageConfig> {
 public:
  ImageTask(const Recipe& recipe, const TaskSetup& setup);
  static void check_recipe(const Recipe& recipe, const Config& own, std::string_view where);

  void begin(const DataState& state) override;
  std::unique_ptr<TaskBatch> next() override;
  std::optional<int64_t> epoch_batches() const override;
  std::string skipped() const override { return splits_.train.skipped; }
  Tensor loss(const TaskBatch& batch) const override;
  Tensor full_batch_loss() const override;
  bool validates() const override { return splits_.valid.count() > 0; }
  Score validate(int64_t step) const override;
  std::string test(const std::filesystem::path& folder) const override;

 private:
  struct IndexBatch : TaskBatch {
    std::vector<int64_t> images;
  };
  int64_t batch_images() const;
  std::string describe(double nats, int64_t images) const;

  Tensor loss_of(std::span<const int64_t> images) const;

  ImageModel* model_ = nullptr;  // any_
  ImageSplits splits_;
  std::vector<int64_t> order_;  // of the images in the epoch
  int64_t ordered_epoch_ = -1;
  DataState state_;
};

}  // namespace heed
