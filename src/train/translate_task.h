// Learning to translate: pairs of sentences, a sequence-to-sequence model, BLEU.
#pragma once

#include "data/prefetch.h"
#include "train/loss.h"
#include "train/task.h"
#include "train/validation.h"

namespace heed {

class TranslateTask : public Task {
 public:
  TranslateTask(const Recipe& recipe, const std::filesystem::path& folder, const Scope& scope);

  const FolderConfig& config() const override { return config_; }
  const Tokenizers& tokenizers() const override { return tokenizers_; }
  void begin(const DataState& state) override;
  std::unique_ptr<TaskBatch> next() override;
  std::optional<int64_t> epoch_batches() const override { return stream_->epoch_batches(); }
  std::string skipped() const override;
  Tensor loss(const TaskBatch& batch) const override;
  Tensor full_batch_loss() const override;
  bool validates() const override { return validation_.has_value(); }
  Score validate(int64_t step) const override;
  std::string test(const std::filesystem::path& folder) const override;

 private:
  struct PairBatch : TaskBatch {
    HostBatch host;
  };

  LossConfig loss_config() const;
  // How often a batch is shown in one step.
  int64_t copies() const { return recipe_.train.agreement > 0.0F ? 2 : 1; }

  Recipe recipe_;
  FolderConfig config_;
  Tokenizers tokenizers_;
  std::unique_ptr<Model> any_;
  Seq2SeqModel* model_ = nullptr;  // the same
  std::unique_ptr<BatchStream> stream_;
  std::unique_ptr<Prefetch<HostBatch>> batches_;
  std::optional<ValidationSet> validation_;
};

}  // namespace heed
