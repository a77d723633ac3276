// `heed plan`: what a recipe would take on a mesh of processes, by the cost model of train/plan.h.
#include "train/plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "base/parallel.h"
#include "cli/bench/memory.h"
#include "cli/bench/rates.h"
#include "cli/command.h"
#include "tasks/setup/text_setup.h"
#include "tasks/tasks.h"

namespace heed::cli {
namespace {

constexpr double kGiga = 1e9;
constexpr double kMicro = 1e-6;
constexpr double kGbit = 1e9 / 8.0;  // bytes a second

struct PlanArguments {
  std::string recipe;
  std::string mesh;
  std::vector<std::string> settings;
  int32_t nodes = 1;
  int32_t threads = 1;
  int32_t cores = 0;
  double bandwidth = 10.0;
  double latency = 50.0;
  double local_latency = 1.0;
  std::optional<double> local_bandwidth;
  std::optional<double> gflops;
  std::optional<double> memory_bandwidth;
  int64_t length = 0;
  bool estimate = false;
  bool json = false;
};

// All that is printed.
struct Planned {
  PlannedWork work;
  PlannedTime time;
  double alone = 0.0;  // seconds of a step on one process
  Hardware hardware;

  double speed_up() const { return alone / time.total(); }
  double tokens_per_second() const { return static_cast<double>(work.step_tokens) / time.total(); }
};

// With a vocabulary as large as the recipe allows: no tokenizer is trained.
Json model_of(const Recipe& recipe) {
  check(recipe.own.contains("text"), "[plan] task is {}, expected translate or language",
        recipe.task);
  PairTextConfig text;  // of which tasks with one language have a part
  config::read(text, recipe.own.at("text"), "recipe", "text");
  return planned_model(recipe, text, text.joint);
}

Hardware hardware_of(const PlanArguments& arguments, const PlannedWork& work, DType dtype) {
  constexpr int kRepetitions = 2;
  Hardware hardware{
      .nodes = arguments.nodes,
      .threads = arguments.threads,
      .cores = arguments.cores,
      .local = {.latency = arguments.local_latency * kMicro},
      .network = {.latency = arguments.latency * kMicro, .bandwidth = arguments.bandwidth * kGbit}};
  hardware.flops =
      arguments.gflops ? *arguments.gflops * kGiga : product_rate(work.products, dtype);
  hardware.memory =
      arguments.memory_bandwidth
          ? *arguments.memory_bandwidth * kGiga
          : read_bytes_per_second(std::min(arguments.threads, num_threads()), kRepetitions);
  // Into memory that both see, and out of it.
  hardware.local.bandwidth =
      arguments.local_bandwidth ? *arguments.local_bandwidth * kGbit : copy_rate() / 2.0;
  return hardware;
}

Planned plan(const PlanArguments& arguments) {
  std::vector<std::string> settings = arguments.settings;
  if (!arguments.mesh.empty()) {
    settings.push_back("mesh.axes=" + arguments.mesh);
  }
  const Recipe recipe = read_recipe(arguments.recipe, settings);
  for (const std::string& line : recipe.unused) {
    fmt::print(stderr, "{}\n", line);
  }
  const PlanRequest request{recipe, model_of(recipe), arguments.length};
  Planned planned;
  planned.work = count_work(request);
  peers_along(planned.work.axes, "", arguments.nodes);  // an Error if nodes do not divide
  Recipe single = recipe;
  single.mesh = {};
  const PlannedWork alone = count_work({single, request.model, arguments.length});
  const bool bf16 = recipe.train.precision == "bf16";
  planned.hardware = hardware_of(arguments, planned.work, bf16 ? DType::bf16 : DType::f32);
  if (!arguments.estimate) {
    if (const auto measured = measure_planned_activations(request, planned.work)) {
      planned.work.memory.activations = *measured;
      planned.work.memory.measured = true;
    }
  }
  planned.time = plan_time(planned.work, planned.hardware);
  Hardware one = planned.hardware;
  one.nodes = 1;
  planned.alone = plan_time(alone, one).total();
  return planned;
}

// 1,234,567
std::string grouped(int64_t number) {
  std::string digits = std::to_string(number);
  for (auto at = static_cast<int64_t>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<size_t>(at), ",");
  }
  return digits;
}

double step_flop(const PlannedWork& work) {  // of a process
  return static_cast<double>(work.batches) * (work.forward_flop() + work.backward_flop());
}

std::string mesh_name(const PlannedWork& work) {
  std::string name;
  for (const MeshAxis& axis : work.axes) {
    name += fmt::format("{}{}:{}", name.empty() ? "" : ",", axis.name, axis.size);
  }
  return name;
}

std::string counted(int64_t count, const std::string& one, const std::string& many) {
  return grouped(count) + " " + (count == 1 ? one : many);
}

void print_head(const PlanArguments& arguments, const PlannedWork& work) {
  const PlannedBatch& batch = work.batch;
  fmt::print("{} on {}: {} on {}, {} each\n\n", arguments.recipe, mesh_name(work),
             counted(work.processes, "process", "processes"),
             counted(arguments.nodes, "node", "nodes"),
             counted(arguments.threads, "thread", "threads"));
  fmt::print("parameters  {} of the model, {} on a process\n", grouped(work.model_parameters),
             grouped(work.parameters));
  fmt::print("step        {} tokens; {} of {} x {} tokens{} on a process\n",
             grouped(work.step_tokens), counted(work.batches, "batch", "batches"),
             grouped(batch.rows), grouped(batch.length), batch.sides == 2 ? " on each side" : "");
}

// What stands behind a row, if anything.
std::string beside(const std::string& note) { return note.empty() ? "" : "   " + note; }

// Rows of zero are left out.
void print_memory(const PlannedWork& work) {
  const PlannedMemory& memory = work.memory;
  const auto row = [](const char* name, size_t bytes, const std::string& how) {
    if (bytes > 0) {
      fmt::print("  {:<26} {:>12.1f}{}\n", name, static_cast<double>(bytes) / (1 << 20),
                 beside(how));
    }
  };
  const char* how = memory.measured ? "measured here" : "estimated";
  fmt::print("\n{:<28} {:>12}\n", "memory of a process", "MiB");
  row("weights", memory.weights, "computed");
  row("gradients", memory.gradients, "computed");
  row("optimizer", memory.optimizer, "computed");
  row("moving average", memory.average, "computed");
  row("activations", memory.activations,
      fmt::format("{}, of it {:.1f} for logits", how,
                  static_cast<double>(memory.logits) / (1 << 20)));
  row("exchange buffers", memory.buffers, "computed");
  row("all", memory.total(), "");
}

void print_time(const Planned& planned) {
  const PlannedTime& time = planned.time;
  const PlannedWork& work = planned.work;
  const auto row = [&](const char* name, double seconds, const std::string& note) {
    if (seconds > 0.0) {
      fmt::print("  {:<26} {:>12.4f} {:>5.1f} %{}\n", name, seconds, 100.0 * seconds / time.total(),
                 beside(note));
    }
  };
  fmt::print("\n{:<28} {:>12}   share\n", "time of a step", "seconds");
  row("products", time.products,
      fmt::format("{} GFLOP", grouped(std::llround(step_flop(work) / kGiga))));
  row("other operations", time.other, "");
  row("exchange of activations", time.activations, "");
  row("exchange of gradients", time.gradients,
      fmt::format("and {:.4f} hidden behind the backward pass", time.gradients_hidden));
  row("exchange of weights", time.weights, "");
  row("exchange of numbers", time.numbers, "");
  row("optimizer", time.optimizer, "");
  row("all", time.total(), "");
  fmt::print(
      "\n{} tokens a second: {:.1f} times as fast as one process, {:.0f} % of the ideal {}\n",
      grouped(std::llround(planned.tokens_per_second())), planned.speed_up(),
      100.0 * planned.speed_up() / static_cast<double>(work.processes), work.processes);
}

// In lines that a terminal of 100 columns shows whole.
void print_note(const std::string& note) {
  constexpr size_t kColumns = 98;
  const std::string indent = "  ";
  std::string line = "note:";
  std::istringstream words(note);
  for (std::string word; words >> word;) {
    if (line.size() + 1 + word.size() > kColumns) {
      fmt::print("{}\n", line);
      line = indent + word;
    } else {
      line += " " + word;
    }
  }
  fmt::print("{}\n", line);
}

void print_rates(const PlanArguments& arguments, const Hardware& hardware) {
  const auto origin = [](bool given) { return given ? "given" : "measured"; };
  fmt::print("\nproducts {:.1f} GFLOP/s a thread ({}), memory {:.1f} GB/s a process ({}),\n",
             hardware.flops / kGiga, origin(arguments.gflops.has_value()), hardware.memory / kGiga,
             origin(arguments.memory_bandwidth.has_value()));
  fmt::print(
      "messages in a node {:.1f} Gbit/s ({}) and {:.0f} us, between nodes {:.1f} Gbit/s and "
      "{:.0f} us (given)\n",
      hardware.local.bandwidth / kGbit, origin(arguments.local_bandwidth.has_value()),
      arguments.local_latency, arguments.bandwidth, arguments.latency);
}

nlohmann::ordered_json to_json(const PlanArguments& arguments, const Planned& planned) {
  const PlannedWork& work = planned.work;
  const PlannedMemory& memory = work.memory;
  const PlannedTime& time = planned.time;
  const Hardware& hardware = planned.hardware;
  return {{"recipe", arguments.recipe},
          {"mesh", mesh_name(work)},
          {"processes", work.processes},
          {"nodes", hardware.nodes},
          {"threads", hardware.threads},
          {"parameters", work.model_parameters},
          {"process_parameters", work.parameters},
          {"step_tokens", work.step_tokens},
          {"step_flop", step_flop(work)},
          {"memory_bytes",
           {{"weights", memory.weights},
            {"gradients", memory.gradients},
            {"optimizer", memory.optimizer},
            {"average", memory.average},
            {"activations", memory.activations},
            {"activations_measured", memory.measured},
            {"logits", memory.logits},
            {"buffers", memory.buffers}}},
          {"process_bytes", memory.total()},
          {"seconds",
           {{"products", time.products},
            {"other", time.other},
            {"activations", time.activations},
            {"gradients", time.gradients},
            {"gradients_hidden", time.gradients_hidden},
            {"weights", time.weights},
            {"numbers", time.numbers},
            {"optimizer", time.optimizer}}},
          {"step_seconds", time.total()},
          {"tokens_per_second", planned.tokens_per_second()},
          {"speed_up", planned.speed_up()},
          {"ideal_share", planned.speed_up() / static_cast<double>(work.processes)},
          {"rates",
           {{"gflops_per_thread", hardware.flops / kGiga},
            {"memory_gigabytes_per_second", hardware.memory / kGiga},
            {"local_gigabits_per_second", hardware.local.bandwidth / kGbit},
            {"network_gigabits_per_second", hardware.network.bandwidth / kGbit}}},
          {"notes", work.notes}};
}

void run_plan(const PlanArguments& arguments) {
  const Planned planned = plan(arguments);
  if (arguments.json) {
    fmt::print("{}\n", to_json(arguments, planned).dump());
    return;
  }
  print_head(arguments, planned.work);
  print_memory(planned.work);
  print_time(planned);
  print_rates(arguments, planned.hardware);
  for (const std::string& note : planned.work.notes) {
    print_note(note);
  }
}

void add_rates(Command& command, PlanArguments& arguments) {
  command.option("--bandwidth", arguments.bandwidth, "Gbit/s between a node and the others")
      .positive()
      .show_default()
      .value_name("GBIT");
  command.option("--latency", arguments.latency, "microseconds of a message between nodes")
      .not_negative()
      .show_default()
      .value_name("US");
  command
      .option("--local-bandwidth", arguments.local_bandwidth,
              "Gbit/s between processes of a node (default: half of what a thread here copies)")
      .positive()
      .value_name("GBIT");
  command
      .option("--local-latency", arguments.local_latency,
              "microseconds of a message between processes of a node")
      .not_negative()
      .show_default()
      .value_name("US");
  command
      .option("--gflops", arguments.gflops,
              "GFLOP/s of products on one thread (default: measured here)")
      .positive()
      .value_name("RATE");
  command
      .option("--memory-bandwidth", arguments.memory_bandwidth,
              "GB/s that a process reads from memory (default: measured here)")
      .positive()
      .value_name("GB");
}

}  // namespace

