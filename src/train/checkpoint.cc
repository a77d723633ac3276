#include "train/checkpoint.h"

#include <algorithm>
#include <charconv>
#include <unordered_map>

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

std::vector<StateTensor> optimizer_state(const Trained& trained) {
  std::vector<StateTensor> state = trained.optimizer.state();
  if (trained.ema.defined()) {
    add_state_views(trained.store, "ema", trained.ema, state);
  }
  return state;
}

// What a process that shares a batch with others keeps of the optimizer, as the others know it.
struct ForeignState {
  std::string name;
  Shape shape;
};

// The state of all processes that share a batch: names and whole shapes, by name.
std::vector<ForeignState> whole_state(const Trained& trained,
                                      const std::vector<StateTensor>& state) {
  Json own = Json::array();
  for (const StateTensor& part : state) {
    const Shape& shape = part.entry != nullptr ? part.entry->whole_shape : part.tensor.shape();
    Json extents = Json::array();
    for (int axis = 0; axis < shape.rank(); ++axis) {
      extents.push_back(shape[axis]);
    }
    own.push_back({part.name, extents});
  }
  std::vector<ForeignState> all;
  const Mesh& mesh = trained.store.mesh();
  for (const std::string& text : mesh.along("batch").gather(own.dump())) {
    for (const Json& each : Json::parse(text)) {
      const auto same = [&](const ForeignState& other) { return other.name == each[0]; };
      if (std::none_of(all.begin(), all.end(), same)) {
        all.push_back({each[0], Shape(each[1].get<std::vector<int64_t>>())});
      }
    }
  }
  std::sort(all.begin(), all.end(),
            [](const ForeignState& a, const ForeignState& b) { return a.name < b.name; });
  return all;
}

// On a mesh, everybody writes what it keeps.
void write_state_tensors(const fs::path& file, const Trained& trained) {
  const std::vector<StateTensor> state = optimizer_state(trained);
  std::unordered_map<std::string, Tensor> own;
  for (const StateTensor& part : state) {
    if (part.entry == nullptr) {
      own.emplace(part.name, part.tensor);
    } else if (const auto whole = to_write(trained.store, *part.entry, part.tensor)) {
      own.emplace(part.name, *whole);
    }
  }
  std::vector<NamedTensor> tensors;
  for (const ForeignState& each : whole_state(trained, state)) {
    const auto found = own.find(each.name);
    tensors.push_back(
        found != own.end()
            ? named_tensor(each.name, found->second)
            : NamedTensor{.name = each.name, .dtype = DType::f32, .shape = each.shape});
  }
  write_safetensors(file, tensors, {}, writers_of(trained.store.mesh()));
}

void load_state_tensors(const fs::path& file, const Trained& trained) {
  const SafetensorsFile stored(file);
  std::vector<float> whole;
  for (const StateTensor& wanted : optimizer_state(trained)) {
    const TensorEntry& entry = stored.at(wanted.name);
    const int64_t size =
        wanted.entry != nullptr ? wanted.entry->whole_shape.size() : wanted.tensor.size();
    check(entry.size() == size, "[checkpoint] {}: tensor {} has {} values, not {}", file.string(),
          wanted.name, entry.size(), size);
    if (wanted.entry == nullptr) {
      stored.copy(entry, wanted.tensor.span<float>());
      continue;
    }
    whole.resize(static_cast<size_t>(size));
    stored.copy(entry, std::span(whole));
    take_part(*wanted.entry, whole, wanted.tensor.span<float>());
  }
}

void write_carried(const fs::path& file, const std::vector<StateTensor>& carried) {
  std::vector<NamedTensor> tensors;
  tensors.reserve(carried.size());
  for (const StateTensor& tensor : carried) {
    tensors.push_back(named_tensor(tensor.name, tensor.tensor));
  }
  write_safetensors(file, tensors);
}

}  // namespace

fs::path save_checkpoint(const fs::path& run, const TrainState& state, const Trained& trained) {
  fs::path finished = run / fmt::format("{}{}", kPrefix, state.step);
  const Mesh& mesh = trained.store.mesh();
  std::optional<AtomicFolder> made;
  if (mesh.leads()) {
    made.emplace(finished);
  }
  const fs::path folder = mesh.world().broadcast_text(made ? made->path().string() : "");
  save_parameters(folder / "model.safetensors", trained.store, trained.config.model);
  write_state_tensors(folder / "optimizer.safetensors", trained);
  if (made) {
    save_config(folder, trained.config);
    save_tokenizers(folder, trained.tokenizers);
    if (!trained.carried.empty()) {
      write_carried(folder / kCarried, trained.carried);
    }
    write_file(folder / "state.json", config::write(state).dump(2) + "\n");
    made->commit();  // over one of a run that got this far before, with other luck
  }
  mesh.world().barrier();
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
