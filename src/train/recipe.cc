#include "train/recipe.h"

#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "data/catalogue.h"
#include "models/registry.h"
#include "train/task.h"

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

// Where paths come from, and with it the folder in which they are looked for first.
enum class PathsOf { recipe, settings };

// A relative path lies in the recipe's `folder` or in the current one; what does not exist yet
// belongs to the recipe's.
std::string expand(std::string path, const fs::path& folder, PathsOf origin) {
  const std::string variable = "${HEED_DATA}";
  if (const size_t at = path.find(variable); at != std::string::npos) {
    return path.replace(at, variable.size(), data_folder().string());
  }
  if (path.empty() || path == "-" || fs::path(path).is_absolute()) {
    return path;
  }
  const std::string beside = (folder / path).string();
  const bool here = fs::exists(path) && (origin == PathsOf::settings || !fs::exists(beside));
  return here ? path : beside;
}

// The value at a key such as data.source, or null.
Json* find_key(Json& json, const std::string& key) {
  Json* place = &json;
  std::istringstream parts(key);
  for (std::string part; std::getline(parts, part, '.');) {
    if (!place->is_object() || !place->contains(part)) {
      return nullptr;
    }
    place = &(*place)[part];
  }
  return place;
}

// Replaces every path in the JSON of a recipe by body(key, path).
template <typename Body>
void for_each_path(Json& json, const TaskKind& task, const Body& body) {
  for (const config::FieldHelp& field : recipe_keys(task)) {
    Json* value = field.range.path ? find_key(json, field.name) : nullptr;
    if (value == nullptr) {
      continue;
    }
    const auto visit = [&](Json& path) {
      if (path.is_string()) {
        path = body(field.name, path.get<std::string>());
      }
    };
    if (value->is_array()) {
      std::for_each(value->begin(), value->end(), visit);
    } else {
      visit(*value);
    }
  }
}

void expand_paths(Json& json, const TaskKind& task, const fs::path& folder, PathsOf origin) {
  for_each_path(json, task, [&](const std::string&, const std::string& path) {
    return expand(path, folder, origin);
  });
}

// A recipe's file as JSON, and the folder that its paths are relative to.
struct RecipeFile {
  Json json;
  fs::path folder;
};

// The file, the recipe it names as its base, that one's base, and so on.
std::vector<RecipeFile> read_with_bases(fs::path file) {
  constexpr size_t kMost = 8;
  std::vector<RecipeFile> chain;
  while (true) {
    check(chain.size() < kMost, "[{}] recipes are based on each other in a circle", file.string());
    chain.push_back({parse_toml(read_file(file), file.string()), file.parent_path()});
    Json& json = chain.back().json;
    const auto base = json.find("base");
    if (base == json.end()) {
      return chain;
    }
    check(base->is_string(), "[{}] base is {}, expected the name of a recipe", file.string(),
          base->dump());
    file = file.parent_path() / base->get<std::string>();
    json.erase("base");
  }
}

// The tables of a recipe over those of its base. A model that says its kind or preset is another
// one and replaces the base's; otherwise the fields that are given change.
void put_over(Json& base, const Json& json) {
  const Json model = json.value("model", Json::object());
  if (model.is_object() && (model.contains("kind") || model.contains("preset"))) {
    base.erase("model");
  }
  base.merge_patch(json);
}

const TaskKind& find_task(const std::string& name, std::span<const TaskKind> tasks,
                          std::string_view where) {
  std::vector<std::string> names;
  for (const TaskKind& task : tasks) {
    if (task.name == name) {
      return task;
    }
    names.push_back(task.name);
  }
  config::check_choice(where, "task", name, {.choices = names});
  fail("[{}] task {} is not known", where, name);
}

