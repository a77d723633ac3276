// `heed compare decoders`: what several ways of decoding are worth, in quality, time and memory.
//
// All sides take turns on the same few sentences, and of each few the best time of several
// repetitions counts, so that what else the machine does hits no side alone.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/config.h"
#include "base/error.h"
#include "base/file.h"
#include "cli/command.h"
#include "cli/pictures/filling.h"
#include "cli/pictures/plot.h"
#include "cli/share_progress.h"
#include "data/text/lines.h"
#include "decode/text/decoding_options.h"
#include "decode/text/rescore.h"
#include "decode/text/translator.h"
#include "tensor/arena.h"
#include "train/metrics/bleu.h"
#include "train/metrics/chrf.h"

namespace heed::cli {
namespace {

constexpr size_t kTogether = 32;                  // sentences of a batch
constexpr int64_t kAnyTokens = int64_t{1} << 24;  // so a batch is never cut

struct DecoderArguments {
  std::vector<std::string> models;
  std::string source;
  std::string reference;
  std::string svg;
  std::string trace_svg;
  int64_t trace_line = 1;
  std::optional<DType> precision;
  int64_t repetitions = 3;
  int64_t sentences = 128;
  bool json = false;
};

// What is compared: DIR[:decoding[,option=value...]].
struct DecoderChoice {
  std::string name;
  std::string folder;
  std::string decoding;                                           // empty: what the model is for
  std::vector<std::pair<std::string, std::string>> options = {};  // names and values
};

std::pair<std::string, std::string> parse_option(const std::string& text, const std::string& side) {
  const size_t equals = text.find('=');
  check(equals != std::string::npos, "[compare] {} of {} is not of the form OPTION=VALUE", text,
        side);
  return {text.substr(0, equals), text.substr(equals + 1)};
}

DecoderChoice parse_choice(const std::string& text) {
  const NamedPath named = parse_named(text);
  DecoderChoice choice{.name = named.name, .folder = named.path, .decoding = {}};
  const size_t colon = named.path.rfind(':');
  if (colon == std::string::npos || is_model_folder(named.path)) {
    return choice;
  }
  choice.folder = named.path.substr(0, colon);
  std::string rest = named.path.substr(colon + 1);
  for (bool first = true; first || !rest.empty(); first = false) {
    const size_t comma = std::min(rest.find(','), rest.size());
    const std::string part = rest.substr(0, comma);
    rest.erase(0, comma + 1);
    if (first) {
      choice.decoding = part;
    } else {
      choice.options.push_back(parse_option(part, choice.name));
    }
  }
  return choice;
}

struct DecoderResult {
  double bleu = 0.0;
  double chrf = 0.0;
  double steps = 0.0;     // passes of the decoder for a sentence
  double alone = 0.0;     // sentences a second, one at a time
  double together = 0.0;  // and kTogether at a time
  double mebibytes = 0.0;
};

// One side of the comparison. Not movable: translators point to their model.
class DecoderSide {
 public:
  DecoderSide(const DecoderChoice& choice, std::optional<DType> precision)
      : name_(choice.name), before_(Arena::global().live_bytes()) {
    model_ = load_translator(choice.folder, precision);
    const DecodingKind& kind = decoding_for(*model_->model, choice.decoding);
    DecodeOptions decode = usual_options(kind);
    decoding_ = kind.name;
    for (const auto& [key, value] : choice.options) {
      decoding_ += fmt::format(", {} {}", key, value);
      if (key == "rescore") {
        rescorer_ = load_rescorer(value, precision, *model_);
        decode.rescorer = rescorer_->model;
        continue;
      }
      const Json parsed = Json::parse(value, nullptr, false);
      set_option(decode, kind, key, parsed.is_discarded() ? Json(value) : parsed);
    }
    check_decoding(*model_->model, kind, decode);
    translator_.emplace(*model_, TranslatorOptions{.decode = decode});
    whole_batches_.emplace(*model_,
                           TranslatorOptions{.decode = decode, .batch_tokens = kAnyTokens});
    decode.trace = true;
    tracer_.emplace(*model_, TranslatorOptions{.decode = decode});
  }
  DecoderSide(const DecoderSide&) = delete;
  DecoderSide& operator=(const DecoderSide&) = delete;

