// `heed translate`: lines in, as many lines out, in order.
#include <fmt/format.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/command.h"
#include "cli/pictures/filling.h"
#include "cli/share_progress.h"
#include "cli/shared_lines.h"
#include "data/text/lines.h"
#include "decode/text/decoding_options.h"
#include "decode/text/rescore.h"
#include "decode/text/translator.h"
#include "text/unicode.h"

namespace heed::cli {
namespace {

struct TranslateArguments {
  std::string model;
  std::string rescore;
  std::string file = "-";
  std::string output;
  double deadline = 300.0;
  std::string prefix;
  std::string prefix_file;
  std::optional<DType> precision;
  TranslatorOptions options;
  int64_t beam = 0;  // 0: as usual for the way of decoding
  std::vector<std::string> suppress;
  std::string end_token;
  std::string accept = "exact";
  bool scores = false;
};

std::string result_text(const TranslateArguments& arguments, int64_t line,
                        const Translator::Result& result) {
  std::string text;
  if (arguments.options.decode.n_best > 1) {
    for (const TranslatedText& best : result.best) {
      text += fmt::format("{} ||| {} ||| {:.6f}\n", line, best.text, best.score);
    }
    return text;
  }
  const TranslatedText& best = result.best.front();
  text = filling_text(best.trace);
  if (arguments.scores) {
    text += fmt::format("{:.6f}\t", best.score);
  }
  return text + best.text + "\n";
}

class LineTranslator {
 public:
  LineTranslator(const LoadedTranslator& model, const TranslateArguments& arguments,
                 LineOutput& output, const Group& processes)
      : arguments_(arguments),
        processes_(processes),
        translator_(model, options()),
        lines_(arguments.file, output, processes) {
    if (!arguments.prefix_file.empty()) {
      prefixes_.emplace(arguments.prefix_file);
    }
  }

  void run() {
    while (read_pool()) {
      const std::vector<Translator::Result> results = translator_.translate(pool_);
      progress_.clear();
      for (size_t i = 0; i < results.size(); ++i) {
        const int64_t line = lines_.first_line() + static_cast<int64_t>(i);
        warn_of(line, results[i]);
        lines_.print(result_text(arguments_, line, results[i]));
        count_.tokens += results[i].passes.tokens;
        count_.passes += results[i].passes.passes;
      }
    }
    lines_.finish();
  }
  // Of all lines, those of other processes too; every process has to call this.
  PassCount count() const {
    return {.tokens = static_cast<int64_t>(processes_.sum(static_cast<double>(count_.tokens))),
            .passes = static_cast<int64_t>(processes_.sum(static_cast<double>(count_.passes)))};
  }

 private:
  TranslatorOptions options() {
    TranslatorOptions options = arguments_.options;
    // On a terminal the translations themselves show how far it is.
    if (processes_.index() == 0 && (::isatty(STDOUT_FILENO) == 0 || !arguments_.output.empty())) {
      options.on_decoded = [this](double of_pool) {
        if (const double done = lines_.share(of_pool); done > 0.0) {
          progress_.show(done);
        }
      };
    }
    return options;
  }

  bool read_pool() {
    pool_.clear();
    if (!lines_.next_pool(texts_)) {
      return false;
    }
    for (const std::string& text : texts_) {
      const int64_t line = lines_.first_line() + std::ssize(pool_);
      if (!valid_utf8(text)) {
        lines_.warn(
            fmt::format("heed: line {} is not valid UTF-8; invalid bytes become U+FFFD\n", line));
      }
      pool_.push_back({text, prefix_of(line)});
    }
    return true;
  }

  // Lines come in order, but those of other processes are left out.
  std::string prefix_of(int64_t line) {
    std::string prefix = arguments_.prefix;
    while (prefixes_ && prefixes_->line_number() < line) {
      check(prefixes_->next(prefix), "[translate] {} ends before line {} of {}",
            arguments_.prefix_file, line, lines_.name());
    }
    return prefix;
  }

  void warn_of(int64_t line, const Translator::Result& result) {
    if (result.cut) {
      lines_.warn(
          fmt::format("heed: line {} is too long for the model and was translated in {} pieces\n",
                      line, result.pieces));
    }
    if (result.shortfall) {
      lines_.warn(fmt::format("heed: line {}: {}\n", line, result.shortfall->text()));
    }
  }

