// What is learned: the data, the model and the metric of one training. The Trainer drives a task
// without knowing which. A new task is a file pair in tasks/ and one line in tasks/tasks.cc;
// docs/add-a-task.md shows how.
//
// A task builds its model in the trainer's ParameterStore when it is made, for which it may read
// data, and gives batches from begin() on. One thread calls; reading ahead is the task's own
// affair.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/batches.h"
#include "formats/run_log.h"
#include "models/folder.h"
#include "models/registry.h"
#include "train/optimizer.h"
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

// A number with a name, such as the share of a code book that is used.
using Measure = LoggedMeasure;

// How good the model is on data it does not learn from.
struct Score {
  double loss = 0.0;
  std::string metric = {};  // "bleu", "accuracy", ...; empty: only the loss
  double value = 0.0;       // of the metric; higher is better
  std::string example = {};
  std::vector<Measure> measures = {};  // what else tells how the training goes
};

// What a task is made with.
struct TaskSetup {
  std::filesystem::path folder;                             // of the run
  bool resumed = false;                                     // the folder holds the run's tokenizers
  Scope scope;                                              // where the model's parameters go
  std::function<void(const std::string& text)> note = {};   // a line for the user
  std::function<void(const std::string& what)> doing = {};  // what the time goes to from now on
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

  // Whether a parameter is trained; the others stay as they are, to the bit.
  virtual bool trains(std::string_view /*parameter*/) const { return true; }

  // Opens the data there, and adds examples to the config. What is wrong with files or options
  // shows here, not hours later.
  virtual void begin(const DataState& state) = 0;
  // Null after the last one.
  virtual std::unique_ptr<TaskBatch> next() = 0;
  virtual std::optional<int64_t> epoch_batches() const = 0;  // if every epoch has as many
  virtual std::string skipped() const { return ""; }         // what of the data is not learned from

  // Before restore() and begin(): the processes that share a step's batches, each of which computes
  // every so manyth of them. A task whose batches go on where the one before ended (shares_rows)
  // computes a part of the rows of each instead, and its batches have the targets of those.
  virtual void share(const Group& /*batch*/) {}
  virtual bool shares_rows() const { return false; }

  // Around each step: before its batches, with the number of steps that are complete, and after the
  // weights were changed. A step that was interrupted, or whose loss was not finite, has no end.
  virtual void begin_step(int64_t /*complete*/) {}
  virtual void end_step() {}

  // Tensors that go from step to step beside the weights, such as what a model remembers of the
  // text so far. Checkpoints have them, so that a resumed run goes on with them; model folders do
  // not.
  virtual std::vector<StateTensor> carried() const { return {}; }
  // Before begin(): what a checkpoint has of them.
  virtual void restore(const std::vector<StateTensor>& /*carried*/) {}

  // The mean over the batch's targets.
  virtual Tensor loss(const TaskBatch& batch) const = 0;
  // The loss of a full batch of random or empty data, which shows how much memory a step takes.
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

// The task's sections of a recipe as its config.
template <typename Config>
Config own_config(const Recipe& recipe) {
  Config own;
  config::read(own, recipe.own, "recipe");
  return own;
}

// A task with the sections of the recipe that it alone has, as a config struct.
template <typename OwnConfig>
class TaskWith : public Task {
 public:
  using Config = OwnConfig;

 protected:
  explicit TaskWith(const Recipe& recipe) : Task(recipe), own_(own_config<Config>(recipe)) {}

  Config own_;
};

// An entry of the table of tasks.
struct TaskKind {
  std::string name;
  std::string help;   // what is learned, in a line
  std::string model;  // its kind, where the recipe names none
  // The task's sections with every field filled in and checked.
  std::function<Json(const Json& given, std::string_view where)> resolve;
  std::function<std::vector<config::FieldHelp>()> fields;
  // Throws if what the recipe says does not fit together.
  std::function<void(const Recipe& recipe, std::string_view where)> check;
  // Throws if the model cannot be built.
  std::function<void(const Recipe& recipe)> check_model;
  std::function<std::unique_ptr<Task>(const Recipe& recipe, const TaskSetup& setup)> make;
};

// Builds a model without memory for its weights: an Error if its sizes do not fit together, or if
// it is not an Interface.
template <typename Interface>
void try_model(const Json& model) {
  ParameterStore shapes;
  const std::unique_ptr<Model> built = make_model(shapes.root(), model);
  model_as<Interface>(*built, model);
}

// The entry of a task class, which has a Config, a constructor from (Recipe, TaskSetup) and
//   static void check_recipe(const Recipe& recipe, const Config& own, std::string_view where);
//   static void check_model(const Recipe& recipe, const Config& own);
// The latter calls try_model() with the model as far as it can be known without training a
// tokenizer.
template <typename Made>
TaskKind task_kind(std::string name, std::string help, std::string model) {
  using Config = typename Made::Config;
  return {
      .name = std::move(name),
      .help = std::move(help),
      .model = std::move(model),
      .resolve =
          [](const Json& given, std::string_view where) {
            Config own;
            config::read(own, given, where);
            return config::write(own);
          },
      .fields =
          [] {
            std::vector<config::FieldHelp> fields;
            config::describe(Config{}, fields);
            return fields;
          },
      .check =
          [](const Recipe& recipe, std::string_view where) {
            Made::check_recipe(recipe, own_config<Config>(recipe), where);
          },
      .check_model =
          [](const Recipe& recipe) { Made::check_model(recipe, own_config<Config>(recipe)); },
      .make = [](const Recipe& recipe, const TaskSetup& setup) -> std::unique_ptr<Task> {
        return std::make_unique<Made>(recipe, setup);
      },
  };
}

}  // namespace heed
