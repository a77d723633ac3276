// `heed corpus`: parallel corpora. `demo` writes the built-in one as plain text; `ambiguous` looks
// whether translations resolved the words that need their context.
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "cli/command.h"
#include "cli/share_progress.h"
#include "data/demo/demo_corpus.h"
#include "data/demo/demo_files.h"

namespace heed::cli {
namespace {

struct DemoArguments {
  DemoOptions corpus;
  std::filesystem::path out;
  bool force = false;
};

struct AmbiguousArguments {
  std::filesystem::path cases, hypotheses;
  double least = 0.0;  // percent
};

void write_demo(const DemoArguments& arguments) {
  for (const std::string_view name : kDemoFiles) {
    check(arguments.force || !std::filesystem::exists(arguments.out / name),
          "[corpus] {} exists already; give another --out, or replace it with --force",
          (arguments.out / name).string());
  }
  constexpr size_t kExamples = 8;
  ShareProgress progress;
  progress.doing("making the corpus");
  const DemoCorpus corpus = make_demo_corpus(arguments.corpus);
  write_demo_corpus(corpus, arguments.out);
  progress.clear();
  const auto ambiguous =
      std::count_if(corpus.test.begin(), corpus.test.end(),
                    [](const DemoPair& pair) { return !pair.ambiguous.empty(); });
  fmt::print("{}: {} pairs in train, {} in valid, {} in test, English (.en) and Italian (.it)\n",
             arguments.out.string(), corpus.train.size(), corpus.valid.size(), corpus.test.size());
  fmt::print("test.ambiguous.tsv: {} sentences of test whose translation needs context\n",
             ambiguous);
  for (size_t i = 0; i < std::min(kExamples, corpus.test.size()); ++i) {
    fmt::print("  {}\n    {}\n", corpus.test[i].source, corpus.test[i].target);
  }
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::vector<std::string> lines_of(const std::filesystem::path& path) {
  std::vector<std::string> lines = split(read_file(path), '\n');
  if (lines.back().empty()) {
    lines.pop_back();
  }
  return lines;
}

struct Share {
  size_t right = 0;
  size_t all = 0;

  double percent() const { return 100.0 * static_cast<double>(right) / static_cast<double>(all); }
};

void print(const std::string& word, const Share& share) {
  fmt::print("{:<10} {:>5} of {:<5} {:>6.1f} %\n", word, share.right, share.all, share.percent());
}

void count_resolved(const AmbiguousArguments& arguments) {
  const std::vector<std::string> hypotheses = lines_of(arguments.hypotheses);
  const std::vector<std::string> cases = lines_of(arguments.cases);
  const std::string place = arguments.cases.string();
  check(!cases.empty(), "[corpus] {} has no cases", place);
  std::map<std::string, Share> shares;
  Share total;
  for (size_t i = 0; i < cases.size(); ++i) {
    const std::vector<std::string> fields = split(cases[i], '\t');
    check(fields.size() == 3,
          "[corpus] {}:{} has {} fields, expected 3: line number, English word, Italian word",
          place, i + 1, fields.size());
    size_t line = 0;
    const char* end = fields[0].data() + fields[0].size();
    const auto [rest, fault] = std::from_chars(fields[0].data(), end, line);
    check(fault == std::errc() && rest == end && line > 0,
          "[corpus] {}:{} has line number \"{}\", expected 1 or more", place, i + 1, fields[0]);
    check(line <= hypotheses.size(), "[corpus] {}:{} is about line {}, but {} has {} lines", place,
          i + 1, line, arguments.hypotheses.string(), hypotheses.size());
    const size_t right = holds_word(hypotheses[line - 1], fields[2]) ? 1 : 0;
    Share& share = shares[fields[1]];
    share.right += right;
    total.right += right;
    ++share.all;
    ++total.all;
  }
  for (const auto& [word, share] : shares) {
    print(word, share);
  }
  print("total", total);
  check(total.percent() >= arguments.least, "[corpus] {:.1f} % are resolved, expected {} % or more",
        total.percent(), arguments.least);
}

void add_demo(Command& corpus) {
  auto arguments = std::make_shared<DemoArguments>();
  Command demo = corpus.subcommand("demo", "Write the built-in English-Italian corpus");
  demo.option("--out", arguments->out, "folder for train, valid and test")
      .value_name("DIR")
      .required();
  demo.flag("--force", arguments->force, "replace files that are there already");
  demo.option("--train", arguments->corpus.train, "pairs to train on")
      .show_default()
      .range(0, 1000000);
  demo.option("--valid", arguments->corpus.valid, "pairs to validate with")
      .show_default()
      .range(0, 100000);
  demo.option("--test", arguments->corpus.test, "pairs to test with")
      .show_default()
      .range(0, 100000);
  demo.option("--seed", arguments->corpus.seed, "random seed of the corpus").show_default();
  demo.example("Write the corpus to the folder demo", "heed corpus demo --out demo");
  demo.action([arguments] { write_demo(*arguments); });
}

void add_ambiguous(Command& corpus) {
  auto arguments = std::make_shared<AmbiguousArguments>();
  Command ambiguous = corpus.subcommand(
      "ambiguous", "Count the ambiguous words that translations render correctly");
  ambiguous.option("--cases", arguments->cases, "test.ambiguous.tsv of the corpus")
      .value_name("FILE")
      .required();
  ambiguous.option("TRANSLATIONS", arguments->hypotheses, "translations of test.en, one per line")
      .required();
  ambiguous.option("--least", arguments->least, "fail below this percentage").range(0.0, 100.0);
  ambiguous.example(
      "Require that 95 % of the ambiguous words are translated correctly",
      "heed corpus ambiguous --cases demo/test.ambiguous.tsv hypotheses.it --least 95");
  ambiguous.action([arguments] { count_resolved(*arguments); });
}

}  // namespace

void add_corpus(Command& app) {
  Command corpus = app.subcommand("corpus", "Write the built-in parallel corpus and check with it");
  corpus.group("Tools");
  corpus.require_subcommand();
  corpus.example("Write the corpus to the folder demo", "heed corpus demo --out demo");
  add_demo(corpus);
  add_ambiguous(corpus);
}

}  // namespace heed::cli
