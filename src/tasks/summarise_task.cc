#include "tasks/summarise_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "data/text/table.h"
#include "models/registry.h"
#include "train/loss.h"

namespace heed {
namespace {

// Every token but the last, and the token that follows it where that belongs to the summary.
struct Shifted {
  Tensor input;   // [B,T]
  Tensor target;  // [B,T]
  int64_t count = 0;
};
Shifted shift(const HostTexts& texts) {
  const int64_t steps = texts.width - 1;
  std::vector<int32_t> input;
  std::vector<int32_t> target;
  int64_t count = 0;
  for (int64_t row = 0; row < texts.rows; ++row) {
    for (int64_t t = 0; t < steps; ++t) {
      const auto next = static_cast<size_t>(row * texts.width + t + 1);
      const bool counts = t + 1 < texts.lengths[static_cast<size_t>(row)] && texts.types[next] == 1;
      input.push_back(texts.tokens[next - 1]);
      target.push_back(counts ? texts.tokens[next] : kIgnore);
      count += counts ? 1 : 0;
    }
  }
  const Shape shape{texts.rows, steps};
  return {Tensor::from_ints(input, shape), Tensor::from_ints(target, shape), count};
}

}  // namespace

void SummariseTask::check_recipe(const Recipe& recipe, const Config& own, std::string_view where) {
  own.data.check_recipe(recipe.task, where);
  own.train.check_recipe(where);
  check(!own.data.pair_column.empty(),
        "[{}] data.pair_column is empty, expected the column of the summaries", where);
}

void SummariseTask::check_model(const Recipe& recipe, const Config& own) {
  try_model<LanguageModel>(planned_model(recipe, own.text));
}

SummariseTask::SummariseTask(const Recipe& recipe, const TaskSetup& setup) : TaskWith(recipe) {
  tokenizers_ = prepare_text_tokenizer({recipe, own_.text, setup}, [this] {
    std::vector<std::string> lines;
    for (LabelledText& row : read_table(own_.data.table, own_.data.columns()).rows) {
      lines.push_back(std::move(row.text));
      lines.push_back(std::move(row.pair));
    }
    return lines;
  });
  check(tokenizers_.target->special().end >= 0,
        "[summarise] the tokenizer has no END token, which summaries end with");
  config_.model = model_to_train(recipe_, tokenizers_);
  any_ = make_model(setup.scope, config_.model);
  model_ = &model_as<LanguageModel>(*any_, config_.model);
  longest_ = model_->context() > 0 ? model_->context() + 1 : own_.data.max_length;
}

std::vector<EncodedText> SummariseTask::encode(const std::vector<std::string>& files,
                                               std::string* skipped) const {
  const Tokenizer& tokenizer = *tokenizers_.target;
  LabelledTexts table = read_table(files, own_.data.columns());
  std::vector<EncodedText> texts;
  for (const LabelledText& row : table.rows) {
    std::vector<int32_t> summary = tokenizer.encode(row.pair);
    summary.push_back(tokenizer.special().end);
    check(std::ssize(summary) + 2 <= longest_,
          "[{}] the summary has {} tokens, the context of the model is {}: raise model.context",
          row.where, summary.size(), longest_ - 1);
    // A source that is too long loses its end.
    EncodedText text{.tokens = tokenizer.encode(row.text)};
    text.tokens.resize(
        std::min(text.tokens.size(), static_cast<size_t>(longest_) - summary.size() - 1));
    text.tokens.push_back(separator_of(tokenizer));
    text.first = std::ssize(text.tokens);
    text.tokens.insert(text.tokens.end(), summary.begin(), summary.end());
    texts.push_back(std::move(text));
  }
  check(!texts.empty(), "[summarise] {} has no examples", fmt::join(files, ", "));
  *skipped = std::move(table.skipped);
  return texts;
}

void SummariseTask::begin(const DataState& state) {
  epochs_.emplace(encode(own_.data.table, &skipped_),
                  TextEpochs::Options{.batch_tokens = own_.data.batch_tokens,
                                      .seed = recipe_.train.seed,
                                      .pad = tokenizers_.target->special().pad});
  if (validates()) {
    std::string skipped;
    held_out_ = encode({own_.data.valid_table}, &skipped);
  }
  state_ = state;
}

std::unique_ptr<TaskBatch> SummariseTask::next() {
  auto batch = std::make_unique<PairBatch>();
  batch->texts = epochs_->next(state_);
  batch->tokens = batch->texts.count;
  batch->targets = shift(batch->texts).count;
  batch->after = state_;
  return batch;
}

Tensor SummariseTask::loss_of(const LanguageModel& model, const HostTexts& texts,
                              bool training) const {
  const Shifted shifted = shift(texts);
  const LossConfig config = training ? own_.train.config() : LossConfig();
  return sequence_loss([&] { return model.logits(shifted.input); }, shifted.target, config);
}

Tensor SummariseTask::loss(const TaskBatch& batch) const {
  return loss_of(*model_, static_cast<const PairBatch&>(batch).texts, true);
}

Tensor SummariseTask::full_batch_loss() const {
  const int64_t length = std::min<int64_t>(longest_ - 1, 128);
  const Tensor ids =
      Tensor::zeros({std::max<int64_t>(1, own_.data.batch_tokens / length), length}, DType::i32);
  return sequence_loss([&] { return model_->logits(ids); }, ids, {});
}

double SummariseTask::mean_loss(const LanguageModel& model,
                                const std::vector<EncodedText>& texts) const {
  double total = 0.0;
  int64_t count = 0;
  for (const HostTexts& host :
       batch_texts(texts, own_.data.batch_tokens, tokenizers_.target->special().pad)) {
    const int64_t targets = shift(host).count;
    total += static_cast<double>(loss_of(model, host, false).item()) * static_cast<double>(targets);
    count += targets;
  }
  return total / static_cast<double>(count);
}

Score SummariseTask::validate(int64_t /*step*/) const {
  Score score{.loss = mean_loss(*model_, held_out_)};
  return score;
}

std::string SummariseTask::test(const std::filesystem::path& folder) const {
  if (own_.data.test_table.empty()) {
    return "";
  }
  const auto loaded = load_as<LanguageModel>(folder, DType::f32);
  std::string skipped;
  const std::vector<EncodedText> texts = encode({own_.data.test_table}, &skipped);
  const double loss = mean_loss(*loaded->model, texts);
  return fmt::format("test {}: loss {:.4f} perplexity {:.2f} over {} summaries",
                     own_.data.test_table, loss, std::exp(loss), texts.size());
}

}  // namespace heed
