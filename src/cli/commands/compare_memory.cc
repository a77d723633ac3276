// `heed compare memory`: how the loss of language models falls with what each token sees before it,
// and how fast that goes.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "cli/command.h"
#include "cli/pictures/plot.h"
#include "cli/share_progress.h"
#include "data/text/token_windows.h"
#include "decode/text/perplexity.h"
#include "models/folder.h"
#include "models/segment_model.h"

namespace heed::cli {
namespace {

struct MemoryArguments {
  std::vector<std::string> models;
  std::vector<std::string> files;
  std::vector<int64_t> lengths{0, 64, 128, 256, 512, 1024, 2048};
  bool line_end = false;
  int64_t tokens = 0;  // the first so many; 0: all
  std::string svg;
  std::optional<DType> precision;
  bool json = false;
};

// What a model says with a memory of one length.
struct MemoryResult {
  int64_t length = 0;
  double loss = 0.0;
  double speed = 0.0;  // tokens a second
};

struct MemorySide {
  std::string name;
  std::vector<MemoryResult> results;
};

// A model with a memory goes through the text once. For another one each token sees at most
// `length` tokens before it, and at least half as many: windows that overlap by half. None if its
// context is too short for that.
std::optional<Perplexity> measure_with(const LanguageModel& model, std::span<const int32_t> tokens,
                                       int64_t length) {
  if (dynamic_cast<const SegmentModel*>(&model) != nullptr) {
    return measure_perplexity(model, tokens, {.memory = length});
  }
  if (model.context() > 0 && length + 1 > model.context()) {
    return std::nullopt;
  }
  return measure_perplexity(
      model, tokens, {.length = length + 1, .stride = std::max<int64_t>(1, (length + 1) / 2)});
}

MemorySide measure_side(const std::string& text, const MemoryArguments& arguments) {
  const NamedPath named = parse_named(text);
  MemorySide side{.name = named.name, .results = {}};
  ShareProgress progress;
  progress.doing("reading with " + named.name);
  const auto model = load_as<LanguageModel>(named.path, arguments.precision);
  std::vector<int32_t> tokens = read_tokens({.files = arguments.files,
                                             .tokenizer = model->tokenizers.target,
                                             .line_end = arguments.line_end});
  if (arguments.tokens > 0 && arguments.tokens < std::ssize(tokens)) {
    tokens.resize(static_cast<size_t>(arguments.tokens));
  }
  check(tokens.size() > 1, "[compare] the text has {} tokens, expected at least 2", tokens.size());
  for (const int64_t length : arguments.lengths) {
    const auto start = std::chrono::steady_clock::now();
    const std::optional<Perplexity> found = measure_with(*model->model, tokens, length);
    if (found) {
      const double seconds =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      side.results.push_back({length, found->loss(), static_cast<double>(found->tokens) / seconds});
    }
  }
  return side;
}

void print_memory(const std::vector<MemorySide>& sides, const MemoryArguments& arguments) {
  if (arguments.json) {
    for (const MemorySide& side : sides) {
      for (const MemoryResult& found : side.results) {
        fmt::print("{}\n", Json{{"name", side.name},
                                {"memory", found.length},
                                {"loss", found.loss},
                                {"perplexity", std::exp(found.loss)},
                                {"tokens_per_second", found.speed}}
                               .dump());
      }
    }
    return;
  }
  fmt::print("{:>8}", "memory");
  for (const MemorySide& side : sides) {
    fmt::print("  {:>36}", side.name + ": loss, perplexity, tokens/s");
  }
  for (const int64_t length : arguments.lengths) {
    fmt::print("\n{:>8}", length);
    for (const MemorySide& side : sides) {
      const auto found = std::find_if(side.results.begin(), side.results.end(),
                                      [&](const MemoryResult& r) { return r.length == length; });
      fmt::print("  {:>36}", found == side.results.end()
                                 ? "-"
                                 : fmt::format("{:.4f} {:>12.3f} {:>10.0f}", found->loss,
                                               std::exp(found->loss), found->speed));
    }
  }
  fmt::print("\n");
}

void draw_memory(const std::vector<MemorySide>& sides, const MemoryArguments& arguments) {
  const auto panel = [&](const std::string& label, double MemoryResult::*value, bool linear) {
    PlotPanel made{.title = label,
                   .x_label = "tokens before it that each token sees",
                   .y_label = label,
                   .linear_x = true,
                   .linear_y = linear,
                   .series = {}};
    for (const MemorySide& side : sides) {
      PlotSeries line{.name = side.name};
      for (const MemoryResult& found : side.results) {
        line.points.push_back({static_cast<double>(found.length), found.*value});
      }
      if (!line.points.empty()) {
        made.series.push_back(line);
      }
    }
    return made;
  };
  const Plot plot{.title = "Loss against memory",
                  .subtitle = arguments.files.front(),
                  .panels = {panel("nats per token", &MemoryResult::loss, true),
                             panel("tokens a second", &MemoryResult::speed, false)}};
  write_file(arguments.svg, render_svg(plot));
}

void compare_memory(const MemoryArguments& arguments) {
  check_output("--svg", arguments.svg, {".svg"});
  for (const std::string& file : arguments.files) {
    check(file != "-", "[compare] give a file; standard input cannot be read twice");
  }
  for (const int64_t length : arguments.lengths) {
    check(length >= 0 && length <= 1 << 24, "[compare] --lengths has {}, expected 0 to {}", length,
          1 << 24);
  }
  std::vector<MemorySide> sides;
  for (const std::string& text : arguments.models) {
    sides.push_back(measure_side(text, arguments));
  }
  print_memory(sides, arguments);
  if (!arguments.svg.empty()) {
    draw_memory(sides, arguments);
  }
}

}  // namespace

void add_compare_memory(Command& compare) {
  auto arguments = std::make_shared<MemoryArguments>();
  Command command = compare.subcommand(
      "memory", "Measure the loss of language models by what each token sees before it");
  command.option("FILE", arguments->files, "held-out text, plain or gzip").required();
  command
      .option("--model", arguments->models, "name for the table, and language model; several times")
      .one_at_a_time()
      .value_name("NAME=DIR")
      .required();
  command.option("--lengths", arguments->lengths, "tokens that are seen, such as 0,64,128")
      .separated_by(',')
      .value_name("N,N...")
      .show_default();
  command
      .option("--tokens", arguments->tokens, "measure only the first N tokens of the text; 0: all")
      .range(0, 1 << 30);
  command.flag("--line-end", arguments->line_end,
               "end every line with the END token instead of a newline");
  add_precision(command, arguments->precision);
  command.option("--svg", arguments->svg, "plot of loss and speed against memory to write")
      .value_name("FILE");
  command.flag("--json", arguments->json, "print a JSON object for each figure instead of a table");
  command.footer(
      "A model that remembers segments, such as a transformer_xl, goes through the text once. For "
      "others, windows overlap by half: each token sees at most as many tokens as the table says, "
      "and at least half of them. Lengths that exceed a model's context are left out.");
  command.example("Compare a Transformer-XL with a model that has no memory",
                  "heed compare memory --model xl=runs/books-xl --model plain=runs/books --lengths "
                  "0,64,256 --svg memory.svg book.txt");
  command.action([arguments] { compare_memory(*arguments); });
}

}  // namespace heed::cli
