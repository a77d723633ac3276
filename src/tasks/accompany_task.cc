#include "tasks/accompany_task.h"

#include <algorithm>
#include <cmath>

#include "models/registry.h"
#include "tasks/setup/music_data.h"
#include "tasks/setup/text_setup.h"
#include "train/validation.h"

namespace heed {

void AccompanyTask::check_recipe(const Recipe& recipe, const Config& own, std::string_view where) {
  check(own.data.builtin.empty(),
        "[{}] the built-in pieces have one voice, so there is no accompaniment to learn: set "
        "data.midi or data.chorales",
        where);
  own.data.check_recipe(recipe.task, where);
  own.train.check_recipe(where);
  check(own.data.midi.empty() || recipe.schedule.kind != "cosine" ||
            recipe.schedule.total_steps > 0 || recipe.train.steps > 0,
        "[{}] performances are cut anew in each epoch, so a cosine cannot know its end: set "
        "train.steps or schedule.total_steps",
        where);
}

void AccompanyTask::check_model(const Recipe& recipe, const Config& own) {
  try_model<Seq2SeqModel>(
      model_to_train(recipe, prepare_music_tokenizers(recipe, music_form_of(own.data))));
}

AccompanyTask::AccompanyTask(const Recipe& recipe, const TaskSetup& setup) : TaskWith(recipe) {
  rows_ = {.form = music_form_of(own_.data),
           .length = own_.data.max_length,
           .batch_tokens = own_.data.batch_tokens};
  tokenizers_ = prepare_music_tokenizers(recipe, rows_.form);
  config_.model = model_to_train(recipe_, tokenizers_);
  config_.content = content_of(rows_.form);
  any_ = make_model(setup.scope, config_.model);
  model_ = &model_as<Seq2SeqModel>(*any_, config_.model);
  if (model_->longest() > 0) {
    rows_.length = std::min(rows_.length, model_->longest());
  }
}

void AccompanyTask::begin(const DataState& state) {
  MusicSplits splits = read_music(own_.data, rows_.form);
  epochs_.emplace(std::move(splits.train),
                  AccompanyEpochs::Options{.rows = rows_,
                                           .seed = recipe_.train.seed,
                                           .transpose = own_.data.transpose,
                                           .stretch = own_.data.stretch});
  held_out_ = accompany_batches(splits.valid, rows_);
  tested_ = accompany_batches(splits.test, rows_);
  tested_pieces_ = splits.test.size();
  skipped_ = std::move(splits.skipped);
  state_ = state;
}

std::unique_ptr<TaskBatch> AccompanyTask::next() {
  auto batch = std::make_unique<PairBatch>();
  batch->host = epochs_->next(state_);
  batch->tokens = batch->host.source_tokens + batch->host.target_tokens;
  batch->targets = batch->host.target_tokens;
  batch->after = state_;
  return batch;
}

Tensor AccompanyTask::loss(const TaskBatch& batch) const {
  const LossConfig config = own_.train.config();
  const Batch tensors = to_tensors(static_cast<const PairBatch&>(batch).host, config.copies());
  return sequence_loss([&] { return model_->logits(tensors); }, tensors.target, config);
}

Tensor AccompanyTask::full_batch_loss() const {
  const int64_t rows = std::max<int64_t>(1, rows_.batch_tokens / rows_.length);
  return full_pairs_loss(*model_, rows, rows_.length, own_.train.config());
}

Score AccompanyTask::validate(int64_t /*step*/) const {
  Score score{.loss = mean_loss(token_loss(*model_), held_out_)};
  return score;
}

std::string AccompanyTask::test(const std::filesystem::path& folder) const {
  if (tested_.empty()) {
    return "";
  }
  const auto loaded = load_model(folder, DType::f32);
  const double loss = mean_loss(token_loss(*loaded->model), tested_);
  int64_t tokens = 0;
  for (const HostBatch& batch : tested_) {
    tokens += batch.target_tokens;
  }
  return fmt::format(
      "test: {:.4f} nats per token of the accompaniment, perplexity {:.2f}, over {} in {} pieces, "
      "END {}",
      loss, std::exp(loss), tokens, tested_pieces_,
      rows_.form == MusicForm::chorale ? "not counted" : "counted");
}

}  // namespace heed
