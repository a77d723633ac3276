// Learning to propose several tokens of a text at once (Stern, Shazeer and Uszkoreit 2018); see
// tasks/blockwise/translate_blockwise_task.h.
#pragma once

#include "models/language/blockwise_gpt.h"
#include "tasks/blockwise/proposal_loss.h"
#include "tasks/language_task.h"

namespace heed {

class LanguageBlockwiseTask : public LanguageTask {
 public:
  using Config = WithHeads<LanguageConfig>;
  LanguageBlockwiseTask(const Recipe& recipe, const TaskSetup& setup);
  static void check_recipe(const Recipe& recipe, const Config& own, std::string_view where);
  static void check_model(const Recipe& recipe, const Config& own);

  bool fresh(std::string_view parameter) const override { return heads_.is_head(parameter); }
  bool trains(std::string_view parameter) const override { return heads_.trains(parameter); }
  // The mean of all heads that learn.
  Score validate(int64_t step) const override;

 protected:
  Tensor window_loss(const Tensor& tokens, const Tensor& targets) const override;

 private:
  ProposalLoss proposals(const Tensor& tokens, const Tensor& targets) const;

  BlockwiseHeadsConfig heads_;
  BlockwiseGpt* model_ = nullptr;  // any_
};

}  // namespace heed
