// `heed compare`: several runs, translations, decoders or compressors side by side, as tables and
// pictures.
#include <fmt/core.h>

#include <algorithm>
#include <sstream>

#include "base/error.h"
#include "base/file.h"
#include "cli/command.h"
#include "cli/pictures/curves.h"
#include "cli/pictures/plot.h"
#include "data/text/lines.h"
#include "train/metrics/bleu.h"

namespace heed::cli {
namespace {

struct LengthArguments {
  std::string source;
  std::string reference;
  std::vector<std::string> hypotheses;
  std::string svg;
  int64_t step = 5;  // words in a bucket
};

int64_t count_words(const std::string& line) {
  std::istringstream stream(line);
  std::string word;
  int64_t count = 0;
  while (stream >> word) {
    ++count;
  }
  return count;
}

// Sentences whose sources have about as many words.
struct Bucket {
  int64_t from = 0;
  int64_t to = 0;
  double mean = 0.0;
  std::vector<size_t> sentences;
};

// Steps of equal width; where there are too few sentences for a BLEU, neighbours join.
std::vector<Bucket> make_buckets(const std::vector<std::string>& sources, int64_t step) {
  constexpr size_t kFewest = 20;
  std::vector<Bucket> buckets;
  for (size_t i = 0; i < sources.size(); ++i) {
    const int64_t words = count_words(sources[i]);
    const auto at = static_cast<size_t>(std::max<int64_t>(words - 1, 0) / step);
    while (buckets.size() <= at) {
      const auto from = static_cast<int64_t>(buckets.size()) * step + 1;
      buckets.push_back({.from = from, .to = from + step - 1, .sentences = {}});
    }
    buckets[at].sentences.push_back(i);
    buckets[at].mean += static_cast<double>(words);
  }
  const auto join_left = [&](size_t i) {
    Bucket& left = buckets[i - 1];
    left.to = buckets[i].to;
    left.mean += buckets[i].mean;
    left.sentences.insert(left.sentences.end(), buckets[i].sentences.begin(),
                          buckets[i].sentences.end());
    buckets.erase(buckets.begin() + static_cast<int64_t>(i));
  };
  for (size_t i = buckets.size(); i-- > 1;) {
    if (buckets[i].sentences.size() < kFewest) {
      join_left(i);
    }
  }
  if (buckets.size() > 1 && buckets[0].sentences.size() < kFewest) {
    join_left(1);
  }
  std::erase_if(buckets, [](const Bucket& bucket) { return bucket.sentences.empty(); });
  for (Bucket& bucket : buckets) {
    bucket.mean /= static_cast<double>(bucket.sentences.size());
  }
  return buckets;
}

double bucket_bleu(const Bucket& bucket, const std::vector<std::string>& hypotheses,
                   const std::vector<std::string>& references) {
  std::vector<std::string> said;
  std::vector<std::vector<std::string>> wanted;
  for (const size_t i : bucket.sentences) {
    said.push_back(hypotheses[i]);
    wanted.push_back({references[i]});
  }
  return bleu(said, wanted).score;
}

void compare_lengths(const LengthArguments& arguments) {
  check_output(arguments.svg);
  const std::vector<std::string> sources = read_lines(arguments.source);
  const std::vector<std::string> references = read_lines(arguments.reference);
  check(sources.size() == references.size(), "[compare] {} has {} lines and {} has {}",
        arguments.source, sources.size(), arguments.reference, references.size());
  const std::vector<Bucket> buckets = make_buckets(sources, arguments.step);
  std::vector<PlotSeries> series;
  for (const std::string& text : arguments.hypotheses) {
    const NamedPath named = parse_named(text);
    const std::vector<std::string> hypotheses = read_lines(named.path);
    check(hypotheses.size() == references.size(), "[compare] {} has {} lines and {} has {}",
          named.path, hypotheses.size(), arguments.reference, references.size());
    PlotSeries& line = series.emplace_back();
    line.name = named.name;
    for (const Bucket& bucket : buckets) {
      line.points.push_back({bucket.mean, bucket_bleu(bucket, hypotheses, references)});
    }
  }
  fmt::print("{:>10} {:>10}", "words", "sentences");
  for (const PlotSeries& line : series) {
    fmt::print(" {:>16}", line.name);
  }
  for (size_t i = 0; i < buckets.size(); ++i) {
    fmt::print("\n{:>10} {:>10}", fmt::format("{}-{}", buckets[i].from, buckets[i].to),
               buckets[i].sentences.size());
    for (const PlotSeries& line : series) {
      fmt::print(" {:>16.2f}", line.points[i].y);
    }
  }
  fmt::print("\n");
  if (!arguments.svg.empty()) {
    Plot plot{.title = "BLEU against the length of the source", .subtitle = arguments.source};
    plot.panels.push_back({.title = "Corpus BLEU of the sentences of each length",
                           .x_label = "words in the source",
                           .y_label = "BLEU",
                           .linear_x = true,
                           .linear_y = true,
                           .series = series});
    write_file(arguments.svg, render_svg(plot));
  }
}

}  // namespace

void add_compare(Command& app) {
  Command compare = app.subcommand("compare", "Compare runs, decoders, memories or compressors");
  compare.group("Train and evaluate");
  compare.require_subcommand();
  compare.example("Plot the learning curves of two runs",
                  "heed compare curves adam=runs/a sm3=runs/b --svg curves.svg");

  auto runs = std::make_shared<std::vector<std::string>>();
  auto svg = std::make_shared<std::string>();
  Command curves = compare.subcommand("curves", "Plot the learning curves of several runs");
  curves.option("NAME=RUN", *runs, "name for the legend and run folder").required();
  curves.option("--svg", *svg, "plot to write").value_name("FILE").required();
  curves.example("Plot the learning curves of two runs",
                 "heed compare curves adam=runs/a sm3=runs/b --svg curves.svg");
  curves.action([runs, svg] {
    check_output(*svg);
    std::vector<NamedRun> named;
    for (const std::string& text : *runs) {
      const NamedPath run = parse_named(text);
      named.push_back({run.name, run.path});
    }
    compare_curves(named, *svg);
  });

  auto arguments = std::make_shared<LengthArguments>();
  Command lengths =
      compare.subcommand("lengths", "Compute BLEU by the length of the source sentence");
  lengths.option("NAME=FILE", arguments->hypotheses, "name for the legend and file of translations")
      .required();
  lengths.option("--source", arguments->source, "source text").value_name("FILE").required();
  lengths.option("--reference", arguments->reference, "reference translation")
      .value_name("FILE")
      .required();
  lengths.option("--step", arguments->step, "width of a range of lengths, in words")
      .range(1, 1000)
      .show_default();
  lengths.option("--svg", arguments->svg, "plot to write").value_name("FILE");
  lengths.example("Compare two translators on short and long sentences",
                  "heed compare lengths transformer=a.de rnn=b.de --source test.en --reference "
                  "test.de --svg lengths.svg");
  lengths.action([arguments] { compare_lengths(*arguments); });
  add_compare_decoders(compare);
  add_compare_compressors(compare);
  add_compare_memory(compare);
}

}  // namespace heed::cli
