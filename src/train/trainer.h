// The training loop: batches in, a model folder out.
//
// A run folder holds recipe.json, the tokenizer, config.json and model.safetensors (the best model
// so far: the folder is a model folder), log.jsonl, and the last checkpoints. All that happens in
// a run follows from the recipe; a run that is killed and resumed ends with the same bits.
//
// Owns the parameters, the task and the optimizer. One thread calls; `stop` may be set from a
// signal handler.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "train/checkpoint.h"
#include "train/recipe.h"
#include "train/task.h"

namespace heed {

// What the trainer tells while it works.
struct StepReport {
  int64_t step = 0;
  double epoch = 0.0;
  double loss = 0.0;  // mean since the last report, as trained (smoothed)
  double learning_rate = 0.0;
  double gradient_norm = 0.0;
  double tokens_per_second = 0.0;  // without padding
  double seconds = 0.0;            // trained so far
  double seconds_left = -1.0;      // below 0: not known
  double done = 0.0;               // share of the training, 0 to 1
};

struct ValidationReport {
  int64_t step = 0;
  Score score;
  double seconds = 0.0;
  bool best = false;
};

// What is known before the first step.
struct RunReport {
  int64_t parameters = 0;
  size_t weight_bytes = 0;  // weights, gradients, copies, averages
  size_t optimizer_bytes = 0;
  size_t activation_bytes = 0;  // measured on a full batch
  std::optional<int64_t> total_steps;
  std::optional<int64_t> epoch_batches;
  int64_t resumed_from = 0;
  std::string skipped;  // pairs that are not trained on
};

class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  virtual void started(const RunReport&) {}
  virtual void stepped(const StepReport&) {}
  virtual void validated(const ValidationReport&) {}
  virtual void noted(const std::string& /*text*/) {}
};

enum class TrainEnd { finished, early_stop, interrupted };

class Trainer {
 public:
  // Prepares or, with resume, continues the run in `folder`.
  Trainer(const Recipe& recipe, const std::filesystem::path& folder, bool resume,
          TrainObserver& observer);
  ~Trainer();

  TrainEnd run(const std::atomic<bool>& stop);
  // How the model that was kept does on the test set, in a line; empty: there is none.
  std::string test() const { return task_->test(folder_); }

  const TrainState& state() const { return state_; }

 private:
  struct StepResult {
    double loss = 0.0;
    double gradient_norm = 0.0;
    int64_t tokens = 0;
    bool finite = true;
  };

  void prepare_parameters();
  Trained trained();
  bool resume_from_checkpoint();
  size_t measure_activations();

  bool over() const;
  bool out_of_patience() const;
  std::optional<int64_t> total_steps() const;
  double done() const;  // 0 to 1, by the steps or minutes asked for
  StepResult step(float rate);
  double backward(const TaskBatch& batch, double share);
  void skip_step(const StepResult& result);
  void update_ema();
  void report_step(const StepResult& result, double rate, bool now);
  void validate();
  bool is_best(const Score& score);
  void save();
  TrainEnd finish(TrainEnd end);
  void average();
  void log(const Json& line);

  template <typename Body>
  void with_ema(const Body& body);

  Recipe recipe_;
  std::filesystem::path folder_;
  TrainObserver& observer_;
  ParameterStore store_;
  std::unique_ptr<Task> task_;
  std::unique_ptr<Optimizer> optimizer_;
  Tensor ema_;
  Tape tape_;
  TrainState state_;
  // Since the last report.
  double loss_sum_ = 0.0;
  int64_t steps_since_ = 0;
  int64_t tokens_since_ = 0;
  double seconds_at_report_ = 0.0;
  double seconds_at_start_ = 0.0;  // of this process; what came before ran at another rate
  double done_at_start_ = 0.0;
  int64_t validated_at_ = -1;
  int64_t saved_at_ = -1;
};

}  // namespace heed
