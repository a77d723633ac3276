#include "cli/train_progress.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "cli/pictures/curves.h"
#include "cli/terminal.h"

namespace heed::cli {
namespace {

constexpr const char* kErase = "\r\x1b[K";
constexpr const char* kGreen = "\x1b[32m";
constexpr const char* kCyan = "\x1b[36m";
constexpr const char* kPlain = "\x1b[0m";

double mebibytes(size_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

}  // namespace

std::string format_seconds(double seconds) {
  if (!(seconds >= 0.0) || seconds > 1e8) {
    return "?";
  }
  const auto whole = static_cast<int64_t>(std::lround(seconds));
  const int64_t hours = whole / 3600;
  return hours > 0 ? fmt::format("{}:{:02}:{:02}", hours, whole / 60 % 60, whole % 60)
                   : fmt::format("{}:{:02}", whole / 60, whole % 60);
}

TrainProgress::TrainProgress(std::filesystem::path folder)
    : folder_(std::move(folder)), terminal_(errors_on_terminal()), colour_(errors_in_colour()) {
  if (terminal_) {
    thread_ = std::jthread([this](const std::stop_token& stop) { redraw_until_stopped(stop); });
  }
}

TrainProgress::~TrainProgress() { end(); }

void TrainProgress::redraw_until_stopped(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    draw();
    ended_.wait_for(lock, stop, std::chrono::milliseconds(200), [] { return false; });
  }
}

void TrainProgress::erase_drawn() {
  if (drawn_) {
    fmt::print(stderr, "{}", kErase);
    drawn_ = false;
  }
}

void TrainProgress::line(const std::string& text) {
  erase_drawn();
  fmt::print(stderr, "{}\n", terminal_ ? broken_into_lines(text, terminal_columns()) : text);
  std::fflush(stderr);
}

// What is known of the training, without the bar.
std::string TrainProgress::bar_text() const {
  const std::string total = total_steps_ ? fmt::format("/{}", *total_steps_) : "";
  const std::string left =
      at_.seconds_left < 0 ? "" : fmt::format(" left {}", format_seconds(at_.seconds_left));
  return fmt::format("{:3.0f}% step {}{}{}{}", 100 * std::clamp(at_.done, 0.0, 1.0), at_.step,
                     total, step_text_, left);
}

// One line that is shorter than the terminal is wide: at the last column some begin a new one.
void TrainProgress::draw() {
  if (doing_.empty()) {
    return;
  }
  constexpr std::string_view kTurning = "|/-\\";
  constexpr size_t kLongestBar = 24;
  const size_t columns = terminal_columns() - 1;
  const char turning = kTurning[turns_++ % kTurning.size()];
  const double seconds = std::chrono::duration<double>(Clock::now() - since_).count();
  erase_drawn();
  if (training_) {
    const std::string text = cut_to(bar_text(), columns - std::min<size_t>(columns, 2));
    const size_t taken = characters_in(text) + 5;  // "[", "] ", and what turns
    const size_t length = std::min(kLongestBar, columns - std::min(columns, taken));
    const auto filled =
        static_cast<size_t>(std::clamp(at_.done, 0.0, 1.0) * static_cast<double>(length));
    const std::string bar =
        length == 0 ? ""
                    : fmt::format("[{}{}{}{}] ", colour_ ? kGreen : "", std::string(filled, '#'),
                                  colour_ ? kPlain : "", std::string(length - filled, '.'));
    fmt::print(stderr, "{} {}{}", turning, bar, text);
  } else {
    const std::string spent = " " + format_seconds(seconds);
    const size_t room = columns - std::min(columns, spent.size() + 2);
    fmt::print(stderr, "{} {}{}{}{}", turning, colour_ ? kCyan : "", cut_to(doing_, room),
               colour_ ? kPlain : "", spent);
  }
  std::fflush(stderr);
  drawn_ = true;
}

void TrainProgress::doing(const std::string& what) {
  const std::lock_guard lock(mutex_);
  doing_ = what;
  training_ = false;
  since_ = Clock::now();
  if (terminal_) {
    draw();
  } else if (!reporting_) {
    line(what);
  }
}

void TrainProgress::end() {
  const std::lock_guard lock(mutex_);
  erase_drawn();
  std::fflush(stderr);
  doing_.clear();
  reporting_ = false;
}

void TrainProgress::noted(const std::string& text) {
  const std::lock_guard lock(mutex_);
  line(text);
}

void TrainProgress::started(const RunReport& report) {
  const std::lock_guard lock(mutex_);
  line(
      fmt::format("parameters {:.2f} million; memory about {:.1f} MiB: weights and gradients "
                  "{:.1f}, optimizer {:.1f}, one batch {:.1f}",
                  static_cast<double>(report.parameters) / 1e6,
                  mebibytes(report.weight_bytes + report.optimizer_bytes + report.activation_bytes),
                  mebibytes(report.weight_bytes), mebibytes(report.optimizer_bytes),
                  mebibytes(report.activation_bytes)));
  std::istringstream skipped(report.skipped);
  for (std::string text; std::getline(skipped, text);) {
    line(text);
  }
  if (report.epoch_batches) {
    line(fmt::format("an epoch has {} batches{}", *report.epoch_batches,
                     report.total_steps ? fmt::format("; {} steps in all", *report.total_steps)
                                        : std::string()));
  }
  if (report.resumed_from > 0) {
    line(fmt::format("continuing after step {}", report.resumed_from));
  }
  total_steps_ = report.total_steps;
  at_.step = report.resumed_from;
  if (total_steps_.value_or(0) > 0) {
    at_.done = static_cast<double>(at_.step) / static_cast<double>(*total_steps_);
  }
  reporting_ = true;
  training_ = true;
  doing_ = "training";
}

void TrainProgress::advanced(const Advance& advance) {
  const std::lock_guard lock(mutex_);
  at_ = advance;
  training_ = true;
  doing_ = "training";
}

void TrainProgress::stepped(const StepReport& report) {
  const std::lock_guard lock(mutex_);
  if (terminal_) {
    step_text_ = fmt::format(" loss {:.4f} {:.0f} tokens/s", report.loss, report.tokens_per_second);
    return;
  }
  line(fmt::format("step {} epoch {:.2f} loss {:.4f} {:.0f} tokens/s rate {:.2e} left {}",
                   report.step, report.epoch, report.loss, report.tokens_per_second,
                   report.learning_rate, format_seconds(report.seconds_left)));
}

void TrainProgress::validated(const ValidationReport& report) {
  const std::string& metric = report.score.metric;
  std::string text = fmt::format("step {} validation loss {:.4f}", report.step, report.score.loss);
  if (metric.empty() || metric == "bleu") {  // the loss is that of words
    text += fmt::format(" perplexity {:.2f}", std::exp(report.score.loss));
  }
  if (!metric.empty()) {
    text += fmt::format(" {} {:.{}f}", title_of(metric), report.score.value,
                        metric == "bleu" ? 2 : 4);  // BLEU is a percentage, the others are shares
  }
  for (const Measure& measure : report.score.measures) {
    text += fmt::format(" {} {:.3f}", title_of(measure.name), measure.value);
  }
  noted(fmt::format("{} in {:.1f} s{}", text, report.seconds, report.best ? " (best)" : ""));
  if (!report.score.example.empty()) {
    noted("  " + report.score.example);
  }
  write_curves(folder_);
}

}  // namespace heed::cli