  const std::string& name() const { return name_; }
  const std::string& decoding() const { return decoding_; }  // "refine, iterations 4"

  // How good the translations are, and how many passes they take.
  void judge(std::span<const SourceText> sources, const std::vector<std::string>& references) {
    std::vector<std::string> said;
    std::vector<std::vector<std::string>> wanted;
    for (size_t first = 0; first < sources.size(); first += kLinePool) {
      const auto some = sources.subspan(first, std::min(kLinePool, sources.size() - first));
      for (const Translator::Result& result : translator_->translate(some)) {
        said.push_back(result.best.front().text);
        wanted.push_back({references[said.size() - 1]});
        result_.steps += static_cast<double>(result.steps) / static_cast<double>(sources.size());
      }
    }
    result_.bleu = bleu(said, wanted).score;
    result_.chrf = chrf(said, wanted).score;
  }

  double seconds_alone(std::span<const SourceText> sources) const {
    return seconds_of([&] {
      for (size_t i = 0; i < sources.size(); ++i) {
        whole_batches_->translate(sources.subspan(i, 1));
      }
    });
  }
  double seconds_together(std::span<const SourceText> sources) const {
    return seconds_of([&] { whole_batches_->translate(sources); });
  }
  // What the weights and a batch take.
  void measure_memory(std::span<const SourceText> batch) {
    Arena::global().reset_peak();
    whole_batches_->translate(batch);
    result_.mebibytes = static_cast<double>(Arena::global().peak_bytes() - before_) / (1 << 20);
  }
  FilledText filling(const SourceText& source) const {
    return {name_, tracer_->translate(std::span(&source, 1)).front().best.front().trace};
  }

  DecoderResult& result() { return result_; }
  const DecoderResult& result() const { return result_; }

 private:
  template <typename Work>
  static double seconds_of(const Work& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  std::string name_;
  std::string decoding_;
  size_t before_;  // bytes that others held when this one was loaded
  std::unique_ptr<LoadedTranslator> model_;
  std::unique_ptr<LoadedModel> rescorer_;
  std::optional<Translator> translator_;     // sorts by length, as `heed translate` does
  std::optional<Translator> whole_batches_;  // takes what it is given as one batch
  std::optional<Translator> tracer_;         // remembers every pass
  DecoderResult result_;
};

using Sides = std::vector<std::unique_ptr<DecoderSide>>;

// The best seconds of a side on each few sentences.
struct BestTimes {
  std::vector<double> alone;
  std::vector<double> together;

