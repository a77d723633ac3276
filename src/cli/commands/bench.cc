// `heed bench`: how fast, how much memory, and how far above the floor, which is the time oneDNN
// needs for the same matrix products alone.
#include <fmt/core.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/error.h"
#include "base/parallel.h"
#include "base/text.h"
#include "cli/bench/case.h"
#include "cli/bench/images.h"
#include "cli/bench/layers.h"
#include "cli/bench/memory.h"
#include "cli/bench/music.h"
#include "cli/bench/ops.h"
#include "cli/bench/relative.h"
#include "cli/command.h"
#include "cli/output.h"
#include "kernels/cpu.h"
#include "kernels/matmul/matmul.h"
#include "tensor/arena.h"

namespace heed::cli {
namespace {

struct BenchOptions {
  std::vector<std::string> cases;
  std::vector<std::string> dtypes{"f32", "bf16"};
  int threads = 0;  // 0: all cores
  int repetitions = 5;
  bool json = false;
  bool floor = true;
  LayersOptions layers;
};

struct Measurement {
  std::string name;
  DType dtype;
  double seconds = 0.0;
  double tokens_per_second = 0.0;
  double peak_mib = 0.0;     // of the process
  double tensors_mib = 0.0;  // of live tensors, at most
  double gflops = 0.0;       // achieved
  double gigabytes = 0.0;    // of weights read a second, where that is the limit
  double floor_seconds = 0.0;
};

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double peak_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;
}

// Products of the same shape are timed once.
double floor_seconds(const std::vector<kernels::Matmul>& products, int repetitions) {
  using Key = std::tuple<int64_t, int64_t, int64_t, int64_t, bool, bool, DType, DType>;
  std::map<Key, double> times;
  double total = 0.0;
  for (const kernels::Matmul& p : products) {
    const Key key{p.m, p.n, p.k, p.batch, p.transpose_a, p.transpose_b, p.a.dtype, p.c.dtype};
    const auto [entry, added] = times.try_emplace(key, 0.0);
    if (added) {
      entry->second = kernels::onednn_seconds(p, repetitions);
    }
    total += entry->second;
  }
  return total;
}

Measurement measure(const BenchCase& bench_case, DType dtype, const BenchOptions& options) {
  const Workload workload = bench_case.make(dtype);
  std::vector<kernels::Matmul> products;
  kernels::log_products(&products);
  workload.run();  // warm-up
  kernels::log_products(nullptr);
  workload.run();
  Measurement result{
      .name = bench_case.name, .dtype = dtype, .seconds = std::numeric_limits<double>::infinity()};
  for (int i = 0; i < options.repetitions; ++i) {
    const double start = now();
    workload.run();
    result.seconds = std::min(result.seconds, now() - start);
  }
  products.insert(products.end(), workload.attention.begin(), workload.attention.end());
  double flops = 0.0;
  for (const kernels::Matmul& p : products) {
    flops += 2.0 * static_cast<double>(p.m * p.n) * static_cast<double>(p.k * p.batch);
  }
  result.tokens_per_second = workload.tokens / result.seconds;
  result.peak_mib = peak_mib();
  result.tensors_mib = static_cast<double>(Arena::global().peak_bytes()) / (1 << 20);
  result.gflops = flops / result.seconds / 1e9;
  result.gigabytes = workload.weight_bytes * result.tokens_per_second / 1e9;
  if (options.floor) {
    result.floor_seconds = floor_seconds(products, options.repetitions);
  }
  return result;
}

nlohmann::json to_json(const Measurement& m) {
  nlohmann::json json{{"case", m.name},           {"dtype", name_of(m.dtype)},
                      {"threads", num_threads()}, {"isa", name_of(max_isa())},
                      {"seconds", m.seconds},     {"tokens_per_second", m.tokens_per_second},
                      {"peak_mib", m.peak_mib},   {"tensors_mib", m.tensors_mib},
                      {"gflops", m.gflops}};
  if (m.gigabytes > 0.0) {
    json["gigabytes_per_second"] = m.gigabytes;
  }
  if (m.floor_seconds > 0.0) {
    json["floor_seconds"] = m.floor_seconds;
    json["floor_ratio"] = m.floor_seconds / m.seconds;
  }
  return json;
}

void print(const Measurement& m, bool json) {
  if (json) {
    fmt::print("{}\n", to_json(m).dump());
  } else {
    fmt::print(
        "{:<12} {:<5} {:>10.1f} {:>10.0f} {:>10.0f} {:>9.0f} {:>7} {:>10} {:>8}\n", m.name,
        name_of(m.dtype), m.tokens_per_second, m.peak_mib, m.tensors_mib, m.gflops,
        m.gigabytes > 0 ? fmt::format("{:.1f}", m.gigabytes) : "-",
        m.floor_seconds > 0 ? fmt::format("{:.1f} ms", m.floor_seconds * 1e3) : "-",
        m.floor_seconds > 0 ? fmt::format("{:.0f} %", 100 * m.floor_seconds / m.seconds) : "-");
  }
  std::fflush(stdout);
}

// Cases that print tables of their own.
constexpr std::array<const char*, 6> kAlone{"layers",       "relative", "images",
                                            "music-decode", "memory",   "ops"};

const BenchCase& find_case(const std::string& name) {
  std::vector<std::string> names;
  for (const BenchCase& bench_case : bench_cases()) {
    if (bench_case.name == name) {
      return bench_case;
    }
    names.push_back(bench_case.name);
  }
  names.insert(names.end(), kAlone.begin(), kAlone.end());
  fail("[bench] there is no case \"{}\"; did you mean \"{}\"? (see heed bench --help)", name,
       nearest(name, names));
}

// In a process of its own, so that its memory is this case's alone.
void run_in_child(const std::string& name, const std::function<void()>& work) {
  std::fflush(stdout);
  const pid_t child = fork();
  check(child >= 0, "[bench] cannot start a process for {}", name);
  if (child == 0) {
    int status = 0;
    try {
      work();
    } catch (const std::exception& error) {
      fmt::print(stderr, "heed: {}\n", error.what());
      status = 1;
    }
    std::_Exit(finish_output(status));
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) != 0) {
    throw ExitStatus{WEXITSTATUS(status)};  // the child has said why
  }
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE) {
    throw ExitStatus{128 + SIGPIPE};  // whoever reads has enough
  }
  check(status == 0, "[bench] {} failed", name);
}

