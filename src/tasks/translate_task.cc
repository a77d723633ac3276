#include "tasks/translate_task.h"

#include "models/registry.h"

namespace heed {

void TranslateTask::check_recipe(const Recipe& /*recipe*/, const Config& own,
                                 std::string_view where) {
  own.PairSections::check_recipe(where);
  own.train.check_recipe(where);
}

void TranslateTask::check_model(const Recipe& recipe, const Config& own) {
  try_model<Seq2SeqModel>(planned_model(recipe, own.text, own.text.joint));
}

TranslateTask::TranslateTask(const Recipe& recipe, const TaskSetup& setup)
    : PairTask(recipe, setup, own_config<Config>(recipe)), own_(own_config<Config>(recipe)) {
  config_.model = model_to_train(recipe_, tokenizers_);
  any_ = make_model(setup.scope, config_.model);
  model_ = &model_as<Seq2SeqModel>(*any_, config_.model);
}

Tensor TranslateTask::pair_loss(const HostBatch& batch) const {
  const LossConfig config = own_.train.config();
  const Batch tensors = to_tensors(batch, config.copies());
  return sequence_loss([&] { return model_->logits(tensors); }, tensors.target, config);
}

BatchLoss TranslateTask::held_out_loss(const TranslationModel& model) const {
  return token_loss(dynamic_cast<const Seq2SeqModel&>(model));
}

Tensor TranslateTask::full_batch_loss() const { return pair_loss(full_batch()); }

}  // namespace heed
