// Learning to say what comes next: one long text, windows of it, a language model.
#pragma once

#include "data/text/token_windows.h"
#include "train/task.h"

namespace heed {

class LanguageTask : public Task {
 public:
  LanguageTask(const Recipe& recipe, const std::filesystem::path& folder, const Scope& scope);

  void begin(const DataState& state) override;
  std::unique_ptr<TaskBatch> next() override;
  std::optional<int64_t> epoch_batches() const override { return windows_->epoch_batches(); }
  Tensor loss(const TaskBatch& batch) const override;
  Tensor full_batch_loss() const override;
  bool validates() const override { return !held_out_.empty(); }
  Score validate(int64_t step) const override;
  std::string test(const std::filesystem::path& folder) const override;

 private:
  struct WindowBatch : TaskBatch {
    TokenWindows::Window window;
  };

  int64_t rows() const;
  TextSource source(std::vector<std::string> files) const;

  LanguageModel* model_ = nullptr;  // any_
  int64_t length_ = 0;              // of a window
  std::optional<TokenWindows> windows_;
  std::vector<int32_t> held_out_;
  DataState state_;
};

}  // namespace heed
