#include "tasks/image_task.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "base/error.h"
#include "base/random.h"
#include "data/shuffle.h"
#include "models/folder.h"
#include "models/registry.h"

namespace heed {
namespace {

// What the recipe leaves open of the model is as the data, or the model to begin with, has it.
Json model_for(const Recipe& recipe, const ImageDataConfig& data, const ImageSet& images) {
  ImageSizes sizes{.rows = images.height,
                   .columns = images.width,
                   .channels = images.channels,
                   .levels = images.levels};
  if (data.classes) {
    check(images.classes > 0, "[image] image.classes is true, but the images have no labels");
    sizes.classes = images.classes;
  }
  if (const int64_t factor = data.enlarge; factor > 0) {
    check(images.height % factor == 0 && images.width % factor == 0,
          "[image] image.enlarge is {}, expected a divisor of {}x{}", factor, images.height,
          images.width);
    sizes.source_rows = images.height / factor;
    sizes.source_columns = images.width / factor;
  }
  const std::string& from = recipe.train.from;
  return with_images(
      from.empty() ? recipe.model : begun_with(recipe.model, load_config(from).model, from), sizes);
}

Tensor levels_of(const ImageSet& set, std::span<const int64_t> indices) {
  std::vector<int32_t> values;
  for (const int64_t index : indices) {
    const std::span<const uint8_t> image = set.image(index);
    values.insert(values.end(), image.begin(), image.end());
  }
  return Tensor::from_ints(values, {std::ssize(indices), set.image_bytes()});
}

// The levels in the order in which the model says them.
Tensor in_order(const ImageModel& model, const Tensor& values) {
  const std::span<const int32_t> order = model.order();
  Tensor targets = Tensor::empty(values.shape(), DType::i32);
  const int32_t* from = values.data<int32_t>();
  int32_t* to = targets.data<int32_t>();
  for (int64_t i = 0; i < values.size(); ++i) {
    const auto step = static_cast<size_t>(i % std::ssize(order));
    to[i] = from[i - static_cast<int64_t>(step) + order[step]];
  }
  return targets;
}

}  // namespace

ImageBatch image_batch(const ImageModel& model, const ImageSet& set,
                       std::span<const int64_t> indices, int64_t enlarge) {
  ImageBatch batch{.values = levels_of(set, indices), .classes = {}, .source = {}};
  if (model.classes() > 0) {
    std::vector<int32_t> classes;
    for (const int64_t index : indices) {
      classes.push_back(set.labels.at(static_cast<size_t>(index)));
    }
    batch.classes = Tensor::from_ints(classes, {std::ssize(classes)});
  }
  if (enlarge > 0) {
    ImageSet some{
        .height = set.height, .width = set.width, .channels = set.channels, .levels = set.levels};
    for (const int64_t index : indices) {
      const std::span<const uint8_t> image = set.image(index);
      some.pixels.insert(some.pixels.end(), image.begin(), image.end());
    }
    const ImageSet small = downscaled(some, enlarge);
    std::vector<int64_t> all(indices.size());
    std::iota(all.begin(), all.end(), int64_t{0});
    batch.source = levels_of(small, all);
  }
  return batch;
}

namespace {

// All images of a set, in batches.
struct ImageBatches {
  const ImageModel& model;
  const ImageSet& set;
  int64_t batch_images;
  int64_t enlarge;

