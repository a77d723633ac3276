#include "tasks/music_task.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "models/registry.h"
#include "tasks/setup/music_data.h"
#include "tasks/setup/text_setup.h"
#include "train/loss.h"

namespace heed {

void MusicTask::check_recipe(const Recipe& recipe, const Config& own, std::string_view where) {
  own.data.check_recipe(recipe.task, where);
  own.train.check_recipe(where);
}

void MusicTask::check_model(const Recipe& recipe, const Config& own) {
  try_model<LanguageModel>(
      model_to_train(recipe, prepare_music_tokenizers(recipe, music_form_of(own.data))));
}

MusicTask::MusicTask(const Recipe& recipe, const TaskSetup& setup)
    : TaskWith(recipe), form_(music_form_of(own_.data)) {
  tokenizers_ = prepare_music_tokenizers(recipe, form_);
  config_.model = model_to_train(recipe_, tokenizers_);
  config_.content = content_of(form_);
  any_ = make_model(setup.scope, config_.model);
  model_ = &model_as<LanguageModel>(*any_, config_.model);
  length_ = model_->context() > 0 ? model_->context() : own_.data.max_length;
}

void MusicTask::begin(const DataState& state) {
  MusicSplits split = read_music(own_.data, form_);
  epochs_.emplace(std::move(split.train),
                  MusicEpochs::Options{.form = form_,
                                       .length = length_,
                                       .batch_tokens = own_.data.batch_tokens,
                                       .seed = recipe_.train.seed,
                                       .transpose = own_.data.transpose,
                                       .stretch = own_.data.stretch,
                                       .ignored = kIgnore});
  held_out_ = std::move(split.valid);
  tested_ = std::move(split.test);
  skipped_ = std::move(split.skipped);
  check(!config_.spec().from_start || epochs_->longest() <= length_,
        "[music] model.cycles are counted from the beginning of a piece, but data.max_length = {} "
        "crops pieces of {} tokens: raise it, or leave the cycles out",
        length_, epochs_->longest());
  state_ = state;
}

std::unique_ptr<TaskBatch> MusicTask::next() {
  auto batch = std::make_unique<PieceBatch>();
  batch->music = epochs_->next(state_);
  batch->tokens = batch->music.count;
  batch->targets = batch->music.count;
  batch->after = state_;
  return batch;
}

Tensor MusicTask::loss(const TaskBatch& batch) const {
  const MusicBatch& music = static_cast<const PieceBatch&>(batch).music;
  const Shape shape{music.rows, music.width};
  return sequence_loss([&] { return model_->logits(Tensor::from_ints(music.input, shape)); },
                       Tensor::from_ints(music.target, shape), own_.train.config());
}

Tensor MusicTask::full_batch_loss() const {
  const int64_t rows = std::max<int64_t>(1, own_.data.batch_tokens / length_);
  const Tensor ids = Tensor::zeros({rows, length_}, DType::i32);
  return sequence_loss([&] { return model_->logits(ids); }, ids, {});
}

Perplexity MusicTask::measure(const LanguageModel& model,
                              const std::vector<MusicPiece>& pieces) const {
  const bool chorale = form_ == MusicForm::chorale;
  Perplexity all;
  for (const MusicPiece& piece : pieces) {
    std::vector<int32_t> tokens = piece_tokens(piece, form_);
    if (chorale) {
      tokens.pop_back();  // END
    }
    const bool whole = chorale && model.context() == 0;
    const int64_t length = whole ? std::max<int64_t>(1, std::ssize(tokens)) : length_;
    const Perplexity found = measure_perplexity(model, tokens,
                                                {.length = length,
                                                 .stride = std::max<int64_t>(1, length / 2),
                                                 .batch_tokens = own_.data.batch_tokens});
    all.nats += found.nats;
    all.tokens += found.tokens;
  }
  return all;
}

Score MusicTask::validate(int64_t /*step*/) const {
  Score score{.loss = measure(*model_, held_out_).loss()};
  return score;
}

std::string MusicTask::test(const std::filesystem::path& folder) const {
  if (tested_.empty()) {
    return "";
  }
  const auto loaded = load_as<LanguageModel>(folder, DType::f32);
  const Perplexity found = measure(*loaded->model, tested_);
  const bool chorale = form_ == MusicForm::chorale;
  return fmt::format("test: {:.4f} nats per {}, perplexity {:.2f}, over {} in {} pieces, END {}",
                     found.loss(), chorale ? "voice token" : "token", std::exp(found.loss()),
                     found.tokens, tested_.size(), chorale ? "not counted" : "counted");
}

}  // namespace heed
