#include "formats/run_log.h"

#include <fstream>
#include <limits>
#include <string_view>

#include "base/config.h"
#include "base/error.h"
#include "base/file.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kValid = "valid_";

Json to_json(const LoggedStep& line) {
  return {{"step", line.step},
          {"epoch", line.epoch},
          {"loss", line.loss},
          {"learning_rate", line.learning_rate},
          {"gradient_norm", line.gradient_norm},
          {"tokens_per_second", line.tokens_per_second},
          {"seconds", line.seconds}};
}

Json to_json(const LoggedValidation& line) {
  Json json{{"step", line.step}, {"valid_loss", line.loss}};
  if (!line.metric.empty()) {
    json[std::string(kValid) + line.metric] = line.value;
  }
  if (!line.example.empty()) {
    json["example"] = line.example;
  }
  json["seconds"] = line.seconds;
  for (const LoggedMeasure& measure : line.measures) {
    json["measures"][measure.name] = measure.value;
  }
  return json;
}

Json to_json(const LoggedSkip& line) { return {{"step", line.step}, {"skipped", line.skipped}}; }

// JSON has null for a number that is not finite.
double number(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end()) {
    return 0.0;
  }
  return found->is_number() ? found->get<double>() : std::numeric_limits<double>::quiet_NaN();
}

int64_t whole(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_number_integer() ? found->get<int64_t>() : 0;
}

LoggedValidation validation_of(const Json& json) {
  LoggedValidation line{.step = whole(json, "step"),
                        .loss = number(json, "valid_loss"),
                        .seconds = number(json, "seconds")};
  for (const auto& [key, value] : json.items()) {
    if (key == "example" && value.is_string()) {
      line.example = value.get<std::string>();
    } else if (key.starts_with(kValid) && key != "valid_loss" && value.is_number()) {
      line.metric = key.substr(kValid.size());
      line.value = value.get<double>();
    } else if (key == "measures" && value.is_object()) {
      for (const auto& measured : value.items()) {
        line.measures.push_back({measured.key(), number(value, measured.key().c_str())});
      }
    }
  }
  return line;
}

LoggedStep step_of(const Json& json) {
  return {.step = whole(json, "step"),
          .epoch = number(json, "epoch"),
          .loss = number(json, "loss"),
          .learning_rate = number(json, "learning_rate"),
          .gradient_norm = number(json, "gradient_norm"),
          .tokens_per_second = number(json, "tokens_per_second"),
          .seconds = number(json, "seconds")};
}

// Calls body(text, json) for every line that is whole.
template <typename Body>
void for_each_line(const fs::path& file, const Body& body) {
  std::ifstream lines(file);
  for (std::string text; std::getline(lines, text);) {
    const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (json.is_object()) {
      body(text, json);
    }
  }
}

}  // namespace

std::string RunLog::metric() const {
  for (const LoggedValidation& validation : validations) {
    if (!validation.metric.empty()) {
      return validation.metric;
    }
  }
  return "";
}

fs::path run_log_file(const fs::path& run) { return run / "log.jsonl"; }

void append_to_run_log(const fs::path& run, const LogLine& line) {
  const fs::path path = run_log_file(run);
  const Json json = std::visit([](const auto& typed) { return to_json(typed); }, line);
  std::ofstream file(path, std::ios::app);
  // An example may end in the middle of a character.
  file << json.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
  file.flush();
  check(file.good(), "[train] cannot write {}", path.string());
}

RunLog read_run_log(const fs::path& run) {
  RunLog log;
  for_each_line(run_log_file(run), [&](const std::string&, const Json& json) {
    if (json.contains("valid_loss")) {
      log.validations.push_back(validation_of(json));
    } else if (json.contains("loss")) {
      log.steps.push_back(step_of(json));
    } else if (json.contains("skipped")) {
      log.skips.push_back({.step = whole(json, "step"), .skipped = whole(json, "skipped")});
    }
  });
  return log;
}

void truncate_run_log(const fs::path& run, int64_t step) {
  const fs::path file = run_log_file(run);
  if (!fs::exists(file)) {
    return;
  }
  std::string kept;
  for_each_line(file, [&](const std::string& text, const Json& json) {
    kept += whole(json, "step") <= step ? text + "\n" : "";
  });
  write_file(file, kept);
}

}  // namespace heed
