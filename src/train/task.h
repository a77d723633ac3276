// What is learned: the data, the model and the yardstick of one training. The Trainer drives a task
// without knowing which; a new kind of training is a new Task and one line in task.cc.
//
// A task builds its model in the trainer's ParameterStore when it is made, and reads its data from
// begin() on. One thread calls; reading ahead is the task's own affair.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "data/batches.h"
#include "models/folder.h"
#include "train/recipe.h"

namespace heed {

// What one backward pass is made of. Each task has its own.
struct TaskBatch {
  virtual ~TaskBatch() = default;
  TaskBatch() = default;
  TaskBatch(const TaskBatch&) = delete;
  TaskBatch& operator=(const TaskBatch&) = delete;

  int64_t tokens = 0;   // shown to the model, without padding
  int64_t targets = 0;  // that the loss is the mean of
  DataState after = {};
};

// How good the model is on data it does not learn from.
struct Score {
  double loss = 0.0;
  std::string metric = {};  // "bleu", "accuracy", ...; empty: only the loss
  double value = 0.0;       // of the metric; higher is better
  std::string example = {};
};

class Task {
 public:
  virtual ~Task() = default;
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  const FolderConfig& config() const { return config_; }
  const Tokenizers& tokenizers() const { return tokenizers_; }

  // Whether a training that begins with another model's weights may do without them for this
  // parameter: heads that the other task did not have.
  virtual bool fresh(std::string_view /*parameter*/) const { return false; }

  // Opens the data there. What is wrong with files or options shows here, not hours later.
  virtual void begin(const DataState& state) = 0;
  // Null after the last one.
  virtual std::unique_ptr<TaskBatch> next() = 0;
  virtual std::optional<int64_t> epoch_batches() const = 0;  // if every epoch has as many
  virtual std::string skipped() const { return ""; }         // what of the data is not learned from

  // The mean over the batch's targets.
  virtual Tensor loss(const TaskBatch& batch) const = 0;
  // Of a full batch of made-up data, to see what memory it takes.
  virtual Tensor full_batch_loss() const = 0;

  virtual bool validates() const = 0;
  // `step` only chooses the example.
  virtual Score validate(int64_t step) const = 0;
  // How the model in the folder does on the test set, in a line; empty: there is none.
  virtual std::string test(const std::filesystem::path& folder) const = 0;

 protected:
  explicit Task(Recipe recipe) : recipe_(std::move(recipe)) { config_.content = Content::text; }

  Recipe recipe_;
  // Constructors fill these in, the model last.
  FolderConfig config_;
  Tokenizers tokenizers_;
  std::unique_ptr<Model> any_;
};

std::unique_ptr<Task> make_task(const Recipe& recipe, const std::filesystem::path& folder,
                                const Scope& scope);

}  // namespace heed
