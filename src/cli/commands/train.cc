// `heed train`: a recipe in, a model folder out.
#include <fmt/ranges.h>

#include "base/error.h"
#include "cli/command.h"
#include "cli/pictures/curves.h"
#include "cli/signals.h"
#include "cli/train_progress.h"
#include "mesh/launch.h"
#include "models/registry.h"
#include "tasks/tasks.h"
#include "train/trainer.h"

namespace heed::cli {
namespace {

namespace fs = std::filesystem;

struct TrainArguments {
  std::string recipe;
  std::string out;
  std::string mesh;
  std::vector<std::string> settings;
  bool resume = false;
  bool force = false;
  bool check = false;
  bool keys = false;
};

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
  fail("[train] there is no task {}; expected one of: {}", name, fmt::join(names, ", "));
}

// This command, up to the option that says what becomes of a run in the folder.
std::string command_with(const TrainArguments& arguments, const fs::path& folder) {
  std::string command = fmt::format("heed train {} --out {}", shell_word(arguments.recipe),
                                    shell_word(folder.string()));
  for (const std::string& setting : arguments.settings) {
    command += " --set " + shell_word(setting);
  }
  return launched_together() ? "mpirun ... " + command : command;
}

void check_recipe(const TrainArguments& arguments, const Recipe& recipe) {
  for (const std::string& line : recipe.unused) {
    fmt::print(stderr, "{}\n", line);
  }
  check_files(recipe, arguments.recipe);
  recipe.kind->check_model(recipe);
  fmt::print("{} is a valid recipe: its files exist, and its model can be built\n",
             arguments.recipe);
}

// The first signal ends the program, and standard error says how to go on.
void end_with_command(const std::shared_ptr<TrainProgress>& progress, const std::string& what,
                      const std::string& command) {
  end_on_signal([progress, what, command] {
    progress->end();
    fmt::print(stderr, "{}; continue with: {}\n", what, command);
  });
}

RunStart start_of(const TrainArguments& arguments) {
  return arguments.force ? RunStart::replace : arguments.resume ? RunStart::resume : RunStart::anew;
}

// The mesh of the processes that were started together with this one.
std::unique_ptr<const Mesh> open_mesh(const Recipe& recipe) {
  if (Transport* transport = open_transport()) {
    return std::make_unique<const Mesh>(*transport, recipe.mesh);
  }
  int processes = 1;
  for (const MeshAxis& axis : parse_axes(recipe.mesh.axes)) {
    processes *= axis.size;
  }
  check(processes == 1,
        "[train] the mesh {} has {} processes, and this one was started alone: start them with "
        "mpirun -n {} heed train ...",
        recipe.mesh.axes, processes, processes);
  return std::make_unique<const Mesh>();
}

// What the processes do that are not the first of a mesh: the same, silently.
void follow(const TrainArguments& arguments, const Recipe& recipe, const fs::path& folder,
            const Mesh& mesh) {
  TrainObserver silent;
  Trainer trainer(prepare_run(recipe, folder, start_of(arguments), silent, mesh), silent);
  trainer.run(stop_requested());
}

// Of a mesh: how much of the exchange of gradients did not cost time.
void report_exchange(const ExchangeTimes& times) {
  if (times.working > 0.0) {
    fmt::print(stderr,
               "exchange of gradients: {:.1f} s of work, {:.1f} s of waiting; {:.0f} % was hidden "
               "behind the backward pass\n",
               times.working, times.waiting, 100 * times.hidden());
  }
}

void train_recipe(const TrainArguments& arguments, const Recipe& recipe, const fs::path& folder,
                  const std::shared_ptr<TrainProgress>& progress, const Mesh& mesh) {
  const std::string command = command_with(arguments, folder);
  // --resume begins where there is no run yet. With --force the earlier run is still there.
  end_with_command(progress, "interrupted before the first step",
                   command + (arguments.force ? " --force" : " --resume"));
  Trainer trainer(prepare_run(recipe, folder, start_of(arguments), *progress, mesh), *progress);
  const TrainEnd end = trainer.run(stop_requested());
  report_exchange(trainer.exchange_times());
  progress->end();
  write_curves(folder);
  if (end == TrainEnd::interrupted) {
    fmt::print(stderr, "stopped after step {}; continue with: {} --resume\n", trainer.state().step,
               command);
    close_transport();
    end_interrupted();  // the data may come from a pipe that somebody still waits for
  }
  fmt::print("{} after {} steps, {:.1f} minutes; the model is in {}\n",
             end == TrainEnd::early_stop ? "stopped early" : "finished", trainer.state().step,
             trainer.state().seconds / 60, folder.string());
  std::fflush(stdout);
  end_with_command(progress, "interrupted in the test of the finished model",
                   command + " --resume");
  progress->doing("testing");
  const std::string score = trainer.test();
  progress->end();
  if (!score.empty()) {
    fmt::print("{}\n", score);
  }
}

void train(const TrainArguments& arguments) {
  if (arguments.keys) {
    print_keys(arguments.recipe);
    return;
  }
  check(!arguments.recipe.empty(), "[train] give a recipe (see heed train --help)");
  check(!arguments.resume || !arguments.force,
        "[train] --resume continues a run and --force replaces it: give one of them");
  std::vector<std::string> settings = arguments.settings;
  if (!arguments.mesh.empty()) {
    settings.push_back("mesh.axes=" + arguments.mesh);
  }
  const Recipe recipe = read_recipe(arguments.recipe, settings);
  if (arguments.check) {
    check_recipe(arguments, recipe);
    return;
  }
  const fs::path folder = arguments.out.empty()
                              ? fs::path("runs") / fs::path(arguments.recipe).stem()
                              : fs::path(arguments.out);
  check_files(recipe, arguments.recipe);
  const std::unique_ptr<const Mesh> mesh = open_mesh(recipe);
  if (!mesh->leads()) {
    follow(arguments, recipe, folder, *mesh);
    return;
  }
  const auto progress = std::make_shared<TrainProgress>(folder);
  try {
    train_recipe(arguments, recipe, folder, progress, *mesh);
  } catch (...) {
    progress->end();  // before the error is printed
    throw;
  }
}

}  // namespace

