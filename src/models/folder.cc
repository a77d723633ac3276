#include "models/folder.h"

#include <fmt/format.h>

#include <unordered_set>

#include "base/error.h"
#include "base/file.h"
#include "formats/safetensors.h"
#include "models/registry.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

constexpr int kFormatVersion = 1;
constexpr const char* kTokenizerFiles[] = {"tokenizer.model", "vocabulary.json"};

std::optional<fs::path> tokenizer_file(const fs::path& folder, const std::string& prefix) {
  for (const char* name : kTokenizerFiles) {
    const fs::path file = folder / (prefix + name);
    if (fs::exists(file)) {
      return file;
    }
  }
  return std::nullopt;
}

Json parse_json(const fs::path& file) {
  // Copying and printing JSON descends into it: no deeper than configurations ever are.
  constexpr int kDepth = 100;
  const auto shallow = [&](int depth, Json::parse_event_t /*event*/, Json& /*value*/) {
    check(depth <= kDepth, "[model folder] {} is nested more than {} deep", file.string(), kDepth);
    return true;
  };
  Json json = Json::parse(read_file(file), shallow, false);
  check(!json.is_discarded(), "[model folder] {} is not valid JSON", file.string());
  check(json.is_object(), "[model folder] {} holds no JSON object", file.string());
  return json;
}

void check_shape(const fs::path& file, const TensorEntry& stored, const ParameterEntry& wanted) {
  const Shape& shape = wanted.shape;
  bool same = static_cast<int>(stored.shape.size()) == shape.rank();
  for (int axis = 0; same && axis < shape.rank(); ++axis) {
    same = stored.shape[static_cast<size_t>(axis)] == shape[axis];
  }
  check(same, "[model folder] {}: tensor {} is [{}], expected {}", file.string(), wanted.name,
        fmt::join(stored.shape, ","), shape);
}

// The stored tensor of each parameter; a tensor that no parameter wants is an error too.
class StoredParameters {
 public:
  StoredParameters(const fs::path& file, const ParameterStore& store) : file_(file) {
    const TensorEntry* unwanted = extra(store);
    check(unwanted == nullptr, "[model folder] {}: tensor {} belongs to no parameter of this model",
          file.string(), unwanted != nullptr ? unwanted->name : "");
  }

  void read(const ParameterEntry& entry, std::span<float> values) const {
    const TensorEntry& stored = file_.at(entry.name);
    check_shape(file_.path(), stored, entry);
    file_.copy(stored, values);
  }

 private:
  const TensorEntry* extra(const ParameterStore& store) const {
    std::unordered_set<std::string_view> wanted;
    for (const ParameterEntry& entry : store.entries()) {
      wanted.insert(entry.name);
    }
    for (const TensorEntry& stored : file_.entries()) {
      if (!wanted.contains(stored.name)) {
        return &stored;
      }
    }
    return nullptr;
  }

  SafetensorsFile file_;
};

}  // namespace

void save_tokenizers(const fs::path& folder, const Tokenizers& tokenizers) {
  const auto save = [&](const std::string& prefix, const Tokenizer& tokenizer) {
    write_file(folder / (prefix + std::string(tokenizer.file_name())), tokenizer.serialize());
  };
  if (tokenizers.joint()) {
    save("", *tokenizers.source);
  } else {
    save("source.", *tokenizers.source);
    save("target.", *tokenizers.target);
  }
}

bool has_tokenizers(const fs::path& folder) {
  return tokenizer_file(folder, "").has_value() || (tokenizer_file(folder, "source.").has_value() &&
                                                    tokenizer_file(folder, "target.").has_value());
}

Tokenizers load_tokenizers(const fs::path& folder) {
  if (const auto joint = tokenizer_file(folder, "")) {
    const auto tokenizer = load_tokenizer(*joint);
    return {tokenizer, tokenizer};
  }
  const auto source = tokenizer_file(folder, "source.");
  const auto target = tokenizer_file(folder, "target.");
  check(source && target,
        "[model folder] {} has no tokenizer: neither tokenizer.model, vocabulary.json nor "
        "source.* and target.*",
        folder.string());
  return {load_tokenizer(*source), load_tokenizer(*target)};
}

void save_config(const fs::path& folder, const FolderConfig& config) {
  Json json = Json::object();
  json["format"] = "heed";
  json["version"] = kFormatVersion;
  json["source_end"] = config.source_end;
  json["model"] = config.model;
  write_file(folder / "config.json", json.dump(2) + "\n");
}

FolderConfig load_config(const fs::path& folder) {
  const fs::path file = folder / "config.json";
  check(fs::exists(file), "[model folder] {} has no config.json; is it a model folder?",
        folder.string());
  const Json json = parse_json(file);
  check(json.contains("format") && json["format"] == "heed" && json.contains("model"),
        "[model folder] {} is not the config of a Heed model; `heed convert` imports others",
        file.string());
  check(json.contains("version") && json["version"] == kFormatVersion,
        "[model folder] {} has version {}, expected {}", file.string(),
        json.contains("version") ? json["version"].dump() : "none", kFormatVersion);
  FolderConfig config;
  config.model = resolve_model_config(json["model"], file.string());
  const bool source_end = json.value("source_end", Json(true)).is_boolean();
  check(source_end, "[model folder] {}: source_end is not true or false", file.string());
  config.source_end = json.value("source_end", true);
  return config;
}

std::vector<int32_t> LoadedModel::encode_source(std::string_view text) const {
  std::vector<int32_t> ids = tokenizers.source->encode(text);
  if (config.source_end) {
    ids.push_back(tokenizers.source->special().end);
  }
  return ids;
}

std::unique_ptr<LoadedModel> load_model(const fs::path& folder, DType compute) {
  check(fs::is_directory(folder), "[model folder] {} is not a folder", folder.string());
  auto loaded = std::make_unique<LoadedModel>();
  loaded->config = load_config(folder);
  loaded->tokenizers = load_tokenizers(folder);
  const fs::path file = folder / "model.safetensors";
  check(fs::exists(file), "[model folder] {} has no model.safetensors; is the training not done?",
        folder.string());
  loaded->model = make_seq2seq(loaded->store.root(), loaded->config.model);
  const auto check_size = [&](const char* side, const Tokenizer& tokenizer, int64_t vocabulary) {
    check(tokenizer.size() <= vocabulary,
          "[model folder] {}: the {} tokenizer has {} pieces, the model a vocabulary of {}",
          folder.string(), side, tokenizer.size(), vocabulary);
  };
  const int64_t target = loaded->model->target_vocabulary();
  const auto source = loaded->config.model.value("source_vocabulary", int64_t{0});  // 0: joint
  check_size("target", *loaded->tokenizers.target, target);
  check_size("source", *loaded->tokenizers.source, source > 0 ? source : target);
  const StoredParameters stored(file, loaded->store);
  loaded->store.allocate(compute, [&](const ParameterEntry& entry, std::span<float> values) {
    stored.read(entry, values);
  });
  return loaded;
}

void save_parameters(const fs::path& file, const ParameterStore& store,
                     const std::map<std::string, std::string>& metadata) {
  std::vector<NamedTensor> tensors;
  for (const ParameterEntry& entry : store.entries()) {
    tensors.push_back(named_tensor(entry.name, entry.value));
  }
  write_safetensors(file, tensors, metadata);
}

void load_parameters(const fs::path& file, ParameterStore& store) {
  const StoredParameters stored(file, store);
  for (const ParameterEntry& entry : store.entries()) {
    stored.read(entry, entry.value.span<float>());
  }
  store.refresh_narrow();
}

}  // namespace heed
