// Checkpoints: everything a training needs to go on as if nothing had happened.
//
// checkpoint-N/ is a model folder (config.json, model.safetensors, tokenizer) with
// optimizer.safetensors, task.safetensors (what the task carries from step to step, if anything)
// and state.json beside. It appears under its name only when complete and on disk, so a run killed
// at any moment finds the last one whole.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/config.h"
#include "data/batches.h"
#include "models/folder.h"
#include "models/folder_output.h"
#include "train/optimizer.h"

namespace heed {

// Where a training stands.
struct TrainState {
  int64_t step = 0;
  DataState data = {};
  uint64_t draws = 0;  // random streams used so far: dropout goes on with the next
  double seconds = 0.0;
  int64_t skipped = 0;  // steps whose loss was not finite
  int64_t skipped_in_row = 0;
  double best = 0.0;            // score of the best validation so far; higher is better
  int64_t best_step = -1;       // and its step; -1: none yet
  int64_t worse_in_row = 0;     // validations since
  bool validation_due = false;  // the validation after this step was interrupted

  template <typename Visitor>
  void fields(Visitor& v) {
    v("step", step, "steps done", {.least = 0});
    v("data", data, "position in the data");
    v("draws", draws, "random streams used");
    v("seconds", seconds, "time trained");
    v("skipped", skipped, "steps skipped");
    v("skipped_in_row", skipped_in_row, "of them the last ones");
    v("best", best, "score of the best validation");
    v("best_step", best_step, "its step");
    v("worse_in_row", worse_in_row, "validations since");
    v("validation_due", validation_due, "a validation was interrupted");
  }
};

// What a checkpoint saves and restores.
struct Trained {
  const FolderConfig& config;
  const Tokenizers& tokenizers;
  ParameterStore& store;
  Optimizer& optimizer;
  Tensor ema;                             // f32, as store.updated_values(); undefined: none
  std::vector<StateTensor> carried = {};  // by the task, in f32
};

// On a mesh all processes call these; a checkpoint is the same whatever the mesh, and any other
// mesh opens it.
std::filesystem::path save_checkpoint(const std::filesystem::path& run, const TrainState& state,
                                      const Trained& trained);
TrainState load_checkpoint(const std::filesystem::path& checkpoint, const Trained& trained);
// What the task carried, in f32.
std::vector<StateTensor> load_carried(const std::filesystem::path& checkpoint);

// Complete checkpoints of a run, oldest first.
std::vector<std::filesystem::path> list_checkpoints(const std::filesystem::path& run);
// Removes all but the last `keep`, and what killed runs left half-written. Checkpoints between the
// multiples of `every` come from interruptions and go as soon as there is a later one: what is kept
// is then the same as without the interruption.
void prune_checkpoints(const std::filesystem::path& run, int64_t keep, int64_t every);

// The mean of the parameters of several model folders of the same model, as a new model folder.
void average_models(const std::vector<std::filesystem::path>& folders,
                    const std::filesystem::path& output, Existing existing = Existing::refuse);

}  // namespace heed
