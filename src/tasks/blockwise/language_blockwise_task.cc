#include "tasks/blockwise/language_blockwise_task.h"

#include <algorithm>

#include "models/registry.h"

namespace heed {

void LanguageBlockwiseTask::check_recipe(const Recipe& recipe, const Config& own,
                                         std::string_view where) {
  LanguageTask::check_recipe(recipe, own, where);
  own.blockwise.check_recipe(recipe, where);
}

void LanguageBlockwiseTask::check_model(const Recipe& recipe, const Config& own) {
  try_model<BlockwiseGpt>(planned_model(recipe, own.text));
}

LanguageBlockwiseTask::LanguageBlockwiseTask(const Recipe& recipe, const TaskSetup& setup)
    : LanguageTask(recipe, setup, own_config<Config>(recipe)),
      heads_(own_config<Config>(recipe).blockwise),
      model_(&model_as<BlockwiseGpt>(*any_, config_.model)) {}

ProposalLoss LanguageBlockwiseTask::proposals(const Tensor& tokens, const Tensor& targets) const {
  return {*model_, heads_.first_head(),
          hidden_states(heads_.frozen, [&] { return model_->hidden(tokens); }),  // [B,T,C]
          targets};
}

Tensor LanguageBlockwiseTask::window_loss(const Tensor& tokens, const Tensor& targets) const {
  return proposals(tokens, targets).of_drawn(heads_.heads, own().train.config());
}

Score LanguageBlockwiseTask::validate(int64_t /*step*/) const {
  const std::span<const int32_t> text = held_out();
  double total = 0.0;
  double weight = 0.0;
  for (int64_t begin = 0; begin + 1 < std::ssize(text); begin += length()) {
    const int64_t count = std::min(length(), std::ssize(text) - 1 - begin);
    const auto window = [&](int64_t first) {
      return Tensor::from_ints(text.subspan(static_cast<size_t>(first), static_cast<size_t>(count)),
                               {1, count});
    };
    total += proposals(window(begin), window(begin + 1)).of_all() * static_cast<double>(count);
    weight += static_cast<double>(count);
  }
  Score score{.loss = total / std::max(weight, 1.0)};
  return score;
}

}  // namespace heed
