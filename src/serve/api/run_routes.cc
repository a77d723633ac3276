#include "serve/api/run_routes.h"

#include <algorithm>
#include <chrono>
#include <fstream>

#include "base/error.h"
#include "serve/api/exchange.h"

namespace heed::serve {
namespace {

constexpr size_t kMostPoints = 1000;         // of a curve that is sent
constexpr std::chrono::minutes kSilence{3};  // after which nobody seems to train any more

struct RunLog {
  Json metrics = Json::array();
  Json validation = Json::array();
};

// A line of the log as a point of the validation curve: {"step", "loss", "metric", "value"}.
Json validation_point(const Json& line) {
  Json point{{"step", line.value("step", 0)}, {"loss", line["valid_loss"]}};
  for (const auto& [key, value] : line.items()) {
    if (key == "example") {
      point["example"] = value;
    } else if (key.starts_with("valid_") && key != "valid_loss" && value.is_number()) {
      point["metric"] = key.substr(std::string("valid_").size());
      point["value"] = value;
    }
  }
  return point;
}

RunLog read_log(const std::filesystem::path& file) {
  RunLog log;
  std::ifstream lines(file);
  for (std::string text; std::getline(lines, text);) {
    const Json line = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!line.is_object()) {
      continue;  // the last line may be half written
    }
    if (line.contains("valid_loss")) {
      log.validation.push_back(validation_point(line));
    } else if (line.contains("loss")) {
      log.metrics.push_back({{"step", line.value("step", 0)},
                             {"epoch", line.value("epoch", 0.0)},
                             {"loss", line["loss"]},
                             {"rate", line.value("learning_rate", 0.0)},
                             {"tokens_per_second", line.value("tokens_per_second", 0.0)},
                             {"seconds", line.value("seconds", 0.0)}});
    }
  }
  return log;
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

std::string task_of(const std::filesystem::path& folder) {
  std::ifstream file(folder / "recipe.json");
  const Json recipe = Json::parse(file, nullptr, /*allow_exceptions=*/false);
  return recipe.is_object() ? recipe.value("task", "") : "";
}

// A training writes its log every few seconds, and the model's folder is whole at its end.
std::string state_of(const std::filesystem::path& folder) {
  std::error_code error;
  const auto written = std::filesystem::last_write_time(folder / "log.jsonl", error);
  if (error) {
    return "waiting";
  }
  const auto silent = std::filesystem::file_time_type::clock::now() - written;
  return silent < kSilence ? "training" : "finished";
}

Json describe_run(const FollowedRun& run) {
  const RunLog log = read_log(run.folder / "log.jsonl");
  return {{"name", run.name},
          {"task", task_of(run.folder)},
          {"state", state_of(run.folder)},
          {"step", log.metrics.empty() ? Json(0) : log.metrics.back()["step"]},
          {"metrics", thinned(log.metrics)},
          {"validation", thinned(log.validation)}};
}

}  // namespace

void add_run(std::vector<FollowedRun>& runs, const std::filesystem::path& folder) {
  check(std::filesystem::is_directory(folder), "[serve] {} is no folder of a training",
        folder.string());
  const std::filesystem::path whole = std::filesystem::canonical(folder);
  const std::string name = whole.filename().string();
  for (const FollowedRun& other : runs) {
    check(other.name != name, "[serve] two runs are called {}", name);
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
      throw HttpError(404, "there is no run " + shown(Json(request.path_parts.front())), {},
                      "run_not_found");
    }
    return json_response(describe_run(*found));
  });
}

}  // namespace heed::serve