void add_plan(Command& app) {
  auto arguments = std::make_shared<PlanArguments>();
  Command command =
      app.subcommand("plan", "Predict memory and time of a training on many processes");
  command.group("Train and evaluate");
  command.option("RECIPE", arguments->recipe, "recipe of the task translate or language")
      .required();
  command
      .option("--mesh", arguments->mesh,
              "axes of the processes, such as batch:4,model:2 (default: the recipe's)")
      .value_name("AXES");
  command.option("--nodes", arguments->nodes, "machines (nodes), each with as many processes")
      .range(1, 65536)
      .show_default();
  command.option("--threads", arguments->threads, "threads of each process")
      .range(1, 4096)
      .show_default();
  command
      .option("--cores", arguments->cores,
              "cores of a machine, if its processes have more threads than that")
      .range(1, 65536);
  add_rates(command, *arguments);
  command
      .option("--length", arguments->length,
              "tokens of a sequence (default: the context, or 32 for pairs)")
      .range(1, 1 << 20);
  command.flag("--estimate", arguments->estimate,
               "estimate the activations even where a batch can be run here");
  command.option("--set", arguments->settings, "override a key of the recipe")
      .one_at_a_time()
      .value_name("KEY=VALUE");
  command.flag("--json", arguments->json, "print JSON");
  command.example("Plan GPT-2 XL on 16 processes of four machines",
                  "heed plan recipes/language/gpt2-xl.toml --mesh batch:4,model:4 --nodes 4");
  command.example("Plan for 25 Gbit/s and 8 threads of 60 GFLOP/s each",
                  "heed plan recipes/language/gpt2-xl.toml --mesh batch:16 --nodes 16 --threads 8 "
                  "--gflops 60 --memory-bandwidth 40 --bandwidth 25 --latency 20");
  command.footer(
      "Vocabularies are as large as the recipe allows; no data is read. docs/many-machines.md "
      "states the cost model.");
  command.action([arguments] { run_plan(*arguments); });
}

}  // namespace heed::cli
