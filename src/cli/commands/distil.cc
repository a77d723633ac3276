// `heed distil`: a teacher's translations of a corpus, as targets for students to learn from.
#include <fmt/core.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/interrupt.h"
#include "cli/command.h"
#include "cli/share_progress.h"
#include "cli/signals.h"
#include "tasks/tasks.h"
#include "train/distillation.h"

namespace heed::cli {
namespace {

struct DistilArguments {
  std::string model;
  std::vector<std::string> sources;
  std::string recipe;
  std::string output;
  std::string alignments;
  std::string precision;  // as it was given
  TranslatorOptions translator;
  bool force = false;
};

// How far it is: on a terminal a line that moves, in a pipe a line now and then.
class DistilReport {
 public:
  void doing(std::string_view what) { start_.doing(what); }
  void begin(const DistilProgress& at) {
    start_.clear();
    first_ = at;
    progress_.emplace(at.share);
    progress_->doing(fmt::format("{} of {} lines", at.lines, at.total));
  }
  void show(const DistilProgress& at) {
    const double seconds = progress_->seconds();
    if (at.share <= first_.share) {
      return;
    }
    const std::string text = fmt::format("{} of {} lines, {:.1f} lines/s, ", at.lines, at.total,
                                         static_cast<double>(at.lines - first_.lines) / seconds);
    progress_->show(at.share, text);
  }
  void clear() {
    start_.clear();
    if (progress_) {
      progress_->clear();
    }
  }

 private:
  ShareProgress start_;
  std::optional<ShareProgress> progress_;
  DistilProgress first_;
};

// A recipe's source files.
std::vector<std::string> sources_of(const std::string& file) {
  const Recipe recipe = read_recipe(file);
  check_files(recipe, file);
  const Json data = recipe.own.value("data", Json::object());
  const Json sources = data.value("source", Json::array());
  check(sources.is_array() && !sources.empty(),
        "[distil] {} names no files in data.source; give the source files with --source", file);
  return sources.get<std::vector<std::string>>();
}

// This command, which also goes on with what it began.
std::string command_of(const DistilArguments& arguments) {
  std::string command = "heed distil --model " + shell_word(arguments.model);
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) {
      command += fmt::format(" {} {}", option, shell_word(value));
    }
  };
  if (arguments.recipe.empty()) {
    command += " --source";
    for (const std::string& source : arguments.sources) {
      command += " " + shell_word(source);
    }
  }
  add("--recipe", arguments.recipe);
  add("--output", arguments.output);
  add("--alignments", arguments.alignments);
  const TranslatorOptions standard;
  const TranslatorOptions& given = arguments.translator;
  if (given.decode.beam != standard.decode.beam) {
    add("--beam", fmt::format("{}", given.decode.beam));
  }
  if (given.decode.length_penalty != standard.decode.length_penalty) {
    add("--length-penalty", fmt::format("{}", given.decode.length_penalty));
  }
  if (given.batch_tokens != standard.batch_tokens) {
    add("--batch-tokens", fmt::format("{}", given.batch_tokens));
  }
  add("--precision", arguments.precision);
  return command + (arguments.force ? " --force" : "");
}

DistilOptions options_of(const DistilArguments& arguments, DistilReport& report) {
  const std::vector<std::string> sources =
      arguments.recipe.empty() ? arguments.sources : sources_of(arguments.recipe);
  DistilOptions options{.teacher = arguments.model,
                        .sources = {sources.begin(), sources.end()},
                        .output = arguments.output,
                        .alignments = arguments.alignments,
                        .translator = arguments.translator,
                        .force = arguments.force,
                        .doing = [&report](std::string_view what) { report.doing(what); },
                        .on_progress = [&report](const DistilProgress& at) { report.show(at); }};
  if (!arguments.precision.empty()) {
    options.precision = dtype_named(arguments.precision);
  }
  return options;
}

