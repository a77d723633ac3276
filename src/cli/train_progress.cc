#include "cli/train_progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "cli/pictures/curves.h"

namespace heed::cli {
namespace {

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
    : folder_(std::move(folder)), terminal_(::isatty(STDERR_FILENO) != 0) {}

void TrainProgress::line(const std::string& text) {
  fmt::print(stderr, "{}{}\n", open_bar_ ? "\r\x1b[K" : "", text);
  open_bar_ = false;
}

void TrainProgress::end() {
  if (open_bar_) {
    fmt::print(stderr, "\n");
    open_bar_ = false;
  }
}

void TrainProgress::started(const RunReport& report) {
  line(
      fmt::format("parameters {:.2f} million; memory about {:.1f} MiB: weights and gradients "
                  "{:.1f}, optimizer {:.1f}, one batch {:.1f}",
                  static_cast<double>(report.parameters) / 1e6,
                  mebibytes(report.weight_bytes + report.optimizer_bytes + report.activation_bytes),
                  mebibytes(report.weight_bytes), mebibytes(report.optimizer_bytes),
                  mebibytes(report.activation_bytes)));
  if (!report.skipped.empty()) {
    line(report.skipped);
  }
  if (report.epoch_batches) {
    line(fmt::format("an epoch has {} batches{}", *report.epoch_batches,
                     report.total_steps ? fmt::format("; {} steps in all", *report.total_steps)
                                        : std::string()));
  }
  if (report.resumed_from > 0) {
    line(fmt::format("continuing after step {}", report.resumed_from));
  }
}

void TrainProgress::stepped(const StepReport& report) {
  const std::string text =
      fmt::format("step {} epoch {:.2f} loss {:.4f} {:.0f} tokens/s rate {:.2e} left {}",
                  report.step, report.epoch, report.loss, report.tokens_per_second,
                  report.learning_rate, format_seconds(report.seconds_left));
  if (!terminal_) {
    line(text);
    return;
  }
  constexpr int kBar = 24;
  const int filled = static_cast<int>(std::clamp(report.done, 0.0, 1.0) * kBar);
  fmt::print(stderr, "\r\x1b[K[{}{}] {:3.0f}% {}", std::string(static_cast<size_t>(filled), '#'),
             std::string(static_cast<size_t>(kBar - filled), '.'), 100 * report.done, text);
  std::fflush(stderr);
  open_bar_ = true;
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
  line(fmt::format("{} in {:.1f} s{}", text, report.seconds, report.best ? " (best)" : ""));
  if (!report.score.example.empty()) {
    line("  " + report.score.example);
  }
  write_curves(folder_);
}

void TrainProgress::noted(const std::string& text) { line(text); }

}  // namespace heed::cli
