#include "train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"

namespace heed {
namespace {

// From config.rate to config.final_rate in half a cosine between warm-up and end.
double cosine_rate(const ScheduleConfig& config, int64_t step, int64_t end) {
  if (step >= end) {
    return config.final_rate;
  }
  const double share =
      static_cast<double>(step - config.warmup) / static_cast<double>(end - config.warmup);
  const double height = 0.5 * (1.0 + std::cos(std::numbers::pi * share));
  return config.final_rate + (config.rate - config.final_rate) * height;
}

}  // namespace

void check_schedule(const ScheduleConfig& config, const ModelSpec& model, std::string_view where) {
  check(config.kind != "noam" || model.width > 0,
        "[{}] schedule.kind is noam, which scales the learning rate by the model's width, but a {} "
        "has no width: set schedule.kind to another one",
        where, model.kind);
}

double learning_rate(const ScheduleConfig& config, int64_t step, int64_t total_steps,
                     int64_t width) {
  check(step >= 1, "[schedule] step is {}, expected 1 or more", step);
  const auto t = static_cast<double>(step);
  const auto warmup = static_cast<double>(config.warmup);
  if (config.kind == "noam") {
    check(width >= 1, "[schedule] width is {}, expected 1 or more", width);
    // With a warm-up of 0 the second is infinite.
    const double rise = std::min(1.0 / std::sqrt(t), t * std::pow(warmup, -1.5));
    return config.rate * rise / std::sqrt(static_cast<double>(width));
  }
  check(config.final_rate <= config.rate, "[schedule] final_rate is {}, expected at most rate, {}",
        config.final_rate, config.rate);
  const int64_t end = config.total_steps > 0 ? config.total_steps : total_steps;
  check(end > 0 || config.kind != "cosine",
        "[schedule] total_steps is {}, expected 1 or more for a cosine", end);
  if (step < config.warmup) {
    return config.rate * t / warmup;
  }
  if (config.kind == "inverse_sqrt") {
    return std::max(config.final_rate, config.rate * std::sqrt(std::max(1.0, warmup) / t));
  }
  if (config.kind == "exponential") {
    const double periods = (t - warmup) / static_cast<double>(config.decay_steps);
    return std::max(config.final_rate, config.rate * std::pow(config.decay, periods));
  }
  if (config.kind == "cosine") {
    return cosine_rate(config, step, end);
  }
  check(config.kind == "constant",
        "[schedule] kind is {}, expected noam, inverse_sqrt, exponential, cosine or constant",
        config.kind);
  return config.rate;
}

}  // namespace heed
