#include "tasks/translate_task.h"

#include <algorithm>

#include "models/registry.h"
#include "train/prepare.h"

namespace heed {

TranslateTask::TranslateTask(const Recipe& recipe, const std::filesystem::path& folder,
                             const Scope& scope)
    : Task(recipe) {
  recipe_.data = materialise_data(recipe.data, folder);
  tokenizers_ = prepare_tokenizers(recipe_, folder);
  config_.model = model_to_train(recipe_, tokenizers_);
  any_ = make_model(scope, config_.model);
  model_ = &model_as<Seq2SeqModel>(*any_, config_.model);
}

void TranslateTask::begin(const DataState& state) {
  stream_ = std::make_unique<BatchStream>(Corpus{.files = pair_files(recipe_.data),
                                                 .source = tokenizers_.source,
                                                 .target = tokenizers_.target,
                                                 .max_length = recipe_.data.max_length},
                                          BatchOptions{.batch_tokens = recipe_.data.batch_tokens,
                                                       .source_end = config_.source_end,
                                                       .pool = recipe_.data.pool,
                                                       .seed = recipe_.train.seed},
                                          state);
  batches_ = std::make_unique<Prefetch<HostBatch>>(
      [this](HostBatch& batch, const std::stop_token& stop) { return stream_->next(batch, stop); });
  if (!recipe_.data.valid_source.empty()) {
    validation_.emplace(recipe_.data.valid_source, recipe_.data.valid_target,
                        ValidationSet::Setting{.tokenizers = tokenizers_,
                                               .source_end = config_.source_end,
                                               .batch_tokens = recipe_.data.batch_tokens});
  }
}

std::unique_ptr<TaskBatch> TranslateTask::next() {
  auto batch = std::make_unique<PairBatch>();
  if (!batches_->next(batch->host)) {
    return nullptr;
  }
  batch->tokens = batch->host.source_tokens + batch->host.target_tokens;
  batch->targets = batch->host.target_tokens;
  batch->after = batch->host.after;
  return batch;
}

std::string TranslateTask::skipped() const {
  const SkipReport report = stream_->report();
  return report.skipped() > 0 ? report.text() : "";
}

Tensor TranslateTask::loss(const TaskBatch& batch) const {
  const LossConfig config = loss_config(recipe_.train);
  const Batch tensors = to_tensors(static_cast<const PairBatch&>(batch).host, config.copies());
  return sequence_loss(model_->logits(tensors), tensors.target, config);
}

Tensor TranslateTask::full_batch_loss() const {
  constexpr int64_t kLength = 32;  // of a typical sentence
  const int64_t most = model_->longest() > 0 ? std::min(kLength, model_->longest()) : kLength;
  const int64_t length = std::min(most, recipe_.data.batch_tokens);
  const int64_t rows = std::max<int64_t>(1, recipe_.data.batch_tokens / length);
  return made_up_loss(*model_, rows, length, loss_config(recipe_.train));
}

Score TranslateTask::validate(int64_t step) const {
  const ValidationConfig& config = recipe_.validation;
  const ValidationScore found = validation_->score(
      *model_, {.bleu = config.bleu,
                .sentences = config.sentences,
                .decode = {.beam = config.beam, .length_penalty = config.length_penalty},
                .batch_tokens = recipe_.data.batch_tokens});
  Score score{.loss = found.loss};
  if (found.bleu >= 0.0) {
    score.metric = "bleu";
    score.value = found.bleu;
  }
  if (!found.translations.empty()) {
    const size_t example = static_cast<size_t>(step) % found.translations.size();
    score.example =
        fmt::format("{} -> {}", validation_->sources()[example], found.translations[example]);
  }
  return score;
}

std::string TranslateTask::test(const std::filesystem::path& folder) const {
  const DataConfig& data = recipe_.data;
  if (data.test_source.empty()) {
    return "";
  }
  const auto loaded = load_model(folder, DType::f32);
  const ValidationSet test(data.test_source, data.test_target,
                           {.tokenizers = loaded->tokenizers,
                            .source_end = loaded->config.source_end,
                            .batch_tokens = data.batch_tokens});
  const ValidationScore score =
      test.score(*loaded->model, {.decode = {.beam = 4}, .batch_tokens = data.batch_tokens});
  return fmt::format(
      "test {}: loss {:.4f} BLEU {:.2f} (beam 4, nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp)",
      data.test_source, score.loss, score.bleu);
}

}  // namespace heed
