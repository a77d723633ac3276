#include "train/recipe.h"

#include <toml++/toml.h>

#include <cstdlib>
#include <sstream>

#include "base/error.h"
#include "base/file.h"
#include "models/registry.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

Json to_json(const toml::node& node, const std::string& where) {
  if (const toml::table* table = node.as_table()) {
    Json json = Json::object();
    for (const auto& [key, value] : *table) {
      json[std::string(key.str())] = to_json(value, where);
    }
    return json;
  }
  if (const toml::array* array = node.as_array()) {
    Json json = Json::array();
    for (const toml::node& element : *array) {
      json.push_back(to_json(element, where));
    }
    return json;
  }
  if (const auto* value = node.as_string()) {
    return value->get();
  }
  if (const auto* value = node.as_integer()) {
    return value->get();
  }
  if (const auto* value = node.as_floating_point()) {
    return value->get();
  }
  if (const auto* value = node.as_boolean()) {
    return value->get();
  }
  fail("[{}] line {} holds a date or time, which no key takes", where, node.source().begin.line);
}

Json parse_toml(const std::string& text, const std::string& where) {
  try {
    const toml::table table = toml::parse(text, where);
    return to_json(table, where);
  } catch (const toml::parse_error& error) {
    fail("[{}] line {}, column {}: {}", where, error.source().begin.line,
         error.source().begin.column, error.description());
  }
}

// The file's tables over those of the recipe it names as its base. A model that says its kind or
// preset is another one and replaces the base's; else the fields given are changed.
Json read_with_base(const fs::path& file, int depth = 0) {
  constexpr int kDeepest = 8;
  check(depth < kDeepest, "[{}] recipes are based on each other in a circle", file.string());
  Json json = parse_toml(read_file(file), file.string());
  const auto base = json.find("base");
  if (base == json.end()) {
    return json;
  }
  check(base->is_string(), "[{}] base is {}, expected the name of a recipe", file.string(),
        base->dump());
  Json merged = read_with_base(file.parent_path() / base->get<std::string>(), depth + 1);
  json.erase("base");
  const Json model = json.value("model", Json::object());
  if (model.is_object() && (model.contains("kind") || model.contains("preset"))) {
    merged.erase("model");
  }
  merged.merge_patch(json);
  return merged;
}

// A value as TOML writes it; what is none is taken as a text.
Json parse_value(const std::string& text, const std::string& where) {
  try {
    return parse_toml("value = " + text, where).at("value");
  } catch (const Error&) {
    return text;
  }
}

void apply_setting(Json& json, const std::string& setting) {
  const size_t equals = setting.find('=');
  check(equals != std::string::npos && equals > 0, "[--set] {} is not of the form key=value",
        setting);
  Json* place = &json;
  std::istringstream path(setting.substr(0, equals));
  for (std::string key; std::getline(path, key, '.');) {
    check(place->is_object() || place->is_null(), "[--set] {}: {} lies inside a value", setting,
          key);
    place = &(*place)[key];
  }
  *place = parse_value(setting.substr(equals + 1), "--set " + setting);
}

std::string expand(std::string path, const fs::path& base) {
  const std::string variable = "${HEED_DATA}";
  if (const size_t at = path.find(variable); at != std::string::npos) {
    const char* folder = std::getenv("HEED_DATA");  // NOLINT: no other thread sets it
    path.replace(at, variable.size(), folder != nullptr ? folder : "../shared/data");
    return path;
  }
  return path.empty() || path == "-" || fs::path(path).is_absolute() || fs::exists(path)
             ? path
             : (base / path).string();
}

void expand_paths(Recipe& recipe, const fs::path& base) {
  DataConfig& data = recipe.data;
  for (std::vector<std::string>* list :
       {&data.source, &data.target, &data.tsv, &data.text, &data.table, &data.midi,
        &data.valid_midi, &data.test_midi, &recipe.image.train, &recipe.image.valid,
        &recipe.image.test}) {
    for (std::string& path : *list) {
      path = expand(path, base);
    }
  }
  for (std::string* path :
       {&data.valid_source, &data.valid_target, &data.test_source, &data.test_target,
        &data.valid_text, &data.test_text, &data.valid_table, &data.test_table, &data.chorales,
        &recipe.image.train_labels, &recipe.image.valid_labels, &recipe.image.test_labels,
        &recipe.text.folder, &recipe.train.from}) {
    *path = expand(*path, base);
  }
}

void check_pairs(const DataConfig& data, const std::string& where) {
  const int given =
      (data.builtin.empty() ? 0 : 1) + (data.source.empty() ? 0 : 1) + (data.tsv.empty() ? 0 : 1);
  check(given == 1, "[{}] data needs exactly one of: source and target, tsv, or builtin = \"demo\"",
        where);
  check(data.source.size() == data.target.size(),
        "[{}] data.source has {} files and data.target {}, expected as many", where,
        data.source.size(), data.target.size());
  check(data.valid_source.empty() == data.valid_target.empty() &&
            data.test_source.empty() == data.test_target.empty(),
        "[{}] valid_source and valid_target belong together, and so do the test files", where);
}

