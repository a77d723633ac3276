// `heed classify`, `heed fill`, `heed match`: what encoders of texts are asked.
#include "decode/text/classify.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "cli/command.h"
#include "cli/shared_lines.h"
#include "data/text/lines.h"

namespace heed::cli {
namespace {

constexpr int64_t kBatchTokens = 4096;
struct ClassifyArguments {
  std::string model;
  std::string file = "-";
  std::string output;
  double deadline = 300.0;
  std::optional<DType> precision;
  bool probabilities = false;
};

ClassifyText split_pair(const std::string& line) {
  const size_t tab = line.find('\t');
  return tab == std::string::npos ? ClassifyText{line, ""}
                                  : ClassifyText{line.substr(0, tab), line.substr(tab + 1)};
}

std::string classes_line(const LoadedEncoder& model, const ClassifyArguments& arguments,
                         const std::vector<float>& values) {
  if (model.config.score) {
    return fmt::format("{:.4f}\n", values.front());
  }
  const auto best = std::max_element(values.begin(), values.end()) - values.begin();
  std::string line = model.config.labels[static_cast<size_t>(best)];
  for (size_t i = 0; arguments.probabilities && i < values.size(); ++i) {
    line += fmt::format("\t{}={:.4f}", model.config.labels[i], values[i]);
  }
  return line + "\n";
}

void classify_lines(const ClassifyArguments& arguments) {
  const Group processes = open_processes(arguments.deadline);
  TextOutput output(arguments.output);
  const auto model = load_as<TextEncoder>(arguments.model, arguments.precision);
  SharedLines lines(arguments.file, output, processes);
  for (std::vector<std::string> pool; lines.next_pool(pool);) {
    std::vector<ClassifyText> texts;
    std::transform(pool.begin(), pool.end(), std::back_inserter(texts), split_pair);
    for (const std::vector<float>& values : classify(*model, texts, kBatchTokens)) {
      lines.print(classes_line(*model, arguments, values));
    }
  }
  lines.finish();
}

struct FillArguments {
  std::string model;
  std::string file = "-";
  int64_t k = 5;
};

void fill_lines(const FillArguments& arguments) {
  const auto model = load_as<TextEncoder>(arguments.model, DType::f32);
  LineReader lines(arguments.file);
  for (std::string line; lines.next(line);) {
    const auto filled = fill_masks(*model, line, arguments.k);
    for (size_t mask = 0; mask < filled.size(); ++mask) {
      fmt::print("{}", lines.line_number());
      if (filled.size() > 1) {
        fmt::print(".{}", mask + 1);
      }
      for (const FilledWord& word : filled[mask]) {
        fmt::print("\t{} {:.4f}", word.word, word.probability);
      }
      fmt::print("\n");
    }
    std::fflush(stdout);
  }
}

struct MatchArguments {
  std::string model;
  std::string entries;
  std::string file = "-";
  std::optional<DType> precision;
  int64_t k = 3;
};

// The nearest entries of a list for each line: cosine of mean-pooled vectors.
void match_lines(const MatchArguments& arguments) {
  const auto model = load_as<TextEncoder>(arguments.model, arguments.precision);
  const EmbedOptions options{.pooling = Pooling::mean, .normalize = true};
  const std::vector<std::string> entries = read_lines(arguments.entries);
  check(!entries.empty(), "[match] {} has no entries", arguments.entries);
  const auto vectors = embed(*model, entries, options);
  LineReader lines(arguments.file);
  for (std::string line; lines.next(line);) {
    const std::vector<float> wanted = embed(*model, std::span(&line, 1), options).front();
    std::vector<float> similar;
    for (const std::vector<float>& vector : vectors) {
      similar.push_back(std::inner_product(vector.begin(), vector.end(), wanted.begin(), 0.0F));
    }
    std::vector<size_t> order(entries.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return similar[a] > similar[b]; });
    order.resize(std::min(order.size(), static_cast<size_t>(arguments.k)));
    for (const size_t i : order) {
      fmt::print("{}\t{:.4f}\t{}\t{}\n", lines.line_number(), similar[i], i + 1, entries[i]);
    }
    std::fflush(stdout);
  }
}

void add_fill(Command& app) {
  auto arguments = std::make_shared<FillArguments>();
  Command command = app.subcommand("fill", "Predict the words behind each [MASK]");
  command.group("Text");
  command.option("FILE", arguments->file, "lines with [MASK] (default: standard input)");
  add_model(command, arguments->model);
  command.option("--top", arguments->k, "words to list per mask").range(1, 10000).show_default();
  command.footer(
      "Each line of output has the line number, a tab, and words with their probabilities; in a "
      "line with several masks they are numbered 1.1, 1.2 and so on.");
  command.example("Fill a gap", "echo 'a [MASK] day' | heed fill --model bert-base-uncased");
  command.action([arguments] { fill_lines(*arguments); });
}

void add_match(Command& app) {
  auto arguments = std::make_shared<MatchArguments>();
  Command command = app.subcommand("match", "Find the entries of a list closest to each question");
  command.group("Text");
  command.option("FILE", arguments->file, "questions, one per line (default: standard input)");
  add_model(command, arguments->model);
  command.option("--entries", arguments->entries, "text file with one entry per line")
      .value_name("FILE")
      .required();
  command.option("--top", arguments->k, "entries to list per question")
      .range(1, 10000)
      .show_default();
  add_precision(command, arguments->precision);
  command.footer(
      "Each line of output has the number of the question, the cosine similarity, the number of "
      "the entry and the entry, closest first.");
  command.example("Find the answer to each question of a file",
                  "heed match --model all-MiniLM-L6-v2 --entries faq.txt asked.txt");
  command.example("Ask one question",
                  "echo 'how do I get my money back' | heed match --model all-MiniLM-L6-v2 "
                  "--entries faq.txt");
  command.action([arguments] { match_lines(*arguments); });
}

}  // namespace

void add_classify(Command& app) {
  auto arguments = std::make_shared<ClassifyArguments>();
  Command command = app.subcommand("classify", "Classify or score lines of text");
  command.group("Text");
  command.option("FILE", arguments->file,
                 "one text per line, or a pair separated by a tab (default: standard input)");
  add_model(command, arguments->model);
  add_precision(command, arguments->precision);
  command.flag("--probabilities", arguments->probabilities, "print the probability of each class");
  add_output(command, arguments->output);
  add_deadline(command, arguments->deadline);
  command.example("Classify every line of a file",
                  "heed classify --model runs/sst2-fine-tune reviews.txt");
  command.example("Classify one text, with probabilities",
                  "echo 'a moving and gentle film' | heed classify --model runs/sst2-fine-tune "
                  "--probabilities");
  command.example("Share the lines of a file between four processes",
                  "mpirun -n 4 heed classify --model runs/sst2-fine-tune reviews.txt");
  command.action([arguments] { classify_lines(*arguments); });
  add_fill(app);
  add_match(app);
}

}  // namespace heed::cli