void run_alone(const std::string& name, const BenchOptions& options) {
  const DType dtype = dtype_named(options.dtypes[0]);
  check(dtype != DType::i8 || name == "music-decode" || name == "relative",
        "[bench] {} does not run on int8 weights", name);
  fmt::print(stderr, "measuring {}, which takes up to a few minutes\n", name);
  if (name == "layers") {
    LayersOptions layers = options.layers;
    layers.dtype = dtype;
    layers.repetitions = options.repetitions;
    bench_layers(layers, options.json);
  } else if (name == "relative") {
    bench_relative({.repetitions = options.repetitions}, options.json);
  } else if (name == "memory") {
    bench_memory({.repetitions = options.repetitions}, options.json);
  } else if (name == "images") {
    bench_images({.svg = options.layers.svg, .dtype = dtype, .repetitions = options.repetitions},
                 options.json);
  } else {
    for (const std::string& each : options.dtypes) {
      run_in_child(fmt::format("music-decode in {}", each), [&] {
        bench_music({.dtype = dtype_named(each), .repetitions = options.repetitions}, options.json);
      });
    }
  }
}

void run(const BenchOptions& options) {
  check_output(options.layers.svg);
  if (options.threads > 0) {
    set_num_threads(options.threads);
  }
  std::vector<std::string> cases = options.cases;
  if (cases.empty()) {
    cases = {"mt-train", "gpt-train", "gpt-decode", "bert-embed", "attn", "rel-attn"};
  }
  if (cases.size() == 1 && cases[0] == "translate") {
    cases = {"mt-greedy-1", "mt-beam-1", "mt-greedy-32", "mt-beam-32"};
  }
  if (cases[0] == "ops") {  // what follows are names of ops
    bench_ops({.names = {cases.begin() + 1, cases.end()},
               .dtypes = options.dtypes,
               .repetitions = options.repetitions},
              options.json);
    return;
  }
  for (const char* alone : kAlone) {
    if (std::ranges::count(cases, alone) > 0) {
      check(cases.size() == 1, "[bench] {} runs alone; leave the other cases out", alone);
      run_alone(alone, options);
      return;
    }
  }
  for (const std::string& name : cases) {
    // Before the first measurement.
    check(find_case(name).int8 || !std::ranges::count(options.dtypes, "int8"),
          "[bench] {} does not run on int8 weights", name);
  }
  if (!options.json) {
    fmt::print("{} threads, {}; floor: oneDNN on the same matrix multiplications\n", num_threads(),
               name_of(max_isa()));
    fmt::print("{:<12} {:<5} {:>10} {:>10} {:>10} {:>9} {:>7} {:>10} {:>8}\n", "case", "dtype",
               "tokens/s", "peak MiB", "tensors", "GFLOP/s", "GB/s", "floor", "of floor");
  }
  for (const std::string& name : cases) {
    for (const std::string& dtype : options.dtypes) {
      run_in_child(fmt::format("{} in {}", name, dtype), [&] {
        print(measure(find_case(name), dtype_named(dtype), options), options.json);
      });
    }
  }
}

}  // namespace

