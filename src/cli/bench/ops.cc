#include "cli/bench/ops.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <nlohmann/json.hpp>

#include "autograd/tape.h"
#include "base/error.h"
#include "base/parallel.h"
#include "base/text.h"
#include "cli/bench/memory.h"
#include "cli/command.h"
#include "kernels/cpu.h"
#include "kernels/matmul/matmul.h"
#include "ops/cases/sized_case.h"

namespace heed::cli {
namespace {

using cases::SizedCase;

// What this machine does at best, in bytes and operations a second.
struct Machine {
  double bytes_per_second = 0.0;
  double flops_per_second = 0.0;
};

// One direction of an op.
struct OpTime {
  double seconds = std::numeric_limits<double>::infinity();
  double bytes = 0.0;  // that have to be moved
  double flops = 0.0;  // of matrix products; 0: none

  double roofline(const Machine& machine) const {
    return std::max(bytes / machine.bytes_per_second, flops / machine.flops_per_second);
  }
  // 0: the op has nothing to do that a roofline could bound.
  double share(const Machine& machine) const { return roofline(machine) / seconds; }
};

struct OpTimes {
  OpTime forward;
  OpTime backward;
};

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// A square product that is large enough to reach the peak, and small enough to be quick.
double peak_flops(DType dtype, int repetitions) {
  constexpr int64_t kSize = 1536;
  const Tensor a = Tensor::full({kSize, kSize}, 0.5F, dtype);
  const Tensor b = Tensor::full({kSize, kSize}, 0.5F, dtype);
  const Tensor c = Tensor::empty({kSize, kSize}, dtype);
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i <= repetitions; ++i) {
    const auto start = Clock::now();
    kernels::matmul({.m = kSize,
                     .n = kSize,
                     .k = kSize,
                     .a = {a.raw(), dtype},
                     .b = {b.raw(), dtype},
                     .c = {c.raw(), dtype}});
    best = std::min(best, seconds_since(start));
  }
  return 2.0 * kSize * kSize * kSize / best;
}

double total_bytes(const std::vector<Tensor>& tensors) {
  double total = 0.0;
  for (const Tensor& tensor : tensors) {
    total += static_cast<double>(tensor.bytes());
  }
  return total;
}

OpTimes measure(const SizedCase& sized, DType dtype, int repetitions) {
  const std::vector<Tensor> inputs = cases::draw_inputs(sized.op, sized.inputs, dtype);
  OpTimes times;
  cases::Bytes bytes{.inputs = total_bytes(inputs)};
  std::vector<Tensor> gradients;  // of the outputs
  Tape tape(1);
  for (int i = 0; i <= repetitions; ++i) {  // the first warms up
    tape.clear();
    const TapeScope scope(tape);
    std::vector<Tensor> leaves = inputs;
    for (size_t j = 0; j < leaves.size(); ++j) {
      if (sized.inputs[j].wants_gradient()) {
        tape.watch(leaves[j]);
        bytes.gradients += i == 0 ? static_cast<double>(leaves[j].bytes()) : 0.0;
      }
    }
    auto start = Clock::now();
    const std::vector<Tensor> outputs = sized.run(leaves);
    const double forward = seconds_since(start);
    for (size_t j = gradients.size(); j < outputs.size(); ++j) {
      gradients.push_back(Tensor::full(outputs[j].shape(), 0.5F, outputs[j].dtype()));
    }
    for (size_t j = 0; j + 1 < outputs.size(); ++j) {
      add_grad(outputs[j], gradients[j]);
    }
    start = Clock::now();
    tape.backward(outputs.back(), gradients.back());
    const double backward = seconds_since(start);
    if (i > 0) {
      times.forward.seconds = std::min(times.forward.seconds, forward);
      times.backward.seconds = std::min(times.backward.seconds, backward);
    }
  }
  bytes.outputs = total_bytes(gradients);
  times.forward.bytes = sized.forward(bytes);
  times.forward.flops = sized.flops;
  times.backward.bytes = sized.backward(bytes);
  times.backward.flops = sized.backward_flops;
  return times;
}

nlohmann::json to_json(const OpTime& time, const Machine& machine) {
  nlohmann::json json{{"seconds", time.seconds},
                      {"bytes", time.bytes},
                      {"gigabytes_per_second", time.bytes / time.seconds / 1e9}};
  if (time.flops > 0.0) {
    json["gflops"] = time.flops / time.seconds / 1e9;
  }
  if (time.roofline(machine) > 0.0) {
    json["roofline_seconds"] = time.roofline(machine);
    json["roofline_share"] = time.share(machine);
  }
  return json;
}

std::string columns(const OpTime& time, const Machine& machine) {
  const auto number = [](double value, const char* unit) {
    return value > 0.0 ? fmt::format("{:.0f}{}", value, unit) : std::string("-");
  };
  return fmt::format(" {:>9.3f} {:>7} {:>8} {:>7}", time.seconds * 1e3,
                     number(time.bytes / time.seconds / 1e9, ""),
                     number(time.flops / time.seconds / 1e9, ""),
                     number(100.0 * time.share(machine), " %"));
}

void print_head(const Machine& machine, DType dtype) {
  fmt::print("\n{}: memory {:.1f} GB/s, matrix multiplications {:.0f} GFLOP/s\n", name_of(dtype),
             machine.bytes_per_second / 1e9, machine.flops_per_second / 1e9);
  fmt::print("{:<33}{:>35}{:>35}\n{:<33}", "", "------------ forward -------------",
             "------------ backward ------------", "op");
  for (int direction = 0; direction < 2; ++direction) {
    fmt::print(" {:>9} {:>7} {:>8} {:>7}", "ms", "GB/s", "GFLOP/s", "of roof");
  }
  fmt::print("\n");
}

void print(const SizedCase& sized, DType dtype, const OpTimes& times, const Machine& machine,
           bool json) {
  if (json) {
    const nlohmann::json row{{"case", "ops"},
                             {"op", sized.op},
                             {"dtype", name_of(dtype)},
                             {"threads", num_threads()},
                             {"isa", name_of(max_isa())},
                             {"memory_gigabytes_per_second", machine.bytes_per_second / 1e9},
                             {"peak_gflops", machine.flops_per_second / 1e9},
                             {"forward", to_json(times.forward, machine)},
                             {"backward", to_json(times.backward, machine)}};
    fmt::print("{}\n", row.dump());
  } else {
    fmt::print("{:<33}{}{}\n", sized.op, columns(times.forward, machine),
               columns(times.backward, machine));
  }
  std::fflush(stdout);
}

std::vector<SizedCase> chosen(const std::vector<std::string>& names) {
  std::vector<SizedCase> all = cases::sized_cases();
  if (names.empty()) {
    return all;
  }
  std::vector<std::string> known;
  for (const SizedCase& sized : all) {
    known.push_back(sized.op);
  }
  std::vector<SizedCase> some;
  for (const std::string& name : names) {
    const auto found = std::ranges::find(known, name);
    check(found != known.end(), "[bench] no op \"{}\"; the nearest is \"{}\"", name,
          nearest(name, known));
    some.push_back(all[static_cast<size_t>(found - known.begin())]);
  }
  return some;
}

}  // namespace

void bench_ops(const OpsBench& bench, bool json) {
  const std::vector<SizedCase> all = chosen(bench.names);
  Machine machine{.bytes_per_second = read_bytes_per_second(num_threads(), bench.repetitions)};
  if (!json) {
    fmt::print("{} threads, {}, the best of {}\n", num_threads(), name_of(max_isa()),
               bench.repetitions);
    fmt::print(
        "GB/s: the bytes that have to be moved, by the time; of roof: the time that they, or "
        "the products, need at full speed\n");
  }
  for (const std::string& name : bench.dtypes) {
    const DType dtype = dtype_named(name);
    check(dtype != DType::i8, "[bench] ops does not run on int8 weights");
    machine.flops_per_second = peak_flops(dtype, bench.repetitions);
    if (!json) {
      print_head(machine, dtype);
    }
    for (const SizedCase& sized : all) {
      print(sized, dtype, measure(sized, dtype, bench.repetitions), machine, json);
    }
  }
}

}  // namespace heed::cli
