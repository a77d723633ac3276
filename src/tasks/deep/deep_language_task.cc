#include "tasks/deep/deep_language_task.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "autograd/checkpoint.h"
#include "base/error.h"
#include "models/registry.h"
#include "ops/pointwise.h"
#include "ops/shape/shape.h"

namespace heed {

int64_t lowest_predicting_layer(int64_t layers, int64_t complete, int64_t total) {
  // Layer l is done when complete / total >= l / 2n.
  return std::min(2 * layers * complete / std::max<int64_t>(total, 1), layers - 1);
}

void DeepLanguageTask::check_model(const Recipe& recipe, const Config& own) {
  const Json model = planned_model(recipe, own.text);
  ParameterStore shapes;
  const std::unique_ptr<Model> built = make_model(shapes.root(), model);
  const bool ends = own.auxiliary.steps > 0 || recipe.train.steps > 0 || recipe.train.epochs > 0.0;
  check(ends || !model_as<CharacterTransformer>(*built, model).intermediate_losses(),
        "[train] the losses of intermediate layers end by shares of the training, and the recipe "
        "does not say how long that is: set train.steps, train.epochs or auxiliary.steps, or "
        "model.intermediate_losses = false");
}

DeepLanguageTask::DeepLanguageTask(const Recipe& recipe, const TaskSetup& setup)
    : LanguageTask(recipe, setup, own_config<Config>(recipe)),
      auxiliary_(own_config<Config>(recipe).auxiliary),
      model_(&model_as<CharacterTransformer>(*any_, config_.model)) {}

void DeepLanguageTask::begin_step(int64_t complete) {
  const int64_t total = auxiliary_.steps > 0
                            ? auxiliary_.steps
                            : total_steps(recipe_.train, epoch_batches()).value_or(0);
  lowest_ = lowest_predicting_layer(model_->layers(), complete, total);
}

Tensor DeepLanguageTask::window_loss(const Tensor& tokens, const Tensor& targets) const {
  const int64_t steps = tokens.dim(1);
  const int64_t first = auxiliary_.every_position ? 0 : steps - 1;
  std::vector<Tensor> said;
  for (int64_t ahead = 0; ahead < model_->targets(); ++ahead) {
    said.push_back(slice(targets, 1, first + ahead, steps + ahead));  // [B,P]
  }
  std::vector<Tensor> vectors = model_->layer_vectors(tokens, lowest_);
  int64_t layer = model_->layers() - std::ssize(vectors);
  Tensor sum;
  for (Tensor& whole : vectors) {
    const Tensor x = std::exchange(whole, Tensor());                    // [B,T,C]
    const Tensor counted = first == 0 ? x : slice(x, 1, first, steps);  // [B,P,C]
    const Tensor loss = layer_loss(counted, layer++, said);
    sum = sum.defined() ? add(sum, loss) : loss;
  }
  return sum;
}

Tensor DeepLanguageTask::layer_loss(const Tensor& x, int64_t layer,
                                    const std::vector<Tensor>& targets) const {
  const auto predicted = [this, layer, targets](const Tensor& vectors) {
    Tensor sum;
    for (int64_t ahead = 0; ahead < model_->targets(); ++ahead) {
      const Tensor loss = sequence_loss(model_->predict(vectors, layer, ahead),
                                        targets[static_cast<size_t>(ahead)], own().train.config());
      sum = ahead == 0 ? loss : add(sum, scale(loss, auxiliary_.target_weight));
    }
    return sum;
  };
  return CheckpointScope::asks() ? checkpoint(predicted, x) : predicted(x);
}

}  // namespace heed
