#include "train/music_task.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/random.h"
#include "data/music_demo.h"
#include "models/registry.h"
#include "train/loss.h"
#include "train/prepare.h"

namespace heed {
namespace {

MusicForm form_of(const DataConfig& data) {
  const bool chorale = data.form.empty() ? !data.chorales.empty() : data.form == "chorale";
  return chorale ? MusicForm::chorale : MusicForm::performance;
}

// Whether a piece is held out depends on its name alone: not on the other files, nor on the seed.
bool held_out_by_name(const MusicPiece& piece, double share) {
  return RandomStream{stream_of(piece.name), 0}.uniform(0) < static_cast<float>(share);
}

}  // namespace

MusicTask::MusicTask(const Recipe& recipe, const std::filesystem::path& folder, const Scope& scope)
    : recipe_(recipe), form_(form_of(recipe.data)) {
  check(recipe.train.agreement == 0.0F,
        "[train] train.agreement is {}, which the task music does not have: set it to 0",
        recipe.train.agreement);
  const auto tokenizer = music_tokenizer(form_);
  tokenizers_ = recipe.train.from.empty() ? Tokenizers{tokenizer, tokenizer}
                                          : load_tokenizers(recipe.train.from);
  check(music_form(*tokenizers_.target) == form_,
        "[music] {} was trained on another form of music than {}", recipe.train.from,
        form_ == MusicForm::chorale ? "chorale" : "performance");
  save_tokenizers(folder, tokenizers_);
  config_.model = model_to_train(recipe_, tokenizers_);
  any_ = make_model(scope, config_.model);
  model_ = &model_as<LanguageModel>(*any_, config_.model);
  length_ = model_->context() > 0 ? model_->context() : recipe_.data.max_length;
}

// The built-in pieces: the same for every run, those held out from another seed.
MusicTask::Split MusicTask::compose_split() {
  const auto compose = [](uint64_t seed, uint64_t count) {
    constexpr int64_t kSections = 18;  // about 250 tokens
    std::vector<MusicPiece> pieces;
    for (uint64_t i = 0; i < count; ++i) {
      pieces.push_back(
          {.name = fmt::format("demo {}", i),
           .notes = compose_demo({.seed = seed, .index = i, .sections = kSections}).notes,
           .chorale = {}});
    }
    return pieces;
  };
  return {.train = compose(1, 4000), .valid = compose(2, 100), .test = compose(3, 100)};
}

MusicTask::Split MusicTask::read_chorale_split() const {
  const ChoraleSplits splits = read_chorales(recipe_.data.chorales);
  return {.train = chorale_pieces(splits.train, form_),
          .valid = chorale_pieces(splits.valid, form_),
          .test = chorale_pieces(splits.test, form_)};
}

std::vector<MusicPiece> MusicTask::read_midi(const std::vector<std::string>& paths) {
  if (paths.empty()) {
    return {};
  }
  MusicPieces read = read_midi_pieces(paths);
  skipped_ += (skipped_.empty() || read.skipped.empty() ? "" : "\n") + read.skipped;
  return std::move(read.pieces);
}

MusicTask::Split MusicTask::read_midi_split() {
  Split split;
  const double share = recipe_.data.valid_midi.empty() ? recipe_.data.valid_share : 0.0;
  for (MusicPiece& piece : read_midi(recipe_.data.midi)) {
    (held_out_by_name(piece, share) ? split.valid : split.train).push_back(std::move(piece));
  }
  check(share == 0.0 || !split.valid.empty(),
        "[music] data.valid_share is {}, which holds out none of {} pieces; give more, or name "
        "files in data.valid_midi",
        share, split.train.size());
  if (!recipe_.data.valid_midi.empty()) {
    split.valid = read_midi(recipe_.data.valid_midi);
  }
  split.test = read_midi(recipe_.data.test_midi);
  return split;
}

void MusicTask::begin(const DataState& state) {
  skipped_.clear();
  Split split = !recipe_.data.builtin.empty()   ? compose_split()
                : recipe_.data.chorales.empty() ? read_midi_split()
                                                : read_chorale_split();
  epochs_.emplace(std::move(split.train),
                  MusicEpochs::Options{.form = form_,
                                       .length = length_,
                                       .batch_tokens = recipe_.data.batch_tokens,
                                       .seed = recipe_.train.seed,
                                       .transpose = recipe_.data.transpose,
                                       .stretch = recipe_.data.stretch,
                                       .ignored = kIgnore});
  held_out_ = std::move(split.valid);
  tested_ = std::move(split.test);
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
  return sequence_loss(
      model_->logits(Tensor::from_ints(music.input, shape)), Tensor::from_ints(music.target, shape),
      {.kind = recipe_.train.loss, .label_smoothing = recipe_.train.label_smoothing});
}

Tensor MusicTask::full_batch_loss() const {
  const int64_t rows = std::max<int64_t>(1, recipe_.data.batch_tokens / length_);
  const Tensor ids = Tensor::zeros({rows, length_}, DType::i32);
  return sequence_loss(model_->logits(ids), ids, {});
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
                                                 .batch_tokens = recipe_.data.batch_tokens});
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
  return fmt::format("test: {:.4f} nats a {}, perplexity {:.2f}, over {} in {} pieces, END {}",
                     found.loss(), chorale ? "voice token" : "token", std::exp(found.loss()),
                     found.tokens, tested_.size(), chorale ? "not counted" : "counted");
}

}  // namespace heed