void add_train(Command& app) {
  auto arguments = std::make_shared<TrainArguments>();
  Command command = app.subcommand("train", "Train a model from a recipe");
  command.group("Train and evaluate");
  command.option("RECIPE", arguments->recipe, "recipe in TOML, such as those in recipes/");
  command.option("--out", arguments->out, "run folder (default: runs/ and the recipe's name)")
      .value_name("DIR");
  command.option("--set", arguments->settings, "override a key of the recipe")
      .one_at_a_time()
      .value_name("KEY=VALUE");
  command
      .option("--mesh", arguments->mesh,
              "axes of the processes that mpirun started, such as batch:2,model:2")
      .value_name("AXES");
  command.flag("--resume", arguments->resume, "continue the run in the run folder");
  command.flag("--force", arguments->force,
               "replace the run or model in the folder; files that Heed did not write stay");
  command.flag("--check", arguments->check,
               "check that the recipe's files exist and its model can be built, then stop");
  command.flag("--keys", arguments->keys,
               "list the keys of recipes with their defaults; give a task instead of a recipe to "
               "list its keys");
  command.example("Train the demo translator", "heed train recipes/translation/demo.toml");
  command.footer(
      "In a recipe, ${HEED_DATA} stands for the folder that holds data sets: the environment "
      "variable HEED_DATA, by default ../shared/data if it exists and otherwise data. `heed data "
      "get NAME` fetches a set into it.");
  command.example("Fetch the data of a recipe", "heed data get multi30k");
  command.example("Train for half an hour",
                  "heed train recipes/translation/multi30k.toml --out runs/m30k --set "
                  "train.minutes=30");
  command.example("Continue an interrupted run",
                  "heed train recipes/translation/multi30k.toml --out runs/m30k --resume");
  command.example("Share the batches of a recipe between two processes",
                  "mpirun -n 2 heed train recipes/translation/multi30k.toml --mesh batch:2 --set "
                  "train.accumulate=2 --set data.batch_tokens=2048");
  command.example("List the keys of translation recipes", "heed train --keys translate");
  command.action([arguments] { train(*arguments); });
}

}  // namespace heed::cli