  // Calls body(batch, levels); levels i32 [B,T] are in the model's order.
  template <typename Body>
  void for_each(const Body& body) const {
    for (int64_t begin = 0; begin < set.count(); begin += batch_images) {
      std::vector<int64_t> indices(
          static_cast<size_t>(std::min(batch_images, set.count() - begin)));
      std::iota(indices.begin(), indices.end(), begin);
      const ImageBatch batch = image_batch(model, set, indices, enlarge);
      body(batch, in_order(model, batch.values));
    }
  }
};

}  // namespace

double image_nats(const ImageModel& model, const ImageSet& set, int64_t batch_images,
                  int64_t enlarge) {
  double nats = 0.0;
  ImageBatches{model, set, batch_images, enlarge}.for_each(
      [&](const ImageBatch& batch, const Tensor& levels) {
        nats += model.loss(model.outputs(batch), levels, Reduction::sum).item();
      });
  return nats;
}

void ImageTask::check_recipe(const Recipe& /*recipe*/, const Config& own, std::string_view where) {
  const ImageDataConfig& image = own.image;
  check(image.drawn.empty() != image.train.empty(),
        "[{}] task image trains on exactly one of: image.train, or image.drawn", where);
  check(image.binarise == "no" || image.levels == 256,
        "[{}] image.levels is {}, but image.binarise makes two: leave one of them out", where,
        image.levels);
  check(image.valid.empty() || image.held_out == 0,
        "[{}] image.valid and image.held_out cannot be combined", where);
}

void ImageTask::check_model(const Recipe& recipe, const Config& own) {
  try_model<ImageModel>(model_for(recipe, own.image, read_sample(own.image)));
}

ImageTask::ImageTask(const Recipe& recipe, const TaskSetup& setup, ImageConfig own)
    : Task(recipe), own_(std::move(own)), splits_(read_images(own_.image)) {
  check(splits_.train.count() > 0, "[image] there is no image to train on");
  config_.model = model_for(recipe_, own_.image, splits_.train);
  config_.labels = own_.image.classes ? splits_.train.class_names : std::vector<std::string>();
  any_ = make_model(setup.scope, config_.model);
  model_ = &model_as<ImageModel>(*any_, config_.model);
}

int64_t ImageTask::batch_images() const {
  return std::max<int64_t>(1, own_.data.batch_tokens / model_->layout().samples());
}

std::optional<int64_t> ImageTask::epoch_batches() const {
  return (splits_.train.count() + batch_images() - 1) / batch_images();
}

void ImageTask::begin(const DataState& state) { state_ = state; }

std::unique_ptr<TaskBatch> ImageTask::next() {
  if (ordered_epoch_ != state_.epoch) {
    order_.resize(static_cast<size_t>(splits_.train.count()));
    std::iota(order_.begin(), order_.end(), int64_t{0});
    shuffle(order_, {recipe_.train.seed, stream_of(fmt::format("images {}", state_.epoch))});
    ordered_epoch_ = state_.epoch;
  }
  const int64_t first = state_.batch * batch_images();
  const int64_t last = std::min(first + batch_images(), splits_.train.count());
  check(0 <= first && first < last,
        "[image] the run continues with batch {} of {}; has the data changed?", state_.batch,
        *epoch_batches());
  auto batch = std::make_unique<IndexBatch>();
  batch->images.assign(order_.begin() + first, order_.begin() + last);
  batch->tokens = (last - first) * model_->layout().samples();
  batch->targets = batch->tokens;
  state_ = last < splits_.train.count()
               ? DataState{.epoch = state_.epoch, .batch = state_.batch + 1}
               : DataState{.epoch = state_.epoch + 1};
  batch->after = state_;
  return batch;
}

Tensor ImageTask::loss_of(std::span<const int64_t> images) const {
  const ImageBatch batch = image_batch(*model_, splits_.train, images, own_.image.enlarge);
  return images_loss(batch, in_order(*model_, batch.values));
}

Tensor ImageTask::images_loss(const ImageBatch& batch, const Tensor& levels) const {
  return model_->loss(model_->outputs(batch), levels, Reduction::mean);
}

void ImageTask::for_each_held_out(
    const std::function<void(const ImageBatch& batch, const Tensor& levels)>& body) const {
  ImageBatches{*model_, splits_.valid, batch_images(), own_.image.enlarge}.for_each(body);
}

Tensor ImageTask::loss(const TaskBatch& batch) const {
  return loss_of(static_cast<const IndexBatch&>(batch).images);
}

Tensor ImageTask::full_batch_loss() const {
  std::vector<int64_t> some(static_cast<size_t>(std::min(batch_images(), splits_.train.count())));
  std::iota(some.begin(), some.end(), int64_t{0});
  return loss_of(some);
}

std::string ImageTask::describe(double nats, int64_t images) const {
  const auto samples = static_cast<double>(images * model_->layout().samples());
  return fmt::format("{:.3f} nats per image, {:.4f} bits per dimension, over {} images",
                     nats / static_cast<double>(images), nats / samples / std::numbers::ln2,
                     images);
}

Score ImageTask::validate(int64_t /*step*/) const {
  const double nats = image_nats(*model_, splits_.valid, batch_images(), own_.image.enlarge);
  const auto samples = static_cast<double>(splits_.valid.count() * model_->layout().samples());
  Score score{.loss = nats / samples};
  score.example = describe(nats, splits_.valid.count());
  return score;
}

std::string ImageTask::test(const std::filesystem::path& folder) const {
  if (splits_.test.count() == 0) {
    return "";
  }
  const auto loaded = load_as<ImageModel>(folder, DType::f32);
  const double nats = image_nats(*loaded->model, splits_.test, batch_images(), own_.image.enlarge);
  return "test: " + describe(nats, splits_.test.count());
}

}  // namespace heed
