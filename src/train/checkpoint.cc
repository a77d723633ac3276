#include "train/checkpoint.h"

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/interrupt.h"
#include "formats/safetensors.h"
#include "models/registry.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

const std::string kPrefix = "checkpoint-";
constexpr const char* kCarried = "task.safetensors";

std::optional<int64_t> step_of(const fs::path& path) {
  const std::string name = path.filename().string();
  if (!name.starts_with(kPrefix)) {
    return std::nullopt;
  }
  int64_t step = 0;
  const char* end = name.data() + name.size();
  const auto result = std::from_chars(name.data() + kPrefix.size(), end, step);
  return result.ec == std::errc() && result.ptr == end ? std::optional(step) : std::nullopt;
}

void write_state_tensors(const fs::path& file, const std::vector<StateTensor>& state) {
  std::vector<NamedTensor> tensors;
  tensors.reserve(state.size());
  for (const StateTensor& tensor : state) {
    tensors.push_back(named_tensor(tensor.name, tensor.tensor));
  }
  write_safetensors(file, tensors);
}

std::vector<StateTensor> optimizer_state(const Trained& trained) {
  std::vector<StateTensor> state = trained.optimizer.state();
  if (trained.ema.defined()) {
    state.push_back({"ema", trained.ema});
  }
  return state;
}

void load_state_tensors(const fs::path& file, const Trained& trained) {
  const SafetensorsFile stored(file);
  for (const StateTensor& wanted : optimizer_state(trained)) {
    const TensorEntry& entry = stored.at(wanted.name);
    check(entry.size() == wanted.tensor.size(), "[checkpoint] {}: tensor {} has {} values, not {}",
          file.string(), wanted.name, entry.size(), wanted.tensor.size());
    stored.copy(entry, wanted.tensor.span<float>());
  }
}

}  // namespace

fs::path save_checkpoint(const fs::path& run, const TrainState& state, const Trained& trained) {
  fs::path finished = run / fmt::format("{}{}", kPrefix, state.step);
  AtomicFolder made(finished);
  const fs::path& folder = made.path();
  save_config(folder, trained.config);
  save_tokenizers(folder, trained.tokenizers);
  save_parameters(folder / "model.safetensors", trained.store, trained.config.model);
  write_state_tensors(folder / "optimizer.safetensors", optimizer_state(trained));
  if (!trained.carried.empty()) {
    write_state_tensors(folder / kCarried, trained.carried);
  }
  write_file(folder / "state.json", config::write(state).dump(2) + "\n");
  made.commit();  // over one of a run that got this far before, with other luck
  return finished;
}

TrainState load_checkpoint(const fs::path& checkpoint, const Trained& trained) {
  const fs::path file = checkpoint / "state.json";
  const Json json = Json::parse(read_file(file), nullptr, false);
  check(!json.is_discarded(), "[checkpoint] {} is not valid JSON", file.string());
  TrainState state;
  config::read(state, json, file.string());
  load_parameters(checkpoint / "model.safetensors", trained.store, trained.config.model);
  load_state_tensors(checkpoint / "optimizer.safetensors", trained);
  trained.optimizer.set_steps(state.step - state.skipped);
  return state;
}

std::vector<StateTensor> load_carried(const fs::path& checkpoint) {
  std::vector<StateTensor> carried;
  if (fs::exists(checkpoint / kCarried)) {
    const SafetensorsFile stored(checkpoint / kCarried);
    for (const TensorEntry& entry : stored.entries()) {
      Tensor tensor = Tensor::empty(Shape(entry.shape));
      stored.copy(entry, tensor.span<float>());
      carried.push_back({entry.name, tensor});
    }
  }
  return carried;
}

std::vector<fs::path> list_checkpoints(const fs::path& run) {
  std::vector<fs::path> found;
  if (fs::is_directory(run)) {
    for (const fs::directory_entry& entry : fs::directory_iterator(run)) {
      if (entry.is_directory() && step_of(entry.path())) {
        found.push_back(entry.path());
      }
    }
  }
  std::sort(found.begin(), found.end(),
            [](const fs::path& a, const fs::path& b) { return *step_of(a) < *step_of(b); });
  return found;
}

void prune_checkpoints(const fs::path& run, int64_t keep, int64_t every) {
  const auto regular = [&](const fs::path& path) {
    const int64_t step = *step_of(path);
    return every > 0 && step > 0 && step % every == 0;
  };
  const std::vector<fs::path> found = list_checkpoints(run);
  int64_t kept = 0;
  for (size_t i = found.size(); i-- > 0;) {
    const bool last = i + 1 == found.size();
    if (kept < keep && (last || regular(found[i]))) {
      ++kept;
    } else {  // renamed first: half removed it would pass for a checkpoint
      fs::rename(found[i], run / fmt::format("{}{}", AtomicFolder::kPrefix, *step_of(found[i])));
    }
  }
  std::vector<fs::path> leftovers;
  for (const fs::directory_entry& entry : fs::directory_iterator(run)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(AtomicFolder::kPrefix) || name.starts_with("model.safetensors.tmp")) {
      leftovers.push_back(entry.path());
    }
  }
  for (const fs::path& path : leftovers) {
    fs::remove_all(path);
  }
}

void average_models(const std::vector<fs::path>& folders, const fs::path& output,
                    Existing existing) {
  check(!folders.empty(), "[average] no model folders given");
  check_output_folder(output, existing);  // before the work
  const FolderConfig config = load_config(folders.front());
  ParameterStore store;
  const auto model = make_model(store.root(), config.model);
  store.allocate(DType::f32, 0);
  std::vector<double> sums(static_cast<size_t>(store.values().size()), 0.0);
  for (const fs::path& folder : folders) {
    check(load_config(folder).model == config.model, "[average] {} and {} are different models",
          folders.front().string(), folder.string());
    interrupt_point();
    load_parameters(folder, store, config.model);
    const std::span<const float> values = store.values().span<float>();
    for (size_t i = 0; i < sums.size(); ++i) {
      sums[i] += values[i];
    }
  }
  const std::span<float> values = store.values().span<float>();
  for (size_t i = 0; i < sums.size(); ++i) {
    values[i] = static_cast<float>(sums[i] / static_cast<double>(folders.size()));
  }
  save_folder(output, config, load_tokenizers(folders.front(), config.model), store, DType::f32,
              existing);
}

}  // namespace heed
