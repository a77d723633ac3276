// A training that is ready for its first step: the run folder, the task with its data, parameters,
// optimizer, and the state that a resumed run continues from.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/folder.h"
#include "train/checkpoint.h"
#include "train/optimizer.h"
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

struct Advance {
  int64_t step = 0;
  double done = 0.0;           // share of the training, 0 to 1
  double seconds_left = -1.0;  // below 0: not known
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
  std::string skipped;  // what of the data is not trained on
};

class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  virtual void noted(const std::string& /*text*/) {}
  // What the time goes to from now on, such as "reading the data".
  virtual void doing(const std::string& /*what*/) {}
  virtual void started(const RunReport&) {}
  virtual void advanced(const Advance&) {}    // after each step
  virtual void stepped(const StepReport&) {}  // after each train.log_every steps
  virtual void validated(const ValidationReport&) {}
};

// Not movable: the task's model points into the store.
struct Run {
  Recipe recipe;
  std::filesystem::path folder;
  const Mesh& mesh;                     // the processes that share the training
  std::optional<FolderLock> lock = {};  // no other process trains in this folder
  ParameterStore store = {};
  std::unique_ptr<Task> task = {};
  std::unique_ptr<Optimizer> optimizer = {};
  Tensor ema = {};        // the averaged weights, if the recipe asks for them
  TrainState state = {};  // after the last checkpoint of a resumed run
  RunReport report = {};

  Trained trained() {
    return {task->config(), task->tokenizers(), store, *optimizer, ema, task->carried()};
  }
  std::optional<int64_t> total_steps() const;  // if they can be told
};

// How much memory a batch takes beside the weights: runs loss() once, forward and backward, and
// throws the result away. `kind` is the model's, for an Error if it cannot recompute its layers.
size_t measure_activations(ParameterStore& store, const StepConfig& train, std::string_view kind,
                           const std::function<Tensor()>& loss);

enum class RunStart {
  anew,
  resume,  // continues the run in the folder, if there is one
  replace  // takes the place of the model or run in the folder
};

// Makes the folder and everything in the Run. A model or a run in the folder is an Error, unless it
// is replaced, or the run is resumed: then the recipe must be the same in everything that the
// weights depend on. Nothing is written or removed until all has proved to work, so that after an
// Error the folder is as it was before.
//
// On a mesh all processes call it, with the same recipe, program and data: what differs is an Error
// that names the process and both values. The first one writes; all have to see the folder.
std::unique_ptr<Run> prepare_run(const Recipe& recipe, const std::filesystem::path& folder,
                                 RunStart start, TrainObserver& observer,
                                 const Mesh& mesh = Mesh::single());

}  // namespace heed
