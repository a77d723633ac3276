// The training loop: batches in, a model folder out.
//
// A run folder holds recipe.json, the tokenizer, config.json and model.safetensors (the best model
// so far: the folder is a model folder), log.jsonl, and the last checkpoints. All that happens in
// a run follows from the recipe; a run that is killed and resumed ends with the same bits.
//
// On a mesh every process has a Trainer, and all do the same steps: a step's batches are shared
// among those along "batch", by turns, so that the step is the one that a single process would
// make. The first process writes files.
//
// Owns its run (train/run.h). One thread calls; `stop` may be set from a signal handler.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "autograd/tape.h"
#include "train/gradient_exchange.h"
#include "train/run.h"

namespace heed {

enum class TrainEnd { finished, early_stop, interrupted };

class Trainer {
 public:
  Trainer(std::unique_ptr<Run> run, TrainObserver& observer);

  // Ends soon after `stop` is set, even in the middle of a step or a validation, with a checkpoint.
  TrainEnd run(const std::atomic<bool>& stop);
  // How the model that was kept does on the test set, in a line; empty: there is none.
  std::string test() const { return task().test(run_->folder); }

  const TrainState& state() const { return run_->state; }
  const ExchangeTimes& exchange_times() const { return exchange_.times(); }

 private:
  struct StepResult {
    double loss = 0.0;
    double gradient_norm = 0.0;
    int64_t tokens = 0;
    bool finite = true;
  };

  Task& task() const { return *run_->task; }
  const Recipe& recipe() const { return run_->recipe; }
  const Mesh& mesh() const { return run_->mesh; }

  bool over() const;
  bool out_of_patience() const;
  double done() const;  // 0 to 1, by the steps or minutes asked for
  double seconds_left() const;
  TrainEnd run_steps();
  void complete_step();
  StepResult step(float rate);
  StepResult gradients();
  void add_gradients(const std::vector<std::unique_ptr<TaskBatch>>& parts, StepResult& result);
  double backward(const TaskBatch& batch, double share);
  bool asked_to_stop();
  void skip_step(const StepResult& result);
  void update_ema();
  void report_step(const StepResult& result, double rate, bool now);
  void validate();
  bool is_best(const Score& score);
  void save();
  TrainEnd finish(TrainEnd end);
  void average();

  template <typename Line>
  void log(const Line& line) const;
  template <typename Body>
  void with_ema(const Body& body);

  std::unique_ptr<Run> run_;
  TrainObserver& observer_;
  Tape tape_;
  GradientExchange exchange_;
  const std::atomic<bool>* stop_ = nullptr;  // while run() runs
  const std::atomic<bool> never_{false};
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
