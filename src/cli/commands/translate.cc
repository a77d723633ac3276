// `heed translate`: lines in, as many lines out, in order.
#include <fmt/core.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/command.h"
#include "cli/signals.h"
#include "data/text/lines.h"
#include "decode/text/translator.h"
#include "text/unicode.h"

namespace heed::cli {
namespace {

struct TranslateArguments {
  std::string model;
  std::string file = "-";
  std::string prefix;
  std::string prefix_file;
  std::optional<DType> precision;
  TranslatorOptions options;
  std::vector<std::string> suppress;
  std::string end_token;
  bool scores = false;
};

// Lines read ahead: enough to sort by length, not the whole of an endless stream.
constexpr size_t kPool = 2048;

void print_result(const TranslateArguments& arguments, int64_t line,
                  const Translator::Result& result) {
  if (arguments.options.decode.n_best > 1) {
    for (const TranslatedText& best : result.best) {
      fmt::print("{} ||| {} ||| {:.6f}\n", line, best.text, best.score);
    }
    return;
  }
  const TranslatedText& best = result.best.front();
  if (arguments.scores) {
    fmt::print("{:.6f}\t{}\n", best.score, best.text);
  } else {
    fmt::print("{}\n", best.text);
  }
}

class LineTranslator {
 public:
  LineTranslator(const LoadedModel& model, const TranslateArguments& arguments)
      : arguments_(arguments), translator_(model, arguments.options), lines_(arguments.file) {
    if (!arguments.prefix_file.empty()) {
      prefixes_.emplace(arguments.prefix_file);
    }
  }

  void run() {
    // Somebody who types wants each line back at once.
    const bool typed = arguments_.file == "-" && ::isatty(STDIN_FILENO) != 0;
    const std::atomic<bool>& stop = stop_requested();
    while (!stop && read_pool(typed ? 1 : kPool)) {
      const std::vector<Translator::Result> results = translator_.translate(pool_);
      for (size_t i = 0; i < results.size(); ++i) {
        const int64_t line = first_ + static_cast<int64_t>(i);
        if (results[i].pieces > 1) {
          fmt::print(stderr, "heed: line {} is over-long, translated in {} pieces\n", line,
                     results[i].pieces);
        }
        print_result(arguments_, line, results[i]);
      }
      std::fflush(stdout);
    }
  }

 private:
  bool read_pool(size_t most) {
    pool_.clear();
    first_ = lines_.line_number() + 1;
    std::string line;
    while (pool_.size() < most && lines_.next(line)) {
      if (!valid_utf8(line)) {
        fmt::print(stderr, "heed: line {} is not valid UTF-8, bad bytes become U+FFFD\n",
                   lines_.line_number());
      }
      std::string prefix = arguments_.prefix;
      if (prefixes_) {
        check(prefixes_->next(prefix), "[translate] {} ends before line {} of {}",
              arguments_.prefix_file, lines_.line_number(), lines_.name());
      }
      pool_.push_back({line, prefix});
    }
    return !pool_.empty();
  }

  const TranslateArguments& arguments_;
  Translator translator_;
  LineReader lines_;
  std::optional<LineReader> prefixes_;
  std::vector<SourceText> pool_;
  int64_t first_ = 1;
};

void translate(TranslateArguments& arguments) {
  const auto model = load_model(arguments.model, arguments.precision);
  DecodeOptions& decode = arguments.options.decode;
  decode.beam = std::max(decode.beam, decode.n_best);
  for (const std::string& text : arguments.suppress) {
    decode.suppress.push_back(model->tokenizers.target->encode(text));
    check(!decode.suppress.back().empty(), "[translate] --suppress has an empty text");
  }
  if (!arguments.end_token.empty()) {
    const auto end = model->tokenizers.target->find(arguments.end_token);
    check(end.has_value(), "[translate] --end-token {} is not in the vocabulary",
          arguments.end_token);
    decode.end = *end;
  }
  LineTranslator(*model, arguments).run();
}

}  // namespace

void add_translate(Command& app) {
  auto arguments = std::make_shared<TranslateArguments>();
  Command command = app.subcommand("translate", "Translate lines of text");
  TranslatorOptions& options = arguments->options;
  command.option("FILE", arguments->file, "text, plain or gzip (default: standard input)");
  command.option("--model", arguments->model, "model folder").required();
  command.option("--beam", options.decode.beam, "hypotheses kept; 1 is greedy")
      .range(1, 256)
      .show_default();
  command
      .option("--length-penalty", options.decode.length_penalty,
              "alpha of ((5 + length) / 6)^alpha; 0 favours short translations")
      .range(0.0, 10.0)
      .show_default();
  command.option("--n-best", options.decode.n_best, "translations of each line, with scores")
      .range(1, 256)
      .show_default();
  command.option("--batch-tokens", options.batch_tokens, "source tokens worked on together")
      .range(1, 1 << 24)
      .show_default();
  command
      .option("--max-length", options.decode.max_length,
              "longest translation in tokens (default: twice the source and 16)")
      .range(1, 1 << 20);
  command.option("--prefix", arguments->prefix, "what every translation begins with");
  command.option("--prefix-file", arguments->prefix_file, "the same, line by line");
  command.option("--suppress", arguments->suppress, "text that must not be said").one_at_a_time();
  command.option("--end-token", arguments->end_token, "piece that ends a translation");
  add_precision(command, arguments->precision);
  command.flag("--scores", arguments->scores, "the score and a tab in front of each line");
  command.footer(
      "Examples:\n"
      "  echo 'the lion chased the zebra' | heed translate --model runs/demo\n"
      "  heed translate --model runs/m30k --beam 8 --n-best 3 test.en > test.nbest\n"
      "  heed translate --model runs/m30k test.en | heed score --reference test.de");
  command.action([arguments] { translate(*arguments); });
}

}  // namespace heed::cli
