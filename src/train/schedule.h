// The learning rate at each step.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/config.h"
#include "models/spec.h"

namespace heed {

struct ScheduleConfig {
  std::string kind = "noam";
  double rate = 1.0;
  int64_t warmup = 4000;
  double decay = 0.5;
  int64_t decay_steps = 10000;
  double final_rate = 0.0;
  int64_t total_steps = 0;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("kind", kind,
      "how the learning rate falls after the warm-up; noam is the inverse square root scaled by "
      "the model's width (Vaswani et al. 2017)",
      {.choices = {"noam", "inverse_sqrt", "exponential", "cosine", "constant"}});
    v("rate", rate, "peak learning rate; noam: factor on the formula", {.least = 0});
    v("warmup", warmup, "warm-up steps, in which the learning rate rises linearly from 0",
      {.least = 0});
    v("decay", decay, "exponential: multiply the learning rate by this every decay_steps steps",
      {.least = 0, .most = 1});
    v("decay_steps", decay_steps,
      "exponential: steps in which the learning rate falls by the factor decay", {.least = 1});
    v("final_rate", final_rate,
      "cosine: learning rate at the end; inverse_sqrt, exponential: lower limit of the learning "
      "rate",
      {.least = 0});
    v("total_steps", total_steps,
      "cosine: step at which final_rate is reached; 0: the end of the training", {.least = 0});
  }
};

// An Error if the schedule needs what the model does not have; `where` names the recipe.
void check_schedule(const ScheduleConfig& config, const ModelSpec& model, std::string_view where);

// The learning rate of step 1, 2, ...; total_steps is the trainer's, width the model's. Cosine
// stays at final_rate past its end. Throws on a cosine without end and a noam without width.
double learning_rate(const ScheduleConfig& config, int64_t step, int64_t total_steps,
                     int64_t width);

}  // namespace heed
