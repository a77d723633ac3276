#include "cli/shared_lines.h"

#include <fmt/core.h>

#include <cstdio>
#include <filesystem>
#include <numeric>

#include "base/error.h"
#include "cli/command.h"
#include "cli/signals.h"
#include "mesh/launch.h"

namespace heed::cli {
namespace {

// Most lines of a part: enough to sort them into batches of like lengths, few enough for the
// processes to meet within minutes.
constexpr int64_t kLongestPart = 512;

constexpr int kChannel = 0;

// The file, if every process can read it: a pipe gives each line to one of them only.
const std::string& readable_by_all(const std::string& file, const Group& processes) {
  std::error_code missing;  // which whoever opens it says
  const bool shareable = file != "-" && (!std::filesystem::exists(file, missing) ||
                                         std::filesystem::is_regular_file(file, missing));
  check(processes.alone() || shareable || std::filesystem::is_directory(file, missing),
        "[lines] {} processes cannot share {}: give a file", processes.size(),
        file == "-" ? "standard input" : file);
  return file;
}

int64_t count_lines(const std::string& file) {
  LineReader reader(file);
  for (std::string line; reader.next(line);) {
  }
  return reader.line_number();
}

// The number of lines, which is the same for all processes unless they see different files.
int64_t agreed_lines(const std::string& file, const Group& processes) {
  const int64_t lines = count_lines(file);
  const std::vector<double> counts = processes.gather(static_cast<double>(lines));
  for (size_t i = 0; i < counts.size(); ++i) {
    check(static_cast<int64_t>(counts[i]) == lines,
          "[lines] {} has {} lines for process {} and {} for process {}: give all of them the same "
          "file",
          file, lines, processes.index(), counts[i], i);
  }
  return lines;
}

}  // namespace

void add_output(Command& command, std::string& output) {
  command
      .option("--output", output,
              "file for the results, which appears when all of them are there (default: standard "
              "output)")
      .value_name("FILE");
}

void add_deadline(Command& command, double& deadline) {
  command
      .option("--deadline", deadline,
              "with mpirun: seconds that processes wait for one that does not answer")
      .range(1, 1e6)
      .show_default()
      .value_name("SECONDS");
}

Group open_processes(double deadline) {
  Transport* transport = open_transport();
  if (transport == nullptr) {
    return {};
  }
  transport->set_deadline(deadline);
  std::vector<int> everybody(static_cast<size_t>(transport->size()));
  std::iota(everybody.begin(), everybody.end(), 0);
  return {*transport, everybody, kChannel};
}

TextOutput::TextOutput(const std::string& file) : name_(file) { check_output(file); }

void TextOutput::open() {
  if (!name_.empty()) {
    end_on_signal();  // and leave no temporary file
    file_.emplace(name_);
  }
}

void TextOutput::write(std::string_view results) {
  if (file_) {
    file_->write(results);
  } else {
    fmt::print("{}", results);
  }
}

void TextOutput::finish() {
  if (file_) {
    file_->commit();
  }
}

SharedLines::SharedLines(const std::string& file, LineOutput& output, const Group& processes)
    : processes_(processes), output_(output), reader_(readable_by_all(file, processes)) {
  if (!processes_.alone()) {
    lines_ = agreed_lines(file, processes_);
    const int64_t most = kLongestPart * processes_.size();  // lines of a round
    rounds_ = (lines_ + most - 1) / most;
  }
  if (processes_.index() == 0) {
    output_.open();
  }
}

// All parts of all rounds are as equal as can be, and the first one is never empty.
int64_t SharedLines::begin_of(int64_t part) const {
  const int64_t parts = rounds_ * processes_.size();
  return (lines_ * part + parts - 1) / parts;
}

bool SharedLines::next_pool(std::vector<std::string>& pool) {
  if (has_pool_) {
    hand_over();
  }
  if (processes_.alone()) {
    before_ = reader_.share();
    first_line_ = reader_.line_number() + 1;
    has_pool_ = reader_.next_pool(kLinePool, pool);
    return has_pool_;
  }
  while (read_part(pool)) {
    if (!pool.empty()) {
      has_pool_ = true;
      return true;
    }
    hand_over();  // of fewer lines than processes: the others are not to wait for this one
  }
  return false;
}

// False if there are no more rounds.
bool SharedLines::read_part(std::vector<std::string>& pool) {
  pool.clear();
  if (round_ == rounds_) {
    return false;
  }
  const int64_t part = round_++ * processes_.size() + processes_.index();
  const int64_t begin = begin_of(part);
  const int64_t end = begin_of(part + 1);
  for (std::string line; reader_.line_number() < end;) {
    check(reader_.next(line), "[lines] {} has lost lines: it had {}, and now ends with line {}",
          name(), lines_, reader_.line_number());
    if (reader_.line_number() > begin) {
      pool.push_back(line);
    }
  }
  first_line_ = begin + 1;
  return true;
}

void SharedLines::print(std::string_view results) {
  if (processes_.alone()) {
    output_.write(results);
  } else {
    results_ += results;
  }
}

void SharedLines::warn(std::string_view warnings) {
  if (processes_.alone()) {
    fmt::print(stderr, "{}", warnings);
  } else {
    warnings_ += warnings;
  }
}

void SharedLines::write(std::string_view warnings, std::string_view results) {
  if (!warnings.empty()) {
    fmt::print(stderr, "{}", warnings);
  }
  output_.write(results);
}

void SharedLines::hand_over() {
  has_pool_ = false;
  if (processes_.index() > 0) {
    processes_.send(warnings_, 0);
    processes_.send(results_, 0);
  } else if (!processes_.alone()) {
    write(warnings_, results_);
    for (int process = 1; process < processes_.size(); ++process) {
      const std::string warnings = processes_.receive(process);
      write(warnings, processes_.receive(process));
    }
  }
  std::fflush(stdout);
  warnings_.clear();
  results_.clear();
}

void SharedLines::finish() {
  if (processes_.index() == 0) {
    output_.finish();
  }
}

double SharedLines::share(double of_pool) const {
  if (processes_.alone()) {
    return reader_.share() > 0.0 ? before_ + of_pool * (reader_.share() - before_) : 0.0;
  }
  return (static_cast<double>(round_) - 1.0 + of_pool) / static_cast<double>(rounds_);
}

}  // namespace heed::cli