void warn_of(const Distillation& work) {
  if (work.cut_lines() > 0) {
    fmt::print(stderr, "heed: {} lines were too long for the teacher and translated in pieces\n",
               work.cut_lines());
  }
  if (work.short_lines() > 0) {
    fmt::print(stderr, "heed: {} translations are so short that they probably lack something\n",
               work.short_lines());
  }
}

void distil(const DistilArguments& arguments) {
  check(arguments.sources.empty() != arguments.recipe.empty(),
        "[distil] give either --source or --recipe (see heed distil --help)");
  check_output(arguments.output);
  check_output(arguments.alignments);
  const std::string command = command_of(arguments);
  const auto report = std::make_shared<DistilReport>();
  const auto end_with = [&](const std::string& what) {
    end_on_signal([report, what, command] {
      report->clear();
      fmt::print(stderr, "{}; go on with: {}\n", what, command);
    });
  };
  end_with("interrupted before the first line");
  Distillation work(options_of(arguments, *report));
  if (work.progress().lines > 0) {
    report->clear();
    fmt::print(stderr, "{} of {} lines are there already; going on\n", work.progress().lines,
               work.progress().total);
  }
  report->begin(work.progress());
  try {
    const InterruptScope scope(stop_requested());
    while (work.advance()) {
    }
  } catch (const Interrupted&) {
    report->clear();
    fmt::print(stderr, "stopped after {} of {} lines; go on with: {}\n", work.progress().lines,
               work.progress().total, command);
    throw ExitStatus{kInterrupted};
  }
  end_with("interrupted after the last line");
  work.commit();
  report->clear();
  warn_of(work);
  fmt::print("{}: {} lines, one for each line of the source\n", arguments.output,
             work.progress().total);
}

}  // namespace

void add_distil(Command& app) {
  auto arguments = std::make_shared<DistilArguments>();
  Command command =
      app.subcommand("distil", "Translate a corpus with a teacher, to train students on");
  command.group("Train and evaluate");
  add_model(command, arguments->model);
  command
      .option("--source", arguments->sources,
              "source text, plain or gzip; of several files the lines follow one another")
      .value_name("FILE");
  command.option("--recipe", arguments->recipe, "recipe whose data.source is translated instead")
      .value_name("FILE");
  command.option("--output", arguments->output, "translations to write; gzip if it ends in .gz")
      .value_name("FILE")
      .required();
  command
      .option("--alignments", arguments->alignments,
              "also write how many tokens of the translation attend most to each source token")
      .value_name("FILE");
  TranslatorOptions& options = arguments->translator;
  command.option("--beam", options.decode.beam, "beam size; 1 is greedy search")
      .range(1, 256)
      .show_default();
  command
      .option("--length-penalty", options.decode.length_penalty,
              "alpha of ((5 + length) / 6)^alpha; 0 favours short translations")
      .range(0.0, 10.0)
      .show_default();
  command.option("--batch-tokens", options.batch_tokens, "source tokens per batch")
      .range(1, 1 << 24)
      .show_default();
  command
      .option("--precision", arguments->precision,
              "precision of matrix multiplications (default: int8 if the weights are int8, else "
              "f32)")
      .choices({"f32", "bf16", "int8"});
  command.flag("--force", arguments->force,
               "replace files that exist, and what was begun with another teacher or options");
  command.footer(
      "The lines are in OUTPUT.part until all are there. After Ctrl-C, or however it ended, the "
      "same command continues and ends with the same file. An empty line stays empty, and a line "
      "that is too long for the teacher is translated in pieces.");
  command.example("Translate training data",
                  "heed distil --model runs/m30k --source train.en --output distilled.de");
  command.example("Take the source files from a recipe",
                  "heed distil --model runs/m30k --recipe recipes/translation/multi30k.toml "
                  "--output m30k.distilled.de.gz --precision bf16");
  command.example("Also count which source tokens the translations come from",
                  "heed distil --model runs/m30k --source train.en --output train.distilled.de "
                  "--alignments train.fertility");
  command.action([arguments] { distil(*arguments); });
}

}  // namespace heed::cli