void check_text(const Recipe& recipe, const std::string& where) {
  const DataConfig& data = recipe.data;
  const bool text = (recipe.task == "language" || recipe.task == "masked") && !data.text.empty();
  const bool table = recipe.task != "language" && !data.table.empty();
  check(text || table, "[{}] task {} names no file to learn from: set data.{}", where, recipe.task,
        recipe.task == "language" || recipe.task == "masked" ? "text" : "table");
  check(data.source.empty() && data.tsv.empty() && data.builtin.empty(),
        "[{}] task {} does not learn from data.source, data.tsv or data.builtin", where,
        recipe.task);
}

void check_music(const Recipe& recipe, const std::string& where) {
  const DataConfig& data = recipe.data;
  const bool accompany = recipe.task == "accompany";
  check(!accompany || data.builtin.empty(),
        "[{}] the built-in pieces have one voice, so there is no accompaniment to learn: set "
        "data.midi or data.chorales",
        where);
  const int given = (data.midi.empty() ? 0 : 1) + (data.chorales.empty() ? 0 : 1) +
                    (data.builtin.empty() ? 0 : 1);
  check(given == 1, "[{}] task {} learns from exactly one of: data.midi, data.chorales{}", where,
        recipe.task, accompany ? "" : ", or builtin = \"demo\"");
  check(data.form != "chorale" || !data.chorales.empty(),
        "[{}] data.form is chorale, which only data.chorales can have", where);
  check(data.chorales.empty() ||
            (data.valid_midi.empty() && data.test_midi.empty() && data.valid_share == 0.0),
        "[{}] data.chorales has its own valid and test pieces: leave valid_midi, test_midi and "
        "valid_share out",
        where);
  check(!data.stretch.empty(), "[{}] data.stretch has no factor, expected at least one", where);
  check(!accompany || data.midi.empty() || recipe.schedule.kind != "cosine" ||
            recipe.schedule.total_steps > 0 || recipe.train.steps > 0,
        "[{}] performances are cut anew in each epoch, so a cosine cannot know its end: set "
        "train.steps or schedule.total_steps",
        where);
}

void check_image(const Recipe& recipe, const std::string& where) {
  const ImageDataConfig& image = recipe.image;
  check(image.drawn.empty() != image.train.empty(),
        "[{}] task image learns from exactly one of: image.train, or image.drawn", where);
  check(image.binarise == "no" || image.levels == 256,
        "[{}] image.levels is {}, but image.binarise makes two: leave one of them out", where,
        image.levels);
  check(image.valid.empty() || image.held_out == 0,
        "[{}] image.valid and image.held_out exclude each other", where);
}

std::string default_kind(const std::string& task) {
  return task == "translate" || task == "accompany"  ? "transformer"
         : task == "language" || task == "summarise" ? "gpt2"
         : task == "music"                           ? "music_transformer"
         : task == "image"                           ? "image_transformer"
                                                     : "bert";
}

// Scores have no classes to count.
void check_metric(const Recipe& recipe, const std::string& where) {
  const bool scores =
      recipe.task == "similarity" || (recipe.task == "classify" && recipe.data.score);
  const std::string& metric = recipe.validation.metric;
  check(!scores || metric.empty() || metric == "pearson" || metric == "spearman",
        "[{}] validation.metric is {}, expected pearson or spearman, which numbers have", where,
        metric);
}

void check_whole(const Recipe& recipe, const std::string& where) {
  if (recipe.task == "translate") {
    check_pairs(recipe.data, where);
  } else if (recipe.task == "music" || recipe.task == "accompany") {
    check_music(recipe, where);
  } else if (recipe.task == "image") {
    check_image(recipe, where);
  } else {
    check_text(recipe, where);
    check_metric(recipe, where);
  }
  check(recipe.train.steps > 0 || recipe.train.epochs > 0 || recipe.train.minutes > 0,
        "[{}] nothing ends the training: set train.steps, train.epochs or train.minutes", where);
  check(recipe.train.loss != "mse" || recipe.train.label_smoothing == 0.0F,
        "[{}] train.label_smoothing is {}, which the loss mse does not have: set it to 0", where,
        recipe.train.label_smoothing);
}

}  // namespace

Recipe parse_recipe(Json json, const std::string& where) {
  Recipe recipe;
  Json model = json.value("model", Json::object());
  json.erase("model");
  config::read(recipe, json, where);
  if (model.is_object() && !model.contains("kind")) {
    model["kind"] = default_kind(recipe.task);
  }
  recipe.model = resolve_model_config(model, where);
  check_whole(recipe, where);
  check_schedule(recipe.schedule, model_spec(recipe.model), where);
  return recipe;
}

Recipe read_recipe(const fs::path& file, std::span<const std::string> settings) {
  Json json = read_with_base(file);
  for (const std::string& setting : settings) {
    apply_setting(json, setting);
  }
  Recipe recipe = parse_recipe(std::move(json), file.string());
  expand_paths(recipe, file.parent_path());
  return recipe;
}

Json write_recipe(const Recipe& recipe) {
  Json json = config::write(recipe);
  json["model"] = recipe.model;
  return json;
}

}  // namespace heed
