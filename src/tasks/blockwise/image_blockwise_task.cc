#include "tasks/blockwise/image_blockwise_task.h"

#include <algorithm>

#include "models/registry.h"

namespace heed {

void ImageBlockwiseTask::check_recipe(const Recipe& recipe, const Config& own,
                                      std::string_view where) {
  ImageTask::check_recipe(recipe, own, where);
  own.blockwise.check_recipe(recipe, where);
}

void ImageBlockwiseTask::check_model(const Recipe& recipe, const Config& own) {
  ImageTask::check_model(recipe, own);
}

ImageBlockwiseTask::ImageBlockwiseTask(const Recipe& recipe, const TaskSetup& setup)
    : ImageTask(recipe, setup, own_config<Config>(recipe)),
      heads_(own_config<Config>(recipe).blockwise),
      model_(&model_as<BlockwiseImageTransformer>(*any_, config_.model)) {}

ProposalLoss ImageBlockwiseTask::proposals(const ImageBatch& batch, const Tensor& levels) const {
  return {*model_, heads_.first_head(),
          hidden_states(heads_.frozen, [&] { return model_->hidden(batch); }),  // [B,T,C]
          levels};
}

Tensor ImageBlockwiseTask::images_loss(const ImageBatch& batch, const Tensor& levels) const {
  return proposals(batch, levels).of_drawn(heads_.heads, {});
}

Score ImageBlockwiseTask::validate(int64_t /*step*/) const {
  double total = 0.0;
  int64_t images = 0;
  for_each_held_out([&](const ImageBatch& batch, const Tensor& levels) {
    total += proposals(batch, levels).of_all() * static_cast<double>(levels.dim(0));
    images += levels.dim(0);
  });
  Score score{.loss = total / static_cast<double>(std::max<int64_t>(images, 1))};
  return score;
}

}  // namespace heed
