#include "cli/pictures/curves.h"

#include <cmath>

#include "base/error.h"
#include "base/file.h"
#include "cli/pictures/plot.h"
#include "formats/run_log.h"

namespace heed::cli {
namespace {

std::vector<PlotPoint> training_losses(const RunLog& log) {
  std::vector<PlotPoint> points;
  for (const LoggedStep& line : log.steps) {
    points.push_back({static_cast<double>(line.step), line.loss});
  }
  return points;
}

std::vector<PlotPoint> validation_losses(const RunLog& log) {
  std::vector<PlotPoint> points;
  for (const LoggedValidation& line : log.validations) {
    points.push_back({static_cast<double>(line.step), line.loss});
  }
  return points;
}

std::vector<PlotPoint> validation_scores(const RunLog& log, const std::string& metric) {
  std::vector<PlotPoint> points;
  for (const LoggedValidation& line : log.validations) {
    if (!metric.empty() && line.metric == metric) {
      points.push_back({static_cast<double>(line.step), line.value});
    }
  }
  return points;
}

void add_panel(Plot& plot, const std::string& title, const std::string& y_label,
               std::vector<PlotSeries> series) {
  for (PlotSeries& one : series) {
    std::erase_if(one.points, [](const PlotPoint& point) { return !std::isfinite(point.y); });
  }
  std::erase_if(series, [](const PlotSeries& s) { return s.points.size() < 2; });
  if (!series.empty()) {
    plot.panels.push_back({.title = title,
                           .x_label = "step",
                           .y_label = y_label,
                           .linear_x = true,
                           .linear_y = true,
                           .series = std::move(series)});
  }
}

constexpr const char* kLossLabel = "per target, nats";

}  // namespace

std::string title_of(const std::string& metric) { return metric == "bleu" ? "BLEU" : metric; }

void write_curves(const std::filesystem::path& folder) {
  Plot plot{.title = "Learning curves", .subtitle = folder.filename().string()};
  const RunLog log = read_run_log(folder);
  const std::string metric = log.metric();
  add_panel(plot, "Loss", kLossLabel,
            {{.name = "training", .points = training_losses(log)},
             {.name = "validation", .points = validation_losses(log)}});
  add_panel(plot, title_of(metric), title_of(metric),
            {{.name = "validation", .points = validation_scores(log, metric)}});
  if (!plot.panels.empty()) {
    write_file(folder / "curves.svg", render_svg(plot));
  }
}

void compare_curves(const std::vector<NamedRun>& runs, const std::filesystem::path& picture) {
  std::vector<PlotSeries> losses;
  std::vector<PlotSeries> scores;
  std::string metric;
  for (const NamedRun& run : runs) {
    check(std::filesystem::exists(run_log_file(run.folder)), "[compare] {} has no log.jsonl",
          run.folder.string());
    const RunLog log = read_run_log(run.folder);
    metric = metric.empty() ? log.metric() : metric;
    losses.push_back({.name = run.name, .points = validation_losses(log)});
    scores.push_back({.name = run.name, .points = validation_scores(log, metric)});
  }
  Plot plot{.title = "Learning curves", .subtitle = "on held-out sentences"};
  add_panel(plot, "Validation loss", kLossLabel, std::move(losses));
  add_panel(plot, "Validation " + title_of(metric), title_of(metric), std::move(scores));
  check(!plot.panels.empty(), "[compare] none of the runs has two validations");
  write_file(picture, render_svg(plot));
}

}  // namespace heed::cli
