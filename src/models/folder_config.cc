#include "models/folder_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <regex>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "formats/tensor_files.h"
#include "models/imports/huggingface.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

constexpr int kFormatVersion = 1;
constexpr std::array<std::pair<Content, const char*>, 3> kContents{
    {{Content::text, "text"},
     {Content::performance, "performance"},
     {Content::chorale, "chorale"}}};

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

std::string name_of(Content content) {
  for (const auto& [known, name] : kContents) {
    if (known == content) {
      return name;
    }
  }
  fail("[model folder] there is no content {}", static_cast<int>(content));
}

}  // namespace

Content content_of(MusicForm form) {
  return form == MusicForm::chorale ? Content::chorale : Content::performance;
}

std::optional<MusicForm> FolderConfig::music() const {
  if (content == Content::performance) {
    return MusicForm::performance;
  }
  return content == Content::chorale ? std::optional(MusicForm::chorale) : std::nullopt;
}

void save_config(const fs::path& folder, const FolderConfig& config, bool int8) {
  Json json = to_huggingface(config.model);
  if (json.empty()) {
    json = {{"format", "heed"},
            {"version", kFormatVersion},
            {"source_end", config.source_end},
            {"model", config.model}};
  }
  for (size_t i = 0; i < config.labels.size(); ++i) {
    json["id2label"][std::to_string(i)] = config.labels[i];
    json["label2id"][config.labels[i]] = i;
  }
  if (!config.labels.empty()) {
    json["problem_type"] = config.score ? "regression" : "single_label_classification";
  }
  if (config.content && config.spec().has_tokenizer()) {
    json["content"] = name_of(*config.content);
  }
  if (!config.source_language.empty()) {
    json["source_language"] = config.source_language;
  }
  if (!config.target_language.empty()) {
    json["target_language"] = config.target_language;
  }
  if (config.training_lines) {
    json["training_lines"] = config::write(*config.training_lines);
  }
  if (!config.examples.empty()) {
    json["examples"] = config.examples;
  }
  if (int8) {
    json["quantization_config"] = {{"quant_method", "heed-int8"}};
  }
  write_file(folder / "config.json", json.dump(2) + "\n");
}

namespace {

// A name for each class; without any they are called as Hugging Face calls them.
std::vector<std::string> read_labels(const Json& json, size_t classes, const std::string& where) {
  std::vector<std::string> labels;
  const Json map = json.value("id2label", Json::object());
  check(map.is_object(), "[{}] id2label is not a table of names", where);
  check(map.empty() || map.size() == classes, "[{}] id2label names {} classes, the model has {}",
        where, map.size(), classes);
  for (size_t i = 0; i < classes; ++i) {
    if (map.empty()) {
      labels.push_back(fmt::format("LABEL_{}", i));
      continue;
    }
    const auto found = map.find(std::to_string(i));
    check(found != map.end() && found->is_string(), "[{}] id2label has no name for class {}", where,
          i);
    labels.push_back(found->get<std::string>());
  }
  return labels;
}

std::string read_text(const Json& json, const char* key, const std::string& where) {
  const auto found = json.find(key);
  if (found == json.end()) {
    return "";
  }
  check(found->is_string(), "[model folder] {}: {} is {}, expected a text", where, key,
        found->dump());
  return found->get<std::string>();
}

std::vector<std::string> read_examples(const Json& json, const std::string& where) {
  const Json list = json.value("examples", Json::array());
  const bool texts = list.is_array() && std::all_of(list.begin(), list.end(), [](const Json& one) {
                       return one.is_string();
                     });
  check(texts, "[model folder] {}: examples is {}, expected a list of texts", where, list.dump());
  return list.get<std::vector<std::string>>();
}

std::optional<Content> read_content(const Json& json, const std::string& where) {
  if (!json.contains("content")) {
    return std::nullopt;
  }
  const std::string name = read_text(json, "content", where);
  for (const auto& known : kContents) {
    if (name == known.second) {
      return known.first;
    }
  }
  fail("[model folder] {}: content is \"{}\", expected text, performance or chorale", where, name);
}

// Text encoders name all their classes; image models may leave them to be numbers.
void read_classes(const Json& json, FolderConfig& config, const std::string& where) {
  const ModelSpec spec = config.spec();
  const bool encoder = spec.interface == ModelInterface::encoder;
  if (spec.classes == 0 || (!encoder && !json.contains("id2label"))) {
    return;
  }
  config.labels = read_labels(json, static_cast<size_t>(spec.classes), where);
  // One class alone would tell nothing apart.
  config.score =
      encoder && (json.value("problem_type", Json()) == "regression" || spec.classes == 1);
}

Json heed_config(const Json& json, const std::string& where) {
  check(json.contains("format") && json["format"] == "heed" && json.contains("model"),
        "[model folder] {} is not the config of a Heed model; `heed convert` imports others",
        where);
  check(json.contains("version") && json["version"] == kFormatVersion,
        "[model folder] {} has version {}, expected {}", where,
        json.contains("version") ? json["version"].dump() : "none", kFormatVersion);
  return json["model"];
}

}  // namespace

FolderConfig load_config(const fs::path& folder) {
  const fs::path file = folder / "config.json";
  const std::string where = file.string();
  check(fs::exists(file), "[model folder] {} has no config.json; is it a model folder?",
        folder.string());
  const Json json = parse_json(file);
  FolderConfig config;
  if (is_huggingface(json)) {
    std::optional<TensorFiles> files;
    if (has_tensors(folder)) {
      files.emplace(folder);
    }
    const auto has = [&](std::string_view name) { return files && files->find(name) != nullptr; };
    config.model = resolve_model_config(from_huggingface(json, has, where), where);
  } else {
    config.model = resolve_model_config(heed_config(json, where), where);
  }
  const Json source_end = json.value("source_end", Json(true));
  check(source_end.is_boolean(), "[model folder] {}: source_end is not true or false", where);
  config.source_end = source_end.get<bool>();
  read_classes(json, config, where);
  config.content = read_content(json, where);
  config.source_language = read_text(json, "source_language", where);
  config.target_language = read_text(json, "target_language", where);
  if (json.contains("training_lines")) {
    config::read(config.training_lines.emplace(), json["training_lines"], where, "training_lines");
  }
  config.examples = read_examples(json, where);
  return config;
}

void guess_what_folder_leaves_out(FolderConfig& config, const Tokenizer* target,
                                  const std::string& name) {
  if (!config.content && target != nullptr) {
    config.content = Content::text;
    for (const MusicForm form : {MusicForm::performance, MusicForm::chorale}) {
      const auto music = music_tokenizer(form);
      if (target->size() == music->size() && target->serialize() == music->serialize()) {
        config.content = content_of(form);
      }
    }
  }
  const bool said = !config.source_language.empty() || !config.target_language.empty();
  static const std::regex kPair("(?:.*[^a-z])?([a-z]{2,3})-([a-z]{2,3})(?:[^a-z].*)?");
  std::smatch found;
  if (!said && config.content == Content::text &&
      config.spec().interface == ModelInterface::translation &&
      std::regex_match(name, found, kPair)) {
    config.source_language = found[1];
    config.target_language = found[2];
  }
}

}  // namespace heed