  const TranslateArguments& arguments_;
  const Group& processes_;
  ShareProgress progress_;
  Translator translator_;
  SharedLines lines_;
  std::optional<LineReader> prefixes_;
  std::vector<std::string> texts_;
  std::vector<SourceText> pool_;
  PassCount count_;
};

void translate(TranslateArguments& arguments) {
  const Group processes = open_processes(arguments.deadline);
  TextOutput output(arguments.output);
  const auto model = load_translator(arguments.model, arguments.precision);
  DecodeOptions& decode = arguments.options.decode;
  const DecodingKind& kind = decoding_for(*model->model, decode.decoding);
  decode.beam =
      std::max(arguments.beam > 0 ? arguments.beam : usual_options(kind).beam, decode.n_best);
  decode.candidates = std::max(decode.candidates, decode.n_best);
  check_decoding(*model->model, kind, decode);
  check(!decode.trace || decode.n_best == 1,
        "--trace shows how one translation of each line fills in, and --n-best asks for {}",
        decode.n_best);
  check(kind.prefix || (arguments.prefix.empty() && arguments.prefix_file.empty()),
        "--prefix does not go with --decoding {}: it does not translate from left to right",
        kind.name);
  std::unique_ptr<LoadedModel> rescorer;
  if (!arguments.rescore.empty()) {
    rescorer = load_rescorer(arguments.rescore, arguments.precision, *model);
    decode.rescorer = rescorer->model;
  }
  for (const std::string& text : arguments.suppress) {
    decode.suppress.push_back(model->tokenizers.target->encode(text));
    check(!decode.suppress.back().empty(), "--suppress is empty, expected a text");
  }
  if (!arguments.end_token.empty()) {
    const auto end = model->tokenizers.target->find(arguments.end_token);
    check(end.has_value(), "[translate] --end-token {} is not in the vocabulary",
          arguments.end_token);
    decode.end = *end;
  }
  const int64_t least = decode.acceptance.least;
  decode.acceptance = parse_acceptance(arguments.accept);
  decode.acceptance.least = least;
  LineTranslator lines(*model, arguments, output, processes);
  lines.run();
  const PassCount count = lines.count();
  if (processes.index() == 0 && kind.name == "blockwise" && count.passes > 0) {
    fmt::print(stderr, "heed: {} tokens in {} passes, {:.2f} each\n", count.tokens, count.passes,
               count.mean());
  }
}

std::string decoding_help() {
  std::string help = "how to decode (default: what the model is for)";
  for (const DecodingKind& kind : decodings()) {
    help += fmt::format("; {}: {}", kind.name, kind.help);
  }
  return help;
}

// How lines are decoded.
void add_decoding(Command& command, TranslateArguments& arguments) {
  TranslatorOptions& options = arguments.options;
  command.option("--decoding", options.decode.decoding, decoding_help()).choices(decoding_names());
  command
      .option("--beam", arguments.beam,
              "beam size; 1 is greedy search (default: 4; 1 over the codes of --decoding latent)")
      .range(1, 256);
  command
      .option("--length-penalty", options.decode.length_penalty,
              "alpha of ((5 + length) / 6)^alpha; 0 favours short translations")
      .range(0.0, 10.0)
      .show_default();
  command.option("--n-best", options.decode.n_best, "translations per line, printed with scores")
      .range(1, 256)
      .show_default();
  command
      .option("--block", options.decode.block,
              "most tokens of a step of --decoding blockwise (default: the model's)")
      .range(1, 64);
  command
      .option("--accept", arguments.accept,
              "which proposals of --decoding blockwise stand: exact, or any of the model's top-N")
      .show_default();
  command
      .option("--sure", options.decode.sure,
              "verify proposals of --decoding blockwise only from this probability on")
      .range(0.0, 1.0)
      .show_default();
  command
      .option("--least-block", options.decode.acceptance.least,
              "tokens that a step of --decoding blockwise takes in any case")
      .range(1, 64)
      .show_default();
  command.option("--iterations", options.decode.iterations, "most passes of --decoding refine")
      .range(1, 1000)
      .show_default();
  command
      .option("--candidates", options.decode.candidates,
              "lengths that --decoding parallel and refine try")
      .range(1, 100)
      .show_default();
  command
      .option("--rescore", arguments.rescore,
              "model that chooses among candidates, one that translates token by token")
      .value_name("DIR");
}

}  // namespace

void add_translate(Command& app) {
  auto arguments = std::make_shared<TranslateArguments>();
  Command command = app.subcommand("translate", "Translate lines of text");
  command.group("Text");
  TranslatorOptions& options = arguments->options;
  command.option("FILE", arguments->file, "text, plain or gzip (default: standard input)");
  add_model(command, arguments->model);
  add_decoding(command, *arguments);
  command.option("--batch-tokens", options.batch_tokens, "source tokens per batch")
      .range(1, 1 << 24)
      .show_default();
  command
      .option("--max-length", options.decode.max_length,
              "longest translation in tokens (default: 16 more than twice the source)")
      .range(1, 1 << 20);
  command.option("--prefix", arguments->prefix, "text that every translation begins with");
  command.option("--prefix-file", arguments->prefix_file, "file with one prefix per line")
      .value_name("FILE");
  command.option("--suppress", arguments->suppress, "text that translations must not contain")
      .one_at_a_time();
  command.option("--end-token", arguments->end_token, "token that ends a translation")
      .value_name("TOKEN");
  add_precision(command, arguments->precision);
  command.flag("--trace", options.decode.trace,
               "print what stands there after each pass of the decoder before each translation");
  command.flag("--scores", arguments->scores, "print the score and a tab before each translation");
  add_output(command, arguments->output);
  add_deadline(command, arguments->deadline);
  command.example("Translate a sentence",
                  "echo 'The lion slept.' | heed translate --model runs/demo");
  command.example("Print the three best translations of each line",
                  "heed translate --model runs/m30k --beam 8 --n-best 3 test.en > test.nbest");
  command.example("Watch a translation fill in",
                  "echo 'The lion slept.' | heed translate --model runs/demo --trace");
  command.example("Translate a file and score the result",
                  "heed translate --model runs/m30k test.en | heed score --reference test.de");
  command.example("Share the lines of a file between four processes",
                  "mpirun -n 4 heed translate --model runs/m30k --output test.out test.en");
  command.action([arguments] { translate(*arguments); });
}

}  // namespace heed::cli
