// The log of a training, log.jsonl in its run folder: a JSON object a line, written while it runs.
//
// Whoever reads it may do so while it is being written: a line that is not whole is left out.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

namespace heed {

struct LoggedStep {
  int64_t step = 0;
  double epoch = 0.0;
  double loss = 0.0;
  double learning_rate = 0.0;
  double gradient_norm = 0.0;
  double tokens_per_second = 0.0;
  double seconds = 0.0;  // trained so far
};

struct LoggedMeasure {
  std::string name;  // "code_usage", ...
  double value = 0.0;
};

struct LoggedValidation {
  int64_t step = 0;
  double loss = 0.0;
  std::string metric = {};  // "bleu", ...; empty: only the loss was measured
  double value = 0.0;       // of the metric
  std::string example = {};
  double seconds = 0.0;
  std::vector<LoggedMeasure> measures = {};
};

// A step whose loss was not finite.
struct LoggedSkip {
  int64_t step = 0;
  int64_t skipped = 0;  // so far
};

using LogLine = std::variant<LoggedStep, LoggedValidation, LoggedSkip>;

struct RunLog {
  std::vector<LoggedStep> steps;
  std::vector<LoggedValidation> validations;
  std::vector<LoggedSkip> skips;

  std::string metric() const;  // of the first validation that has one
};

std::filesystem::path run_log_file(const std::filesystem::path& run);

void append_to_run_log(const std::filesystem::path& run, const LogLine& line);
RunLog read_run_log(const std::filesystem::path& run);  // empty if there is none yet
// Drops the lines past a step: what a resumed run writes again.
void truncate_run_log(const std::filesystem::path& run, int64_t step);

}  // namespace heed