  explicit BestTimes(size_t groups)
      : alone(groups, std::numeric_limits<double>::infinity()), together(alone) {}
};

void measure_speed(const Sides& sides, std::span<const SourceText> sources, int64_t repetitions,
                   ShareProgress& progress) {
  const size_t groups = (sources.size() + kTogether - 1) / kTogether;
  std::vector<BestTimes> best(sides.size(), BestTimes(groups));
  const auto group = [&](size_t i) {
    return sources.subspan(i * kTogether, std::min(kTogether, sources.size() - i * kTogether));
  };
  const double all = static_cast<double>(groups) * static_cast<double>(repetitions);
  for (int64_t repetition = 0; repetition < repetitions; ++repetition) {
    for (size_t i = 0; i < groups; ++i) {
      for (size_t turn = 0; turn < sides.size(); ++turn) {
        // Another side begins each time.
        const size_t s = (turn + static_cast<size_t>(repetition) + i) % sides.size();
        best[s].alone[i] = std::min(best[s].alone[i], sides[s]->seconds_alone(group(i)));
        best[s].together[i] = std::min(best[s].together[i], sides[s]->seconds_together(group(i)));
      }
      progress.show((static_cast<double>(repetition) * static_cast<double>(groups) +
                     static_cast<double>(i + 1)) /
                    all);
    }
  }
  const auto rate = [&](const std::vector<double>& seconds) {
    double sum = 0.0;
    for (const double time : seconds) {
      sum += time;
    }
    return static_cast<double>(sources.size()) / sum;
  };
  for (size_t s = 0; s < sides.size(); ++s) {
    sides[s]->result().alone = rate(best[s].alone);
    sides[s]->result().together = rate(best[s].together);
  }
}

void print_decoders(const Sides& sides, bool json) {
  if (json) {
    for (const auto& side : sides) {
      const DecoderResult& found = side->result();
      fmt::print("{}\n", Json{{"name", side->name()},
                              {"decoding", side->decoding()},
                              {"bleu", found.bleu},
                              {"chrf", found.chrf},
                              {"sentences_per_second_batch_1", found.alone},
                              {"sentences_per_second_batch_32", found.together},
                              {"steps_per_sentence", found.steps},
                              {"mebibytes", found.mebibytes}}
                             .dump());
    }
    return;
  }
  size_t name = 4;
  size_t decoding = 8;
  for (const auto& side : sides) {
    name = std::max(name, side->name().size());
    decoding = std::max(decoding, side->decoding().size());
  }
  fmt::print("{:<{}}  {:<{}}  {:>6} {:>6} {:>9} {:>9} {:>7} {:>8}\n", "name", name, "decoding",
             decoding, "BLEU", "chrF", "batch 1", "batch 32", "steps", "memory");
  for (const auto& side : sides) {
    const DecoderResult& found = side->result();
    fmt::print("{:<{}}  {:<{}}  {:>6.2f} {:>6.2f} {:>7.1f}/s {:>7.1f}/s {:>7.2f} {:>4.0f} MiB\n",
               side->name(), name, side->decoding(), decoding, found.bleu, found.chrf, found.alone,
               found.together, found.steps, found.mebibytes);
  }
}

void draw_decoders(const Sides& sides, const DecoderArguments& arguments) {
  const auto panel = [&](const std::string& title, double DecoderResult::*speed) {
    PlotPanel made{.title = title,
                   .x_label = "sentences a second",
                   .y_label = "BLEU",
                   .linear_y = true,
                   .labels = true,
                   .series = {}};
    for (const auto& side : sides) {
      made.series.push_back(
          {.name = side->name(), .points = {{side->result().*speed, side->result().bleu}}});
    }
    return made;
  };
  const Plot plot{.title = "Quality against speed",
                  .subtitle = fmt::format(
                      "{}; best of {}", std::filesystem::path(arguments.source).filename().string(),
                      arguments.repetitions),
                  .panels = {panel("one sentence at a time", &DecoderResult::alone),
                             panel(fmt::format("{} sentences at a time", kTogether),
                                   &DecoderResult::together)}};
  write_file(arguments.svg, render_svg(plot));
}

void draw_filling(const Sides& sides, const SourceText& source, const std::string& file) {
  std::vector<FilledText> texts;
  for (const auto& side : sides) {
    texts.push_back(side->filling(source));
  }
  write_file(file, render_filling(source.text, texts));
}

void compare_decoders(const DecoderArguments& arguments) {
  check_output("--svg", arguments.svg, {".svg"});
  check_output("--trace-svg", arguments.trace_svg, {".svg"});
  const std::vector<std::string> lines = read_lines(arguments.source);
  const std::vector<std::string> references = read_lines(arguments.reference);
  check(lines.size() == references.size() && !lines.empty(),
        "[compare] {} has {} lines and {} has {}, expected as many and at least 1",
        arguments.source, lines.size(), arguments.reference, references.size());
  check(arguments.trace_line <= std::ssize(lines),
        "[compare] --trace-line is {}, expected 1 to {}, the lines of {}", arguments.trace_line,
        lines.size(), arguments.source);
  std::vector<SourceText> sources;
  for (const std::string& line : lines) {
    sources.push_back({line});
  }
  const std::span<const SourceText> timed(
      sources.data(), arguments.sentences == 0
                          ? sources.size()
                          : std::min(sources.size(), static_cast<size_t>(arguments.sentences)));
  std::vector<DecoderChoice> choices;  // all first: a wrong one should not come up later
  for (const std::string& text : arguments.models) {
    choices.push_back(parse_choice(text));
  }
  Sides sides;
  {
    ShareProgress progress;
    for (const DecoderChoice& choice : choices) {
      progress.doing("translating with " + choice.name);
      sides.push_back(std::make_unique<DecoderSide>(choice, arguments.precision));
      sides.back()->judge(sources, references);
      sides.back()->measure_memory(timed.first(std::min(timed.size(), kTogether)));
    }
  }
  {
    ShareProgress progress;
    measure_speed(sides, timed, arguments.repetitions, progress);
  }
  print_decoders(sides, arguments.json);
  if (!arguments.svg.empty()) {
    draw_decoders(sides, arguments);
  }
  if (!arguments.trace_svg.empty()) {
    draw_filling(sides, sources[static_cast<size_t>(arguments.trace_line - 1)],
                 arguments.trace_svg);
  }
}

// Which options each way of decoding has.
std::string option_help() {
  std::string help = "Options:";
  for (const DecodingOption& option : decoding_options()) {
    help +=
        fmt::format(" {} of {} ({});", option.name, fmt::join(option.decodings, ", "), option.help);
  }
  return help + " rescore of those with candidates (folder of the model that chooses).";
}

}  // namespace

void add_compare_decoders(Command& compare) {
  auto arguments = std::make_shared<DecoderArguments>();
  Command command =
      compare.subcommand("decoders", "Measure quality, speed and memory of ways to decode");
  command
      .option("--model", arguments->models,
              "name for the table, translator, and how it decodes, such as "
              "fast=runs/m30k:beam,beam=2")
      .one_at_a_time()
      .value_name("NAME=DIR[:DECODING[,OPTION=VALUE...]]")
      .required();
  command.option("--source", arguments->source, "source text").value_name("FILE").required();
  command.option("--reference", arguments->reference, "reference translation")
      .value_name("FILE")
      .required();
  command
      .option("--sentences", arguments->sentences,
              "sentences that are timed, the first of the source; 0: all")
      .range(0, 1 << 24)
      .show_default();
  command.option("--reps", arguments->repetitions, "repetitions, of which the best time counts")
      .range(1, 1000)
      .show_default();
  add_precision(command, arguments->precision);
  command.option("--svg", arguments->svg, "plot of BLEU against speed to write").value_name("FILE");
  command
      .option("--trace-svg", arguments->trace_svg,
              "picture of how a sentence fills in, pass by pass, to write")
      .value_name("FILE");
  command.option("--trace-line", arguments->trace_line, "line of the source that it shows")
      .range(1, 1 << 24)
      .show_default();
  command.flag("--json", arguments->json, "print a JSON object for each model instead of a table");
  command.footer(
      option_help() +
      " Speeds are sentences a second, one sentence at a time and 32 at a time, tokenising "
      "included. "
      "Steps are passes of the decoder for a sentence. Memory is that of the weights and of "
      "decoding 32 sentences.");
  command.example("Compare greedy and beam search",
                  "heed compare decoders --model greedy=runs/m30k:greedy --model "
                  "beam=runs/m30k:beam,beam=4 --source test.en --reference test.de --svg "
                  "decoders.svg");
  command.action([arguments] { compare_decoders(*arguments); });
}

}  // namespace heed::cli
