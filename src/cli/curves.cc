#include "cli/curves.h"

#include <fstream>

#include "base/config.h"
#include "base/file.h"
#include "cli/plot.h"

namespace heed::cli {
namespace {

struct Curves {
  PlotSeries loss{.name = "training", .points = {}};
  PlotSeries valid_loss{.name = "validation", .points = {}};
  PlotSeries bleu{.name = "validation BLEU", .points = {}};
};

Curves read_log(const std::filesystem::path& log) {
  Curves curves;
  std::ifstream stream(log);
  for (std::string line; std::getline(stream, line);) {
    const Json json = Json::parse(line, nullptr, false);
    if (json.is_discarded()) {
      continue;  // a line that a killed run left unfinished
    }
    const auto add = [&](const char* key, PlotSeries& series) {
      if (json.contains(key) && json[key].is_number() && json[key] >= 0.0) {
        series.points.push_back({json.value("step", 0.0), json[key].get<double>()});
      }
    };
    add("loss", curves.loss);
    add("valid_loss", curves.valid_loss);
    add("valid_bleu", curves.bleu);
  }
  return curves;
}

}  // namespace

void write_curves(const std::filesystem::path& log, const std::filesystem::path& picture) {
  const Curves curves = read_log(log);
  Plot plot{.title = "Learning curves", .subtitle = picture.parent_path().filename().string()};
  const auto panel = [&](const char* title, const char* y_label, std::vector<PlotSeries> series) {
    std::erase_if(series, [](const PlotSeries& s) { return s.points.size() < 2; });
    if (!series.empty()) {
      plot.panels.push_back({.title = title,
                             .x_label = "step",
                             .y_label = y_label,
                             .linear = true,
                             .series = std::move(series)});
    }
  };
  panel("Loss", "per target token, nats", {curves.loss, curves.valid_loss});
  panel("BLEU", "BLEU", {curves.bleu});
  if (!plot.panels.empty()) {
    write_file(picture, render_svg(plot));
  }
}

}  // namespace heed::cli
