#include "cli/curves.h"

#include <fstream>

#include "base/config.h"
#include "base/error.h"
#include "base/file.h"
#include "cli/plot.h"

namespace heed::cli {
namespace {

// One value of the log against the step.
std::vector<PlotPoint> read_curve(const std::filesystem::path& folder, const char* key) {
  std::vector<PlotPoint> points;
  std::ifstream stream(folder / "log.jsonl");
  for (std::string line; std::getline(stream, line);) {
    const Json json = Json::parse(line, nullptr, false);
    if (json.is_discarded()) {
      continue;  // a line that a killed run left unfinished
    }
    if (json.contains(key) && json[key].is_number() && json[key] >= 0.0) {
      points.push_back({json.value("step", 0.0), json[key].get<double>()});
    }
  }
  return points;
}

void add_panel(Plot& plot, const char* title, const char* y_label, std::vector<PlotSeries> series) {
  std::erase_if(series, [](const PlotSeries& s) { return s.points.size() < 2; });
  if (!series.empty()) {
    plot.panels.push_back({.title = title,
                           .x_label = "step",
                           .y_label = y_label,
                           .linear = true,
                           .series = std::move(series)});
  }
}

constexpr const char* kLossLabel = "per target token, nats";

}  // namespace

void write_curves(const std::filesystem::path& folder) {
  Plot plot{.title = "Learning curves", .subtitle = folder.filename().string()};
  add_panel(plot, "Loss", kLossLabel,
            {{.name = "training", .points = read_curve(folder, "loss")},
             {.name = "validation", .points = read_curve(folder, "valid_loss")}});
  add_panel(plot, "BLEU", "BLEU",
            {{.name = "validation", .points = read_curve(folder, "valid_bleu")}});
  if (!plot.panels.empty()) {
    write_file(folder / "curves.svg", render_svg(plot));
  }
}

void compare_curves(const std::vector<NamedRun>& runs, const std::filesystem::path& picture) {
  std::vector<PlotSeries> losses;
  std::vector<PlotSeries> scores;
  for (const NamedRun& run : runs) {
    check(std::filesystem::exists(run.folder / "log.jsonl"), "[compare] {} has no log.jsonl",
          run.folder.string());
    losses.push_back({.name = run.name, .points = read_curve(run.folder, "valid_loss")});
    scores.push_back({.name = run.name, .points = read_curve(run.folder, "valid_bleu")});
  }
  Plot plot{.title = "Learning curves", .subtitle = "on held-out sentences"};
  add_panel(plot, "Validation loss", kLossLabel, std::move(losses));
  add_panel(plot, "Validation BLEU", "BLEU", std::move(scores));
  check(!plot.panels.empty(), "[compare] none of the runs has two validations");
  write_file(picture, render_svg(plot));
}

}  // namespace heed::cli
