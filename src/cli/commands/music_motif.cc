// `heed music motif`: how well models of music remember a motif, by how far into a piece it
// returns.
#include <fmt/core.h>

#include "base/error.h"
#include "base/file.h"
#include "cli/command.h"
#include "cli/pictures/plot.h"
#include "decode/music/motif.h"

namespace heed::cli {
namespace {

struct MotifArguments {
  std::vector<std::string> models;  // NAME=FOLDER
  MotifOptions options;
  int64_t trained = 0;
  std::string svg;
};

PlotSeries measure(const std::string& named, const MotifOptions& options) {
  const size_t equals = named.find('=');
  const bool has_name = equals != std::string::npos;
  const auto model =
      load_as<LanguageModel>(has_name ? named.substr(equals + 1) : named, DType::bf16);
  PlotSeries series{.name = has_name ? named.substr(0, equals) : named};
  for (const MotifBucket& bucket : measure_motif(*model, options)) {
    if (bucket.notes == 0) {
      continue;
    }
    fmt::print("{:<16} {:>6} {:>6} {:>8.1f} %\n", series.name, bucket.position, bucket.notes,
               100 * bucket.accuracy());
    const auto middle = static_cast<double>(bucket.position + options.bucket / 2);
    series.points.push_back({middle, 100 * bucket.accuracy()});
  }
  return series;
}

void run(const MotifArguments& arguments) {
  check_output(arguments.svg);
  fmt::print("{:<16} {:>6} {:>6} {:>10}\n", "model", "token", "notes", "right");
  PlotPanel panel{.title = "notes of a returning motif that are predicted",
                  .x_label = "tokens into the piece",
                  .y_label = "%",
                  .linear_x = true,
                  .linear_y = true,
                  .series = {}};
  for (const std::string& model : arguments.models) {
    panel.series.push_back(measure(model, arguments.options));
  }
  if (arguments.trained > 0) {
    const auto x = static_cast<double>(arguments.trained);
    panel.series.push_back({.name = "trained", .points = {{x, 0.0}, {x, 100.0}}, .dashed = true});
  }
  if (!arguments.svg.empty()) {
    write_file(arguments.svg,
               render_svg({.title = "Keeping a motif",
                           .subtitle = "pieces composed by rules, not in the training data",
                           .dashed_legend = arguments.trained > 0 ? "length of training" : "",
                           .panels = {panel}}));
  }
}

}  // namespace

void add_music_motif(Command& music) {
  auto arguments = std::make_shared<MotifArguments>();
  Command command =
      music.subcommand("motif", "Measure how well models remember a motif that returns");
  command.option("MODEL", arguments->models, "model folders, or NAME=FOLDER").required();
  command.option("--pieces", arguments->options.pieces, "number of pieces to test with")
      .range(1, 100000)
      .show_default();
  command.option("--sections", arguments->options.sections, "length of a piece, in sections")
      .range(4, 100000)
      .show_default();
  command.option("--bucket", arguments->options.bucket, "tokens per row of the table")
      .range(1, 1 << 20)
      .show_default();
  command.option("--trained", arguments->trained, "mark this length in the plot").not_negative();
  command.option("--svg", arguments->svg, "plot to write").value_name("FILE");
  command.example("Compare two models",
                  "heed music motif relative=runs/music-demo plain=runs/music-demo-plain --svg "
                  "motif.svg");
  command.action([arguments] { run(*arguments); });
}

}  // namespace heed::cli
