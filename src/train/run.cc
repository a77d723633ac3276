#include "train/run.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "autograd/checkpoint.h"
#include "base/error.h"
#include "base/file.h"
#include "formats/run_log.h"
#include "models/folder_output.h"
#include "models/registry.h"
#include "train/agreement.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

// A key with its path, and its values in two recipes.
struct Difference {
  std::string key;
  Json before;
  Json now;
};

// The first key in which a recipe differs from the one that a run began with. Parts that may change
// are left out, and so is what this version of Heed no longer has.
std::optional<Difference> first_difference(const Json& before, const Json& now,
                                           const std::string& path) {
  static const std::vector<std::string> free{"train.steps",
                                             "train.epochs",
                                             "train.minutes",
                                             "train.log_every",
                                             "validation",
                                             "checkpoint.keep",
                                             "train.average",
                                             "train.most_skips",
                                             "train.checkpoint_layers",
                                             "mesh"};
  if (before == now || std::find(free.begin(), free.end(), path) != free.end()) {
    return std::nullopt;
  }
  if (!before.is_object() || !now.is_object()) {
    return Difference{path, before, now};
  }
  for (const auto& item : before.items()) {
    if (!now.contains(item.key())) {
      continue;
    }
    std::optional<Difference> inside =
        first_difference(item.value(), now.at(item.key()), config::joined(path, item.key()));
    if (inside) {
      return inside;
    }
  }
  return std::nullopt;
}

// Whether the folder holds a run that is to be continued. An Error if what it holds must not be
// touched.
bool is_resumed(const fs::path& folder, const Recipe& recipe, RunStart start) {
  const std::string found = occupied_by(folder);
  if (start == RunStart::replace) {
    return false;
  }
  if (!is_run_folder(folder)) {
    check(found.empty(), "[train] {} holds {}: give another --out, or replace it with --force",
          folder.string(), found);
    return false;
  }
  check(start == RunStart::resume,
        "[train] {} holds a run already: continue it with --resume, replace it with --force, or "
        "give another --out",
        folder.string());
  const fs::path file = folder / "recipe.json";
  const Json before = Json::parse(read_file(file), nullptr, false);
  check(!before.is_discarded(), "[train] {} is not valid JSON", file.string());
  if (const auto difference = first_difference(before, write_recipe(recipe), "")) {
    fail(
        "[train] {} was begun with {} = {}, and the recipe now has {}; a resumed run must have the "
        "same (--force starts over)",
        folder.string(), difference->key, difference->before.dump(), difference->now.dump());
  }
  return true;
}

// Removes the model or run in a folder. Files that Heed did not write stay, and so does the data
// that the new run reads.
void remove_earlier_run(const fs::path& folder) {
  for (const fs::path& path : contents_of(folder).own) {
    if (path.filename() != FolderLock::kFile && path.filename() != "data") {
      fs::remove_all(path);
    }
  }
}

// All that makes the folder a run folder. The recipe is first: it says that there is a run.
void write_run_files(const Run& run, bool resumed) {
  write_file(run.folder / "recipe.json", write_recipe(run.recipe).dump(2) + "\n");
  if (!resumed || !has_tokenizers(run.folder)) {
    save_tokenizers(run.folder, run.task->tokenizers());
  }
  save_config(run.folder, run.task->config());
  truncate_run_log(run.folder, run.state.step);
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
  run.store.train_only([&](std::string_view name) { return run.task->trains(name); });
  run.optimizer = make_optimizer(run.store, run.recipe.optimizer);
  if (train.ema > 0.0F) {
    run.ema = run.store.updated_values().clone();
  }
}

// Whether there was a checkpoint to continue from.
bool load_last_checkpoint(Run& run) {
  const std::vector<fs::path> checkpoints = list_checkpoints(run.folder);
  if (checkpoints.empty()) {
    return false;
  }
  run.state = load_checkpoint(checkpoints.back(), run.trained());
  run.task->restore(load_carried(checkpoints.back()));
  return true;
}

RunReport report_of(Run& run, bool resumed) {
  const ParameterStore& store = run.store;
  RunReport report{.parameters = store.count(),
                   .weight_bytes = store.values().bytes() + store.gradients().bytes() +
                                   (run.ema.defined() ? run.ema.bytes() : 0),
                   .optimizer_bytes = run.optimizer->state_bytes(),
                   .activation_bytes = measure_activations(
                       run.store, run.recipe.train, run.task->config().spec().kind,
                       [&] { return run.task->full_batch_loss(); }),
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
  return heed::total_steps(recipe.train, task->epoch_batches());
}

size_t measure_activations(ParameterStore& store, const StepConfig& train, std::string_view kind,
                           const std::function<Tensor()>& loss) {
  const size_t before = Arena::global().live_bytes();
  Arena::global().reset_peak();
  Tape tape(0);
  {
    const TapeScope scope(tape);
    const CheckpointScope layers(train.checkpoint_layers);
    tape.backward(loss());
    check(!train.checkpoint_layers || layers.blocks() > 0,
          "[train] train.checkpoint_layers is true, but no layer of a {} can be computed again, "
          "which Transformer layers without a memory can: set it to false",
          kind);
  }
  tape.clear();
  store.clear_gradients();
  return Arena::global().peak_bytes() - before;
}

namespace {

// How many parts of a step each process that shares the batch has.
void check_mesh(const Run& run) {
  const Group& batch = run.mesh.along("batch");
  const int64_t parts = run.recipe.train.accumulate;
  check(parts % batch.size() == 0 || run.task->shares_rows(),
        "[train] a step has {} batches (train.accumulate), which {} processes cannot share: set "
        "train.accumulate to a multiple of {}, and data.batch_tokens to what one of them takes at "
        "a time",
        parts, batch.size(), batch.size());
}

}  // namespace

std::unique_ptr<Run> prepare_run(const Recipe& recipe, const fs::path& folder, RunStart start,
                                 TrainObserver& observer, const Mesh& mesh) {
  for (const std::string& line : recipe.unused) {
    observer.noted(line);
  }
  recipe.kind->check_model(recipe);
  std::optional<NewFolder> made;
  std::unique_ptr<Run> run(new Run{.recipe = recipe, .folder = folder, .mesh = mesh});
  if (mesh.leads()) {
    made.emplace(folder);
    run->lock.emplace(folder);
  }
  mesh.world().barrier();
  const bool resumed = is_resumed(folder, recipe, start);
  observer.doing("preparing the run");
  run->store.lay_out_on(mesh);
  run->task =
      recipe.kind->make(recipe, {.folder = folder,
                                 .resumed = resumed,
                                 .scope = run->store.root(),
                                 .note = [&](const std::string& text) { observer.noted(text); },
                                 .doing = [&](const std::string& what) { observer.doing(what); }});
  check_parameters(*run);
  check_mesh(*run);
  run->task->share(mesh.along("batch"));
  check_agreement(mesh, recipe, run->task->config().model);
  prepare_parameters(*run, observer);
  const bool loaded = resumed && load_last_checkpoint(*run);
  mesh.world().barrier();
  if (loaded && mesh.leads()) {  // a run that was killed may have left parts of checkpoints
    prune_checkpoints(folder, recipe.kept_checkpoints(), recipe.checkpoint.every);
  }
  observer.doing("reading the data");
  run->task->begin(run->state.data);
  observer.doing("measuring how much memory a batch takes");
  run->report = report_of(*run, loaded);
  if (mesh.leads()) {
    if (start == RunStart::replace) {
      remove_earlier_run(folder);
    }
    write_run_files(*run, resumed);
    made->keep();
  }
  mesh.world().barrier();
  return run;
}

}  // namespace heed
