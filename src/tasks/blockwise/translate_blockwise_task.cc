#include "tasks/blockwise/translate_blockwise_task.h"

#include "models/registry.h"

namespace heed {

void TranslateBlockwiseTask::check_recipe(const Recipe& recipe, const Config& own,
                                          std::string_view where) {
  own.PairSections::check_recipe(where);
  own.train.check_recipe(where);
  own.blockwise.check_recipe(recipe, where);
}

void TranslateBlockwiseTask::check_model(const Recipe& recipe, const Config& own) {
  try_model<BlockwiseTransformer>(planned_model(recipe, own.text, own.text.joint));
}

TranslateBlockwiseTask::TranslateBlockwiseTask(const Recipe& recipe, const TaskSetup& setup)
    : PairTask(recipe, setup, own_config<Config>(recipe)), own_(own_config<Config>(recipe)) {
  config_.model = model_to_train(recipe_, tokenizers_);
  any_ = make_model(setup.scope, config_.model);
  model_ = &model_as<BlockwiseTransformer>(*any_, config_.model);
}

Tensor TranslateBlockwiseTask::pair_loss(const HostBatch& batch) const {
  const Batch tensors = to_tensors(batch);
  const Tensor hidden =
      hidden_states(own_.blockwise.frozen, [&] { return model_->hidden(tensors); });  // [B,T,C]
  return ProposalLoss{*model_, own_.blockwise.first_head(), hidden, tensors.target}.of_drawn(
      own_.blockwise.heads, own_.train.config());
}

BatchLoss TranslateBlockwiseTask::held_out_loss(const TranslationModel& model) const {
  return [first = own_.blockwise.first_head(),
          &blockwise = dynamic_cast<const BlockwiseTransformer&>(model)](const HostBatch& batch) {
    const Batch tensors = to_tensors(batch);
    return ProposalLoss{blockwise, first, blockwise.hidden(tensors), tensors.target}.of_all();
  };
}

void TranslateBlockwiseTask::set_metric(const ValidationScore& found, Score& score) const {
  if (!own_.blockwise.frozen) {
    PairTask::set_metric(found, score);
    return;
  }
  score.metric = "tokens_per_pass";
  score.value = found.passes.mean();
}

}  // namespace heed