// The task that the chain of files, or a setting, asks for.
const TaskKind& task_of(const std::vector<RecipeFile>& chain, const Json& settings,
                        std::span<const TaskKind> tasks, std::string_view where) {
  Json task = Recipe{}.task;
  for (auto file = chain.rbegin(); file != chain.rend(); ++file) {
    task = file->json.value("task", task);
  }
  task = settings.value("task", task);
  if (!task.is_string()) {
    config::wrong_type(where, "task", task, "a text in quotes");
  }
  return find_task(task.get<std::string>(), tasks, where);
}

// The keys of `json` that `shape` has too.
Json part_of(const Json& json, const Json& shape) {
  Json part = Json::object();
  for (const auto& [key, value] : json.items()) {
    if (shape.contains(key)) {
      const Json& inner = shape[key];
      part[key] = value.is_object() && inner.is_object() ? part_of(value, inner) : value;
    }
  }
  return part;
}

// A recipe of the task with every key that it can have, but for the model's.
Json shape_of(const TaskKind& task) {
  Json shape = config::write(Recipe{});
  shape.merge_patch(task.resolve(Json::object(), task.name));
  return shape;
}

bool has_key(const TaskKind& task, const std::string& key) {
  const std::vector<config::FieldHelp> fields = task.fields();
  return std::any_of(fields.begin(), fields.end(), [&](const config::FieldHelp& field) {
    return field.name == key || field.name.starts_with(key + ".");
  });
}

// `shape` is the table at `path` with all the keys that it may have.
[[noreturn]] void unknown_key(const std::string& key, const Json& shape, const TaskKind& task,
                              const std::string& where, const std::string& path) {
  for (const config::FieldHelp& field : recipe_keys(task)) {
    check(field.range.renamed_from.empty() ||
              config::joined(path, field.range.renamed_from) != key ||
              !field.name.starts_with(path),
          "[{}] there is no key {}; it is now called {}", where, key, field.name);
  }
  std::vector<std::string> known;
  for (const auto& item : shape.items()) {
    known.push_back(item.key());
  }
  const std::string name = path.empty() ? key : key.substr(path.size() + 1);
  fail("[{}] there is no key {}; did you mean {}?", where, key,
       config::joined(path, nearest(name, known)));
}

// A line for each key that the task does not have, but other tasks do: a recipe may serve as the
// base of several tasks. Keys that no task has are errors.
std::vector<std::string> unused_keys(const Json& json, const Json& shape, const TaskKind& task,
                                     std::span<const TaskKind> tasks, const std::string& where,
                                     const std::string& path = "") {
  std::vector<std::string> unused;
  for (const auto& [name, value] : json.items()) {
    const std::string key = config::joined(path, name);
    if (shape.contains(name)) {
      if (value.is_object() && shape[name].is_object()) {
        for (std::string& line : unused_keys(value, shape[name], task, tasks, where, key)) {
          unused.push_back(std::move(line));
        }
      }
      continue;
    }
    std::string others;
    for (const TaskKind& other : tasks) {
      others += has_key(other, key) ? (others.empty() ? "" : ", ") + other.name : "";
    }
    if (others.empty()) {
      unknown_key(key, shape, task, where, path);
    }
    unused.push_back(fmt::format("[{}] the task {} does not use {}; these do: {}", where, task.name,
                                 key, others));
  }
  return unused;
}

// Removes such keys from the base of a recipe: they may belong to the base's own task.
void drop_unused_keys(Json& json, const Json& shape, std::span<const TaskKind> tasks,
                      const std::string& path = "") {
  std::vector<std::string> unused;
  for (auto& [name, value] : json.items()) {
    const std::string key = config::joined(path, name);
    if (!shape.contains(name)) {
      const bool known = std::any_of(tasks.begin(), tasks.end(),
                                     [&](const TaskKind& task) { return has_key(task, key); });
      unused.insert(unused.end(), known ? 1 : 0, name);
    } else if (value.is_object() && shape[name].is_object()) {
      drop_unused_keys(value, shape[name], tasks, key);
    }
  }
  for (const std::string& name : unused) {
    json.erase(name);
  }
}

