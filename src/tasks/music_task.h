// Learning to go on with music: performances read from MIDI files, or chorales; a language model
// over their symbols.
//
// The held-out loss is the mean of -log p of a token in nats, over whole pieces that each begin
// with START. In performances every token counts, END included, and a token sees at least half a
// window before it, or everything from START on (windows are as long as in training and overlap by
// half). In chorales, as in the papers, the pitches of the voices count and END does not; a token
// sees all of its piece before it, unless the model has a context.
#pragma once

#include "data/music/music_epochs.h"
#include "decode/text/perplexity.h"
#include "tasks/setup/music_data.h"
#include "train/loss.h"
#include "train/task.h"

namespace heed {

struct MusicConfig {
  MusicDataConfig data;
  SequenceLossConfig train;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("data", data, "what is read");
    v("train", train, "the loss");
  }
};

class MusicTask : public TaskWith<MusicConfig> {
 public:
  MusicTask(const Recipe& recipe, const TaskSetup& setup);
  static void check_recipe(const Recipe& recipe, const Config& own, std::string_view where);
  static void check_model(const Recipe& recipe, const Config& own);

  void begin(const DataState& state) override;
  std::unique_ptr<TaskBatch> next() override;
  std::optional<int64_t> epoch_batches() const override { return epochs_->epoch_batches(); }
  std::string skipped() const override { return skipped_; }
  Tensor loss(const TaskBatch& batch) const override;
  Tensor full_batch_loss() const override;
  bool validates() const override { return !held_out_.empty(); }
  Score validate(int64_t step) const override;
  std::string test(const std::filesystem::path& folder) const override;

 private:
  struct PieceBatch : TaskBatch {
    MusicBatch music;
  };

  Perplexity measure(const LanguageModel& model, const std::vector<MusicPiece>& pieces) const;

  MusicForm form_;
  LanguageModel* model_ = nullptr;  // any_
  int64_t length_ = 0;              // of a window
  std::optional<MusicEpochs> epochs_;
  std::vector<MusicPiece> held_out_;
  std::vector<MusicPiece> tested_;
  std::string skipped_;
  DataState state_;
};

}  // namespace heed
