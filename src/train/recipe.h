// Recipes: everything that a training is told, as one TOML file. `--set key=value` changes single
// keys.
//
// A recipe has sections that every training has (below), the model's section, whose fields depend
// on model.kind, and sections of its task, whose fields the task lists itself (train/task.h). The
// recipe knows no task: whoever reads one passes the table of those that exist, and tasks/tasks.h
// does so with Heed's own.
//
// Every field of a recipe that has been read is filled in and checked; write_recipe() gives it back
// as JSON, which is what a run folder keeps and what a resumed run is compared with.
#pragma once

#include <algorithm>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/config.h"
#include "mesh/mesh.h"
#include "train/optimizer.h"
#include "train/schedule.h"

namespace heed {

struct TaskKind;  // train/task.h

struct StepConfig {
  std::string from;
  int64_t steps = 0;
  double epochs = 0;
  double minutes = 0;
  std::string precision = "bf16";
  uint64_t seed = 1;
  int64_t accumulate = 1;
  bool checkpoint_layers = false;
  float clip = 0.0F;
  float ema = 0.0F;
  int64_t average = 0;
  int64_t log_every = 50;
  int64_t most_skips = 20;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("from", from, "model folder whose weights and tokenizer the training starts from",
      {.path = true});
    v("steps", steps, "stop after this many steps; 0: no limit", {.least = 0});
    v("epochs", epochs, "stop after this many passes over the data; 0: no limit", {.least = 0});
    v("minutes", minutes, "stop after this many minutes of training; 0: no limit", {.least = 0});
    v("precision", precision, "precision of matrix multiplications; master weights are always f32",
      {.choices = {"f32", "bf16"}});
    v("seed", seed, "random seed of initial values, data order and dropout");
    v("accumulate", accumulate, "batches per step, whose gradients are accumulated",
      {.least = 1, .most = 4096});
    v("checkpoint_layers", checkpoint_layers,
      "keep only the input of each layer and compute the rest again in the backward pass: less "
      "memory, more time, the same weights");
    v("clip", clip, "clip the gradient to this norm; 0: do not clip", {.least = 0});
    v("ema", ema,
      "decay of an exponential moving average of the weights, which is then validated and kept; 0: "
      "none",
      {.least = 0, .most = 0.999999});
    v("average", average, "number of checkpoints to average at the end, the latest ones; 0: none",
      {.least = 0, .most = 1000});
    v("log_every", log_every, "steps between lines of progress", {.least = 1});
    v("most_skips", most_skips,
      "give up after this many steps in a row whose loss or gradient is not finite", {.least = 1});
  }
};

// How many steps a training takes, if that can be told; of the epochs' batches if they are equal.
std::optional<int64_t> total_steps(const StepConfig& train, std::optional<int64_t> epoch_batches);

struct ValidationConfig {
  int64_t every = 500;
  int64_t patience = 0;
  std::string best_by = "score";

  template <typename Visitor>
  void fields(Visitor& v) {
    v("every", every, "steps between validations; 0: only at the end", {.least = 0});
    v("patience", patience, "stop after this many validations without improvement; 0: never",
      {.least = 0});
    v("best_by", best_by, "criterion for the best model, which is kept",
      {.choices = {"score", "loss"}});
  }
};

struct CheckpointConfig {
  int64_t every = 1000;
  int64_t keep = 3;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("every", every, "steps between checkpoints; 0: only at the end", {.least = 0});
    v("keep", keep, "number of latest checkpoints to keep", {.least = 1, .most = 10000});
  }
};

struct Recipe {
  std::string task = "translate";
  const TaskKind* kind = nullptr;        // the task's entry in the table
  Json own = Json::object();             // the task's sections, resolved: its config as JSON
  std::vector<std::string> unused = {};  // a line for each key that only other tasks use
  Json model = Json::object();           // resolved: see models/registry.h
  StepConfig train;
  OptimizerConfig optimizer;
  ScheduleConfig schedule;
  ValidationConfig validation;
  CheckpointConfig checkpoint;
  MeshConfig mesh;

  // Averaging needs more of them than the recipe may want to keep.
  int64_t kept_checkpoints() const { return std::max(checkpoint.keep, train.average); }

  // What every training has.
  template <typename Visitor>
  void fields(Visitor& v) {
    v("task", task, "task to learn");
    v("train", train, "the training");
    v("optimizer", optimizer, "how weights change");
    v("schedule", schedule, "how the learning rate changes");
    v("validation", validation, "how progress is judged");
    v("checkpoint", checkpoint, "what is kept");
    v("mesh", mesh, "how several processes share the training");
  }
};

// `base = "OTHER.toml"` takes over everything from another recipe that this one does not say anew.
// Files are relative to the recipe that names them, or else to the current folder, in which those
// of `settings` are looked for first; ${HEED_DATA} stands for data_folder() (data/catalogue.h).
// `settings` are "key=value" with values as TOML writes them (a text needs no quotes).
Recipe read_recipe(const std::filesystem::path& file, std::span<const std::string> settings,
                   std::span<const TaskKind> tasks);
Recipe parse_recipe(Json json, const std::string& where, std::span<const TaskKind> tasks);
Json write_recipe(const Recipe& recipe);

// An Error that names the key and the file, if a file that the recipe names does not exist; it says
// which command fetches or makes the data set that the file belongs to.
void check_files(const Recipe& recipe, const std::string& where);

// The files and folders that the recipe names.
std::vector<std::filesystem::path> named_files(const Recipe& recipe);

// The keys that a recipe of this task has, without the model's.
std::vector<config::FieldHelp> recipe_keys(const TaskKind& task);

}  // namespace heed
