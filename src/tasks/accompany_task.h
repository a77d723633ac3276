// Learning to accompany: the encoder reads a melody, the decoder says what is played with it (Huang
// et al. 2018 do so with performances; data/music/accompaniment.h defines the two sides).
//
// The held-out loss is the mean of -log p of an accompaniment's token in nats, over pieces that are
// cut into windows of data.max_length if they are longer. END counts in performances, and does not
// in chorales.
#pragma once

#include "data/music/accompany_epochs.h"
#include "tasks/setup/music_data.h"
#include "train/loss.h"
#include "train/task.h"

namespace heed {

struct AccompanyConfig {
  MusicDataConfig data;
  AgreementLossConfig train;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("data", data, "what is read");
    v("train", train, "the loss");
  }
};

class AccompanyTask : public TaskWith<AccompanyConfig> {
 public:
  AccompanyTask(const Recipe& recipe, const TaskSetup& setup);
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
  struct PairBatch : TaskBatch {
    HostBatch host;
  };

  AccompanyRows rows_;
  Seq2SeqModel* model_ = nullptr;  // any_
  std::optional<AccompanyEpochs> epochs_;
  std::vector<HostBatch> held_out_;
  std::vector<HostBatch> tested_;
  size_t tested_pieces_ = 0;
  std::string skipped_;
  DataState state_;
};

}  // namespace heed
