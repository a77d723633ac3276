#include "train/run.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/file.h"
#include "formats/run_log.h"
#include "models/registry.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

// The first key, with its path, in which a recipe differs from the one that a run began with. Parts
// that may change are left out, and so is what this version of Heed no longer has.
std::string first_difference(const Json& a, const Json& b, const std::string& path) {
  static const std::vector<std::string> free{
      "train.steps", "train.epochs",    "train.minutes", "train.log_every",
      "validation",  "checkpoint.keep", "train.average", "train.most_skips"};
  if (a == b || std::find(free.begin(), free.end(), path) != free.end()) {
    return "";
  }
  if (!a.is_object() || !b.is_object()) {
    return path;
  }
  for (const auto& item : a.items()) {
    if (!b.contains(item.key())) {
      continue;
    }
    std::string inside =
        first_difference(item.value(), b.at(item.key()), config::joined(path, item.key()));
    if (!inside.empty()) {
      return inside;
    }
  }
  return "";
}

void prepare_run_folder(const fs::path& folder, const Recipe& recipe, bool resume) {
  const fs::path file = folder / "recipe.json";
  const Json json = write_recipe(recipe);
  if (fs::exists(file)) {
    check(resume,
          "[train] {} holds a run already: continue it with --resume, or give another --out",
          folder.string());
    const Json before = Json::parse(read_file(file), nullptr, false);
    check(!before.is_discarded(), "[train] {} is not valid JSON", file.string());
    const std::string key = first_difference(before, json, "");
    check(key.empty(), "[train] {} was begun with another {}; a resumed run must have the same",
          folder.string(), key);
  }
  fs::create_directories(folder);
  write_file(file, json.dump(2) + "\n");
}

// Whoever opens the folder makes the model from its configuration alone. A task that asked for
// parameters beside the model's would train them, and then nobody could load them.
void check_parameters(const Run& run) {
  ParameterStore alone;
  const std::unique_ptr<Model> model = make_model(alone.root(), run.task->config().model);
  for (const ParameterEntry& entry : run.store.entries()) {
    const auto same = [&](const ParameterEntry& other) { return other.name == entry.name; };
    check(std::any_of(alone.entries().begin(), alone.entries().end(), same),
          "[train] task {} has the parameter {}, which a model of its configuration does not have",
          run.recipe.task, entry.name);
  }
}

void prepare_parameters(Run& run, TrainObserver& observer) {
  const StepConfig& train = run.recipe.train;
  run.store.allocate(train.precision == "bf16" ? DType::bf16 : DType::f32, train.seed);
  if (!train.from.empty()) {
    const std::vector<std::string> fresh =
        load_parameters(train.from, run.store, run.task->config().model,
                        [&](std::string_view name) { return run.task->fresh(name); });
    if (!fresh.empty()) {
      observer.noted(fmt::format("begins with {}; new: {}", train.from, fmt::join(fresh, ", ")));
    }
  }
  run.optimizer = make_optimizer(run.store, run.recipe.optimizer);
  if (train.ema > 0.0F) {
    run.ema = run.store.values().clone();
  }
  save_config(run.folder, run.task->config());
}

// Whether there was a checkpoint to continue from.
bool load_last_checkpoint(Run& run) {
  const std::vector<fs::path> checkpoints = list_checkpoints(run.folder);
  if (checkpoints.empty()) {
    return false;
  }
  run.state = load_checkpoint(checkpoints.back(), run.trained());
  return true;
}

// Runs a full batch once, forward and backward, and throws the result away.
size_t measure_activations(Run& run) {
  const size_t before = Arena::global().live_bytes();
  Arena::global().reset_peak();
  Tape tape(0);
  {
    const TapeScope scope(tape);
    tape.backward(run.task->full_batch_loss());
  }
  tape.clear();
  run.store.clear_gradients();
  return Arena::global().peak_bytes() - before;
}

RunReport report_of(Run& run, bool resumed) {
  const ParameterStore& store = run.store;
  RunReport report{.parameters = store.count(),
                   .weight_bytes = store.values().bytes() + store.gradients().bytes() +
                                   (run.ema.defined() ? run.ema.bytes() : 0),
                   .optimizer_bytes = run.optimizer->state_bytes(),
                   .activation_bytes = measure_activations(run),
                   .total_steps = run.total_steps(),
                   .epoch_batches = run.task->epoch_batches(),
                   .resumed_from = resumed ? run.state.step : 0,
                   .skipped = run.task->skipped()};
  if (store.narrow_values().defined()) {
    report.weight_bytes += store.narrow_values().bytes();
  }
  return report;
}

}  // namespace

std::optional<int64_t> Run::total_steps() const {
  std::optional<int64_t> total;
  if (recipe.train.steps > 0) {
    total = recipe.train.steps;
  }
  const std::optional<int64_t> epoch = task->epoch_batches();
  if (recipe.train.epochs > 0 && epoch) {
    const auto steps =
        static_cast<int64_t>(std::ceil(recipe.train.epochs * static_cast<double>(*epoch) /
                                       static_cast<double>(recipe.train.accumulate)));
    total = std::min(total.value_or(steps), steps);
  }
  return total;
}

std::unique_ptr<Run> prepare_run(const Recipe& recipe, const fs::path& folder, bool resume,
                                 TrainObserver& observer) {
  prepare_run_folder(folder, recipe, resume);
  for (const std::string& line : recipe.unused) {
    observer.noted(line);
  }
  auto run = std::make_unique<Run>();
  run->recipe = recipe;
  run->folder = folder;
  run->task = recipe.kind->make(
      recipe, {.folder = folder, .scope = run->store.root(), .note = [&](const std::string& text) {
                 observer.noted(text);
               }});
  check_parameters(*run);
  prepare_parameters(*run, observer);
  const bool resumed = resume && load_last_checkpoint(*run);
  observer.noted("reading the data");
  run->task->begin(run->state.data);
  truncate_run_log(folder, run->state.step);
  run->report = report_of(*run, resumed);
  return run;
}

}  // namespace heed
