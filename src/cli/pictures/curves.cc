#include "cli/pictures/curves.h"

#include <fstream>

#include "base/config.h"
#include "base/error.h"
#include "base/file.h"
#include "cli/pictures/plot.h"

namespace heed::cli {
namespace {

const std::string kValid = "valid_";
const std::string kValidLoss = "valid_loss";

std::vector<Json> read_log(const std::filesystem::path& folder) {
  std::vector<Json> lines;
  std::ifstream stream(folder / "log.jsonl");
  for (std::string line; std::getline(stream, line);) {
    Json json = Json::parse(line, nullptr, false);
    if (json.is_object()) {  // not a line that a killed run left unfinished
      lines.push_back(std::move(json));
    }
  }
  return lines;
}

// One value of the log against the step.
std::vector<PlotPoint> curve(const std::vector<Json>& log, const std::string& key) {
  std::vector<PlotPoint> points;
  for (const Json& line : log) {
    if (line.contains(key) && line[key].is_number()) {
      points.push_back({line.value("step", 0.0), line[key].get<double>()});
    }
  }
  return points;
}

// What validations measured besides the loss; empty: nothing.
std::string metric_of(const std::vector<Json>& log) {
  for (const Json& line : log) {
    for (const auto& item : line.items()) {
      if (item.key().starts_with(kValid) && item.key() != kValidLoss) {
        return item.key().substr(kValid.size());
      }
    }
  }
  return "";
}

void add_panel(Plot& plot, const std::string& title, const std::string& y_label,
               std::vector<PlotSeries> series) {
  std::erase_if(series, [](const PlotSeries& s) { return s.points.size() < 2; });
  if (!series.empty()) {
    plot.panels.push_back({.title = title,
                           .x_label = "step",
                           .y_label = y_label,
                           .linear = true,
                           .series = std::move(series)});
  }
}

constexpr const char* kLossLabel = "per target, nats";

}  // namespace

std::string title_of(const std::string& metric) { return metric == "bleu" ? "BLEU" : metric; }

void write_curves(const std::filesystem::path& folder) {
  Plot plot{.title = "Learning curves", .subtitle = folder.filename().string()};
  const std::vector<Json> log = read_log(folder);
  const std::string metric = metric_of(log);
  add_panel(plot, "Loss", kLossLabel,
            {{.name = "training", .points = curve(log, "loss")},
             {.name = "validation", .points = curve(log, kValidLoss)}});
  add_panel(plot, title_of(metric), title_of(metric),
            {{.name = "validation", .points = curve(log, kValid + metric)}});
  if (!plot.panels.empty()) {
    write_file(folder / "curves.svg", render_svg(plot));
  }
}

void compare_curves(const std::vector<NamedRun>& runs, const std::filesystem::path& picture) {
  std::vector<PlotSeries> losses;
  std::vector<PlotSeries> scores;
  std::string metric;
  for (const NamedRun& run : runs) {
    check(std::filesystem::exists(run.folder / "log.jsonl"), "[compare] {} has no log.jsonl",
          run.folder.string());
    const std::vector<Json> log = read_log(run.folder);
    metric = metric.empty() ? metric_of(log) : metric;
    losses.push_back({.name = run.name, .points = curve(log, kValidLoss)});
    scores.push_back({.name = run.name, .points = curve(log, kValid + metric)});
  }
  Plot plot{.title = "Learning curves", .subtitle = "on held-out sentences"};
  add_panel(plot, "Validation loss", kLossLabel, std::move(losses));
  add_panel(plot, "Validation " + title_of(metric), title_of(metric), std::move(scores));
  check(!plot.panels.empty(), "[compare] none of the runs has two validations");
  write_file(picture, render_svg(plot));
}

}  // namespace heed::cli
