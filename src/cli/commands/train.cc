// `heed train`: a recipe in, a model folder out.
#include <fmt/ranges.h>

#include "base/error.h"
#include "cli/command.h"
#include "cli/pictures/curves.h"
#include "cli/signals.h"
#include "cli/train_progress.h"
#include "models/registry.h"
#include "tasks/tasks.h"
#include "train/trainer.h"

namespace heed::cli {
namespace {

namespace fs = std::filesystem;

struct TrainArguments {
  std::string recipe;
  std::string out;
  std::vector<std::string> settings;
  bool resume = false;
  bool check = false;
  bool keys = false;
};

constexpr int kInterrupted = 130;

void print_key(const std::string& prefix, const config::FieldHelp& field) {
  std::string choices;
  for (const std::string& choice : field.range.choices) {
    choices += (choices.empty() ? " (" : ", ") + (choice.empty() ? "\"\"" : choice);
  }
  fmt::print("  {:<32} {:<14} {}{}\n", prefix + field.name, field.initial, field.help,
             choices.empty() ? "" : choices + ")");
}

// Without a task: what every recipe has, and the names of tasks and models.
void print_common_keys() {
  std::vector<config::FieldHelp> fields;
  config::describe(Recipe{}, fields);
  fmt::print("Keys of every recipe with their defaults:\n");
  for (const config::FieldHelp& field : fields) {
    print_key("", field);
  }
  fmt::print("\ntask is one of these; `heed train --keys TASK` lists its keys:\n");
  for (const TaskKind& task : tasks()) {
    fmt::print("  {:<14} learns {}\n", task.name, task.help);
  }
}

void print_task_keys(const TaskKind& task) {
  fmt::print("Keys of a recipe with task = \"{}\" and their defaults:\n", task.name);
  for (const config::FieldHelp& field : recipe_keys(task)) {
    print_key("", field.name == "task"
                      ? config::FieldHelp{field.name, Json(task.name).dump(), field.help, {}}
                      : field);
  }
}

void print_model_keys(const std::string& only) {
  for (const ModelHelp& model : describe_models()) {
    if (!only.empty() && model.kind != only) {
      continue;
    }
    std::string presets;
    for (const std::string& preset : model.presets) {
      presets += " " + preset;
    }
    fmt::print("\nmodel.kind = \"{}\", model.preset one of:{}\n", model.kind, presets);
    for (const config::FieldHelp& field : model.fields) {
      print_key("model.", field);
    }
  }
}

void print_keys(const std::string& name) {
  if (name.empty()) {
    print_common_keys();
    print_model_keys("");
    return;
  }
  std::vector<std::string> names;
  for (const TaskKind& task : tasks()) {
    if (task.name == name) {
      print_task_keys(task);
      print_model_keys(task.model);
      return;
    }
    names.push_back(task.name);
  }
  fail("[train] there is no task {}; the tasks are: {}", name, fmt::join(names, ", "));
}

void train(const TrainArguments& arguments) {
  if (arguments.keys) {
    print_keys(arguments.recipe);
    return;
  }
  check(!arguments.recipe.empty(), "[train] no recipe given; `heed train --help` has examples");
  const Recipe recipe = read_recipe(arguments.recipe, arguments.settings);
  if (arguments.check) {
    for (const std::string& line : recipe.unused) {
      fmt::print(stderr, "{}\n", line);
    }
    check_files(recipe, arguments.recipe);
    fmt::print("{} is a valid recipe, and its files exist\n", arguments.recipe);
    return;
  }
  const fs::path folder = arguments.out.empty()
                              ? fs::path("runs") / fs::path(arguments.recipe).stem()
                              : fs::path(arguments.out);
  TrainProgress progress(folder);
  const std::atomic<bool>& stop = stop_requested();
  Trainer trainer(prepare_run(recipe, folder, arguments.resume, progress), progress);
  const TrainEnd end = trainer.run(stop);
  progress.end();
  write_curves(folder);
  if (end == TrainEnd::interrupted) {
    fmt::print(stderr, "stopped after step {}; go on with: heed train {} --out {} --resume\n",
               trainer.state().step, arguments.recipe, folder.string());
    throw ExitStatus{kInterrupted};
  }
  fmt::print("{} after {} steps, {:.1f} minutes; the model is in {}\n",
             end == TrainEnd::early_stop ? "stopped early" : "finished", trainer.state().step,
             trainer.state().seconds / 60, folder.string());
  if (const std::string score = trainer.test(); !score.empty()) {
    fmt::print("{}\n", score);
  }
}

}  // namespace

void add_train(Command& app) {
  auto arguments = std::make_shared<TrainArguments>();
  Command command = app.subcommand("train", "Train a model by a recipe");
  command.option("RECIPE", arguments->recipe, "recipe in TOML; see recipes/");
  command.option("--out", arguments->out, "run folder (default: runs/NAME-OF-RECIPE)");
  command.option("--set", arguments->settings, "change a key: --set train.steps=100")
      .one_at_a_time()
      .value_name("KEY=VALUE");
  command.flag("--resume", arguments->resume, "continue the run in the folder");
  command.flag("--check", arguments->check, "only check the recipe, and that its files exist");
  command.flag("--keys", arguments->keys,
               "list the keys of recipes with their defaults; with a task's name instead of a "
               "recipe: of that task");
  command.footer(
      "Examples:\n"
      "  heed train recipes/translation/demo.toml\n"
      "  heed train recipes/translation/multi30k.toml --out runs/m30k --set train.minutes=30\n"
      "  heed train recipes/translation/multi30k.toml --out runs/m30k --resume\n"
      "  heed train --keys translate");
  command.action([arguments] { train(*arguments); });
}

}  // namespace heed::cli
