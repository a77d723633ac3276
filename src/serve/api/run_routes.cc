#include "serve/api/run_routes.h"

#include <algorithm>
#include <fstream>

#include "base/error.h"
#include "base/folder.h"
#include "formats/run_log.h"
#include "serve/api/exchange.h"

namespace heed::serve {
namespace {

constexpr size_t kMostPoints = 1000;  // of a curve that is sent

Json metrics_of(const RunLog& log) {
  Json points = Json::array();
  for (const LoggedStep& line : log.steps) {
    points.push_back({{"step", line.step},
                      {"epoch", line.epoch},
                      {"loss", line.loss},
                      {"rate", line.learning_rate},
                      {"tokens_per_second", line.tokens_per_second},
                      {"seconds", line.seconds}});
  }
  return points;
}

Json validation_of(const RunLog& log) {
  Json points = Json::array();
  for (const LoggedValidation& line : log.validations) {
    Json point{{"step", line.step}, {"loss", line.loss}};
    if (!line.metric.empty()) {
      point["metric"] = line.metric;
      point["value"] = line.value;
    }
    if (!line.example.empty()) {
      point["example"] = line.example;
    }
    points.push_back(std::move(point));
  }
  return points;
}

// At most kMostPoints of them, the last one among these.
Json thinned(const Json& points) {
  const size_t every = points.size() / kMostPoints + 1;
  Json kept = Json::array();
  for (size_t i = 0; i < points.size(); ++i) {
    if ((points.size() - 1 - i) % every == 0) {
      kept.push_back(points[i]);
    }
  }
  return kept;
}

// Empty while the training has not written it.
Json recipe_of(const std::filesystem::path& folder) {
  std::ifstream file(folder / "recipe.json");
  const Json recipe = Json::parse(file, nullptr, /*allow_exceptions=*/false);
  return recipe.is_object() ? recipe : Json::object();
}

std::string task_of(const std::filesystem::path& folder) {
  return recipe_of(folder).value("task", "");
}

// The loss of the training is smoothed, that of the validation is not.
double label_smoothing_of(const std::filesystem::path& folder) {
  return recipe_of(folder).value(Json::json_pointer("/train/label_smoothing"), 0.0);
}

// A training locks its folder from the beginning to the end, also while it validates and tests,
// which it does not log for a while.
std::string state_of(const std::filesystem::path& folder) {
  if (!std::filesystem::exists(run_log_file(folder))) {
    return "waiting";
  }
  return FolderLock::is_held(folder) ? "training" : "finished";
}

Json describe_run(const FollowedRun& run) {
  const RunLog log = read_run_log(run.folder);
  return {{"name", run.name},
          {"task", task_of(run.folder)},
          {"state", state_of(run.folder)},
          {"label_smoothing", label_smoothing_of(run.folder)},
          {"step", log.steps.empty() ? 0 : log.steps.back().step},
          {"metrics", thinned(metrics_of(log))},
          {"validation", thinned(validation_of(log))}};
}

}  // namespace

void add_run(std::vector<FollowedRun>& runs, const std::filesystem::path& folder) {
  check(std::filesystem::is_directory(folder),
        "[serve] {} is not a run folder: there is no such directory", folder.string());
  const std::filesystem::path whole = std::filesystem::canonical(folder);
  const std::string name = whole.filename().string();
  for (const FollowedRun& other : runs) {
    check(other.name != name, "[serve] two runs are named {}; rename one of the folders", name);
  }
  runs.push_back({name, whole});
}

void add_run_routes(HttpServer& server, const std::vector<FollowedRun>& runs) {
  server.route("GET", "/v1/runs", [runs](const HttpRequest&) {
    Json list = Json::array();
    for (const FollowedRun& run : runs) {
      list.push_back(
          {{"name", run.name}, {"task", task_of(run.folder)}, {"state", state_of(run.folder)}});
    }
    return json_response({{"runs", list}});
  });
  server.route("GET", "/v1/runs/{}", [runs](const HttpRequest& request) {
    const auto found = std::find_if(runs.begin(), runs.end(), [&](const FollowedRun& run) {
      return run.name == request.path_parts.front();
    });
    if (found == runs.end()) {
      throw HttpError(404, "there is no run named " + shown(Json(request.path_parts.front())), {},
                      "run_not_found");
    }
    return json_response(describe_run(*found));
  });
}

}  // namespace heed::serve
