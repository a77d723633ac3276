// Learning to propose several samples of an image at once (Stern, Shazeer and Uszkoreit 2018); see
// tasks/blockwise/translate_blockwise_task.h.
#pragma once

#include "models/images/blockwise_image_transformer.h"
#include "tasks/blockwise/proposal_loss.h"
#include "tasks/image_task.h"

namespace heed {

class ImageBlockwiseTask : public ImageTask {
 public:
  using Config = WithHeads<ImageConfig>;
  ImageBlockwiseTask(const Recipe& recipe, const TaskSetup& setup);
  static void check_recipe(const Recipe& recipe, const Config& own, std::string_view where);
  static void check_model(const Recipe& recipe, const Config& own);

  bool fresh(std::string_view parameter) const override { return heads_.is_head(parameter); }
  bool trains(std::string_view parameter) const override { return heads_.trains(parameter); }
  // The mean of all heads that learn.
  Score validate(int64_t step) const override;

 protected:
  Tensor images_loss(const ImageBatch& batch, const Tensor& levels) const override;

 private:
  ProposalLoss proposals(const ImageBatch& batch, const Tensor& levels) const;

  BlockwiseHeadsConfig heads_;
  BlockwiseImageTransformer* model_ = nullptr;  // any_
};

}  // namespace heed
