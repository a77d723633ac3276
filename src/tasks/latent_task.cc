#include "tasks/latent_task.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "autograd/tape.h"
#include "base/error.h"
#include "models/registry.h"
#include "ops/loss/cross_entropy.h"
#include "ops/pointwise.h"
#include "train/metrics/code_usage.h"

namespace heed {

// What is measured beside the loss.
struct LatentTask::HeldOut {
  explicit HeldOut(const LatentModel::Sizes& sizes) : usage(sizes.codes, sizes.slices) {}

  CodeUsage usage;
  double token_loss = 0.0;  // sums
  double code_loss = 0.0;
  int64_t tokens = 0;
  int64_t codes = 0;
};

void LatentTask::check_recipe(const Recipe& /*recipe*/, const Config& own, std::string_view where) {
  own.PairSections::check_recipe(where);
}

void LatentTask::check_model(const Recipe& recipe, const Config& own) {
  try_model<LatentModel>(planned_model(recipe, own.text, own.text.joint));
}

LatentTask::LatentTask(const Recipe& recipe, const TaskSetup& setup)
    : PairTask(recipe, setup, own_config<Config>(recipe)), own_(own_config<Config>(recipe)) {
  config_.model = model_to_train(recipe_, tokenizers_);
  any_ = make_model(setup.scope, config_.model);
  model_ = &model_as<LatentModel>(*any_, config_.model);
  held_out_ = std::make_shared<HeldOut>(model_->sizes());
}

// What a Transformer does not have.
bool LatentTask::fresh(std::string_view parameter) const {
  static constexpr std::array<std::string_view, 6> kOwn{"autoencoder.", "down.", "latent_norm.",
                                                        "bottleneck.",  "up.",   "predictor."};
  return std::any_of(kOwn.begin(), kOwn.end(),
                     [&](std::string_view prefix) { return parameter.starts_with(prefix); });
}

void LatentTask::begin_step(int64_t complete) {
  passes_.clear();  // of a step that had no end
  const int64_t steps = own_.train.pretrain;
  discrete_ = complete >= steps ? 1.0F : static_cast<float>(complete) / static_cast<float>(steps);
}

// Code books learn from all that was computed in a step, on whichever process.
void LatentTask::end_step() {
  if (sharing_ != nullptr && !sharing_->alone()) {
    passes_ = shared_passes();
    sharing_->broadcast(std::as_writable_bytes(std::span(&random_, 1)), sharing_->size() - 1);
  }
  model_->learn(passes_, random_);
  passes_.clear();
}

// In the order of the batches, which processes take by turns.
std::vector<Discrete> LatentTask::shared_passes() const {
  const auto gathered = [&](const Tensor& own) {
    std::vector<Tensor> all;
    const int64_t columns = own.size() / std::max<int64_t>(own.dim(0), 1);
    const std::string bytes(static_cast<const char*>(own.raw()), own.bytes());
    for (const std::string& theirs : sharing_->gather(bytes)) {
      const auto size = static_cast<int64_t>(theirs.size() / size_of(own.dtype()));
      Tensor& tensor = all.emplace_back(Tensor::empty({size / columns, columns}, own.dtype()));
      std::memcpy(tensor.raw(), theirs.data(), theirs.size());
    }
    return all;
  };
  std::vector<Discrete> shared;
  for (const Discrete& own : passes_) {
    const std::vector<Tensor> codes = gathered(own.codes);
    const std::vector<Tensor> inputs =
        own.inputs.defined() ? gathered(own.inputs) : std::vector<Tensor>(codes.size());
    for (size_t member = 0; member < codes.size(); ++member) {
      shared.push_back({.y = {}, .codes = codes[member], .inputs = inputs[member]});
    }
  }
  return shared;
}

Tensor LatentTask::pair_loss(const HostBatch& batch) const {
  const Batch tensors = to_tensors(batch);
  const LatentModel::Taught taught =
      model_->teach(tensors, {.discrete = discrete_, .predicted = own_.train.predicted});
  const Tensor tokens =
      cross_entropy(taught.logits, tensors.target, {.label_smoothing = own_.train.label_smoothing});
  const Tensor codes = cross_entropy(taught.code_logits, taught.code_targets, {});
  passes_.push_back({.y = {}, .codes = taught.latents.codes, .inputs = taught.latents.inputs});
  random_ = Tape::current()->draw();
  const Tensor both = add(tokens, scale(codes, own_.train.latent_weight));
  return taught.latents.penalty.defined() ? add(both, taught.latents.penalty) : both;
}

BatchLoss LatentTask::held_out_loss(const TranslationModel& model) const {
  return [held_out = held_out_,
          &latent = dynamic_cast<const LatentModel&>(model)](const HostBatch& batch) {
    const Batch tensors = to_tensors(batch);
    const LatentModel::Taught taught = latent.teach(tensors, {});
    const std::span<const int32_t> said = taught.code_targets.span<int32_t>();
    const int64_t codes = std::ssize(said) - std::count(said.begin(), said.end(), kIgnore);
    const auto sum = [](const Tensor& logits, const Tensor& targets) {
      return static_cast<double>(
          cross_entropy(logits, targets, {.reduction = Reduction::sum}).item());
    };
    const double token_loss = sum(taught.logits, tensors.target);
    const double code_loss = sum(taught.code_logits, taught.code_targets);
    held_out->usage.add(taught.latents.codes);
    held_out->token_loss += token_loss;
    held_out->code_loss += code_loss;
    held_out->tokens += batch.target_tokens;
    held_out->codes += codes;
    return (token_loss + code_loss) / static_cast<double>(batch.target_tokens);
  };
}

Score LatentTask::validate(int64_t step) const {
  held_out_ = std::make_shared<HeldOut>(model_->sizes());
  Score score = PairTask::validate(step);
  const auto mean = [](double sum, int64_t count) {
    return sum / static_cast<double>(std::max<int64_t>(count, 1));
  };
  score.measures = {{"token_loss", mean(held_out_->token_loss, held_out_->tokens)},
                    {"code_loss", mean(held_out_->code_loss, held_out_->codes)},
                    {"code_usage", held_out_->usage.share()},
                    {"code_perplexity", held_out_->usage.perplexity()}};
  return score;
}

}  // namespace heed
