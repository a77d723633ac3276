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

  Seq2SeqModel* model_ = nullptr;  // any_
  std::unique_ptr<BatchStream> stream_;
  std::unique_ptr<Prefetch<HostBatch>> batches_;
  std::optional<ValidationSet> validation_;
};

}  // namespace heed
