#include "tasks/language_task.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "decode/text/perplexity.h"
#include "models/registry.h"
#include "train/loss.h"
#include "train/prepare.h"

namespace heed {

LanguageTask::LanguageTask(const Recipe& recipe, const std::filesystem::path& folder,
                           const Scope& scope)
    : Task(recipe) {
  check(recipe.train.agreement == 0.0F,
        "[train] train.agreement is {}, which the task language does not have: set it to 0",
        recipe.train.agreement);
  tokenizers_ = prepare_text_tokenizer(recipe_, folder, sample_text(recipe_));
  config_.model = model_to_train(recipe_, tokenizers_);
  any_ = make_model(scope, config_.model);
  model_ = &model_as<LanguageModel>(*any_, config_.model);
  length_ = model_->context() > 0 ? model_->context() : recipe_.data.max_length;
}

TextSource LanguageTask::source(std::vector<std::string> files) const {
  return {.files = std::move(files),
          .tokenizer = tokenizers_.target,
          .line_end = recipe_.data.line_end};
}

int64_t LanguageTask::rows() const {
  return std::max<int64_t>(1, recipe_.data.batch_tokens / length_);
}

void LanguageTask::begin(const DataState& state) {
  std::vector<int32_t> tokens = read_tokens(source(recipe_.data.text));
  if (!recipe_.data.valid_text.empty()) {
    held_out_ = read_tokens(source({recipe_.data.valid_text}));
  } else {
    const auto kept =
        static_cast<size_t>(static_cast<double>(tokens.size()) * (1.0 - recipe_.data.valid_share));
    held_out_.assign(tokens.begin() + static_cast<int64_t>(kept), tokens.end());
    tokens.resize(kept);
  }
  const bool wanted = !recipe_.data.valid_text.empty() || recipe_.data.valid_share > 0.0;
  check(!wanted || held_out_.size() > 1,
        "[text] {} tokens are held out for validation, expected at least 2", held_out_.size());
  windows_.emplace(std::move(tokens),
                   WindowOptions{.length = length_, .rows = rows(), .seed = recipe_.train.seed});
  state_ = state;
}

std::unique_ptr<TaskBatch> LanguageTask::next() {
  auto batch = std::make_unique<WindowBatch>();
  batch->window = windows_->at(state_);
  batch->tokens = std::ssize(batch->window.input);
  batch->targets = batch->tokens;
  batch->after = batch->window.after;
  state_ = batch->after;
  return batch;
}

Tensor LanguageTask::loss(const TaskBatch& batch) const {
  const TokenWindows::Window& window = static_cast<const WindowBatch&>(batch).window;
  const Shape shape{std::ssize(window.input) / length_, length_};
  return sequence_loss(model_->logits(Tensor::from_ints(window.input, shape)),
                       Tensor::from_ints(window.target, shape), loss_config(recipe_.train));
}

Tensor LanguageTask::full_batch_loss() const {
  const Tensor ids = Tensor::zeros({rows(), length_}, DType::i32);
  return sequence_loss(model_->logits(ids), ids, {});
}

Score LanguageTask::validate(int64_t /*step*/) const {
  const Perplexity found = measure_perplexity(
      *model_, held_out_, {.length = length_, .batch_tokens = recipe_.data.batch_tokens});
  Score score{.loss = found.loss()};
  return score;
}

std::string LanguageTask::test(const std::filesystem::path& folder) const {
  if (recipe_.data.test_text.empty()) {
    return "";
  }
  const auto loaded = load_as<LanguageModel>(folder, DType::f32);
  const Perplexity found =
      measure_perplexity(*loaded->model, read_tokens(source({recipe_.data.test_text})),
                         {.length = length_, .batch_tokens = recipe_.data.batch_tokens});
  return fmt::format("test {}: loss {:.4f} perplexity {:.2f} over {} tokens",
                     recipe_.data.test_text, found.loss(), std::exp(found.loss()), found.tokens);
}

}  // namespace heed