void add_bench(Command& app) {
  auto options = std::make_shared<BenchOptions>();
  Command bench = app.subcommand("bench", "Measure the speed and memory use of the engine");
  bench.group("Tools");
  std::string list = "Cases:\n";
  for (const BenchCase& bench_case : bench_cases()) {
    list += fmt::format("  {:<12}  {}\n", bench_case.name, bench_case.what);
  }
  list +=
      "  translate     the four mt-* cases of decoding above\n"
      "  relative      relative attention with a vector per pair, and skewed\n"
      "  images        full and local attention over images of 16 x 16 to 64 x 64\n"
      "  music-decode  generating music with and without a cache\n"
      "  memory        bytes this machine reads per second, the limit of decoding\n"
      "  ops [NAME]    every op, or those named, against the roofline\n"
      "  layers        self-attention, LSTM and convolution over lengths and dims";
  bench.option("CASE", options->cases,
               "cases to run (default: mt-train, gpt-train, gpt-decode, bert-embed, attn and "
               "rel-attn)");
  bench.option("--dtype", options->dtypes, "number formats, separated by commas")
      .separated_by(',')
      .choices({"f32", "bf16", "int8"})
      .value_name("TYPES")
      .show_default();
  bench.option("--threads", options->threads, "number of threads (default: all cores)")
      .range(1, 4096);
  bench.option("--reps", options->repetitions, "repetitions, of which the fastest counts")
      .range(1, 1000)
      .show_default();
  bench.flag("--json", options->json, "print one JSON object per line");
  bench.flag("!--no-floor", options->floor, "do not measure the floor");
  add_layers_options(bench, options->layers);
  bench.footer(list);
  bench.example("Run the engine's six cases in f32 and bf16", "heed bench");
  bench.example("Run one case in bf16 on two threads",
                "heed bench mt-train --dtype bf16 --threads 2");
  bench.example("Run two cases and print JSON", "heed bench attn rel-attn --json");
  bench.example("Measure decoding", "heed bench translate");
  bench.example("Measure two ops", "heed bench ops gelu swiglu");
  bench.example("Plot what layers cost", "heed bench layers --svg layers.svg");
  bench.action([options] { run(*options); });
}

}  // namespace heed::cli