void check_whole(const Recipe& recipe, const std::string& where) {
  recipe.kind->check(recipe, where);
  check(recipe.train.steps > 0 || recipe.train.epochs > 0 || recipe.train.minutes > 0,
        "[{}] nothing ends the training: set train.steps, train.epochs or train.minutes", where);
}

}  // namespace

std::optional<int64_t> total_steps(const StepConfig& train, std::optional<int64_t> epoch_batches) {
  std::optional<int64_t> total;
  if (train.steps > 0) {
    total = train.steps;
  }
  if (train.epochs > 0 && epoch_batches) {
    const auto steps =
        static_cast<int64_t>(std::ceil(train.epochs * static_cast<double>(*epoch_batches) /
                                       static_cast<double>(train.accumulate)));
    total = std::min(total.value_or(steps), steps);
  }
  return total;
}

std::vector<config::FieldHelp> recipe_keys(const TaskKind& task) {
  std::vector<config::FieldHelp> keys;
  config::describe(Recipe{}, keys);
  for (config::FieldHelp& field : task.fields()) {
    keys.push_back(std::move(field));
  }
  return keys;
}

Recipe parse_recipe(Json json, const std::string& where, std::span<const TaskKind> tasks) {
  Recipe recipe;
  Json model = json.value("model", Json::object());
  json.erase("model");
  const Json common = config::write(recipe);
  config::read(recipe, part_of(json, common), where);
  recipe.kind = &find_task(recipe.task, tasks, where);
  const Json own = recipe.kind->resolve(Json::object(), where);
  recipe.own = recipe.kind->resolve(part_of(json, own), where);
  recipe.unused = unused_keys(json, shape_of(*recipe.kind), *recipe.kind, tasks, where);
  if (model.is_object() && !model.contains("kind")) {
    model["kind"] = recipe.kind->model;
  }
  recipe.model = resolve_model_config(model, where);
  check_whole(recipe, where);
  check_schedule(recipe.schedule, model_spec(recipe.model), where);
  return recipe;
}

Recipe read_recipe(const fs::path& file, std::span<const std::string> settings,
                   std::span<const TaskKind> tasks) {
  std::vector<RecipeFile> chain = read_with_bases(file);
  Json set = Json::object();
  for (const std::string& setting : settings) {
    apply_setting(set, setting);
  }
  const TaskKind& task = task_of(chain, set, tasks, file.string());  // knows which keys are paths
  Json json = Json::object();
  for (auto each = chain.rbegin(); each != chain.rend(); ++each) {
    expand_paths(each->json, task, each->folder, PathsOf::recipe);
    if (&*each != &chain.front()) {
      drop_unused_keys(each->json, shape_of(task), tasks);
    }
    put_over(json, each->json);
  }
  for (const std::string& setting : settings) {
    apply_setting(json, setting);
  }
  expand_paths(set, task, file.parent_path(), PathsOf::settings);
  json.merge_patch(set);
  return parse_recipe(std::move(json), file.string(), tasks);
}

Json write_recipe(const Recipe& recipe) {
  Json json = config::write(recipe);
  json.merge_patch(recipe.own);
  json["model"] = recipe.model;
  return json;
}

void check_files(const Recipe& recipe, const std::string& where) {
  Json json = write_recipe(recipe);
  for_each_path(json, *recipe.kind, [&](const std::string& key, const std::string& path) {
    check(path.empty() || path == "-" || fs::exists(path),
          "[{}] {} names {}, which does not exist{}", where, key, path, advice_on_missing(path));
    return path;
  });
}

std::vector<fs::path> named_files(const Recipe& recipe) {
  std::vector<fs::path> files;
  Json json = write_recipe(recipe);
  for_each_path(json, *recipe.kind, [&](const std::string& /*key*/, const std::string& path) {
    if (!path.empty() && path != "-") {
      files.emplace_back(path);
    }
    return path;
  });
  return files;
}

}  // namespace heed
