#include "train/trainer.h"

#include <fmt/ranges.h>

#include <chrono>
#include <cmath>
#include <fstream>

#include "base/error.h"
#include "base/file.h"
#include "base/parallel.h"
#include "ops/pointwise.h"
#include "train/prepare.h"

namespace heed {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

Trainer::Trainer(const Recipe& recipe, const fs::path& folder, bool resume, TrainObserver& observer)
    : recipe_(recipe), folder_(folder), observer_(observer), tape_(recipe.train.seed) {
  prepare_run_folder(folder, recipe, resume);
  task_ = make_task(recipe_, folder, store_.root());
  prepare_parameters();
  const bool resumed = resume && resume_from_checkpoint();
  task_->begin(state_.data);
  seconds_at_start_ = state_.seconds;
  done_at_start_ = done();
  truncate_log(folder_ / "log.jsonl", state_.step);
  RunReport report{.parameters = store_.count(),
                   .weight_bytes = store_.values().bytes() + store_.gradients().bytes() +
                                   (ema_.defined() ? ema_.bytes() : 0),
                   .optimizer_bytes = optimizer_->state_bytes(),
                   .activation_bytes = measure_activations(),
                   .total_steps = total_steps(),
                   .epoch_batches = task_->epoch_batches(),
                   .resumed_from = resumed ? state_.step : 0,
                   .skipped = task_->skipped()};
  if (store_.narrow_values().defined()) {
    report.weight_bytes += store_.narrow_values().bytes();
  }
  observer_.started(report);
}

Trainer::~Trainer() = default;

void Trainer::prepare_parameters() {
  store_.allocate(recipe_.train.precision == "bf16" ? DType::bf16 : DType::f32, recipe_.train.seed);
  if (!recipe_.train.from.empty()) {
    const std::vector<std::string> fresh =
        load_parameters(recipe_.train.from, store_, task_->config().model,
                        [&](std::string_view name) { return task_->fresh(name); });
    if (!fresh.empty()) {
      observer_.noted(
          fmt::format("begins with {}; new: {}", recipe_.train.from, fmt::join(fresh, ", ")));
    }
  }
  optimizer_ = make_optimizer(store_, recipe_.optimizer);
  if (recipe_.train.ema > 0.0F) {
    ema_ = store_.values().clone();
  }
  save_config(folder_, task_->config());
}

Trained Trainer::trained() {
  return {task_->config(), task_->tokenizers(), store_, *optimizer_, ema_};
}

bool Trainer::resume_from_checkpoint() {
  const std::vector<fs::path> checkpoints = list_checkpoints(folder_);
  if (checkpoints.empty()) {
    return false;
  }
  state_ = load_checkpoint(checkpoints.back(), trained());
  tape_.set_draws(state_.draws);
  seconds_at_report_ = state_.seconds;
  saved_at_ = state_.step;
  return true;
}

// Runs a full batch once, forward and backward, and throws the result away.
size_t Trainer::measure_activations() {
  const size_t before = Arena::global().live_bytes();
  Arena::global().reset_peak();
  Tape tape(0);
  {
    const TapeScope scope(tape);
    tape.backward(task_->full_batch_loss());
  }
  tape.clear();
  store_.clear_gradients();
  return Arena::global().peak_bytes() - before;
}

std::optional<int64_t> Trainer::total_steps() const {
  std::optional<int64_t> total;
  if (recipe_.train.steps > 0) {
    total = recipe_.train.steps;
  }
  const std::optional<int64_t> epoch = task_->epoch_batches();
  if (recipe_.train.epochs > 0 && epoch) {
    const auto steps =
        static_cast<int64_t>(std::ceil(recipe_.train.epochs * static_cast<double>(*epoch) /
                                       static_cast<double>(recipe_.train.accumulate)));
    total = std::min(total.value_or(steps), steps);
  }
  return total;
}

double Trainer::done() const {
  double done = 0.0;
  if (const std::optional<int64_t> total = total_steps()) {
    done = static_cast<double>(state_.step) / static_cast<double>(*total);
  }
  if (recipe_.train.minutes > 0) {
    done = std::max(done, state_.seconds / (60 * recipe_.train.minutes));
  }
  return done;
}

bool Trainer::over() const {
  const StepConfig& train = recipe_.train;
  return (train.steps > 0 && state_.step >= train.steps) ||
         (train.minutes > 0 && state_.seconds >= 60 * train.minutes) ||
         (train.epochs > 0 && !total_steps() &&
          static_cast<double>(state_.data.epoch) >= train.epochs) ||
         (total_steps() && state_.step >= *total_steps());
}

bool Trainer::out_of_patience() const {
  return recipe_.validation.patience > 0 && state_.worse_in_row >= recipe_.validation.patience;
}

TrainEnd Trainer::run(const std::atomic<bool>& stop) {
  const auto due = [](int64_t step, int64_t every) { return every > 0 && step % every == 0; };
  const int64_t width = task_->config().spec().width;
  while (!over()) {
    if (out_of_patience()) {  // also a resumed run that had stopped early
      return finish(TrainEnd::early_stop);
    }
    if (stop) {
      save();
      return TrainEnd::interrupted;
    }
    const auto begin = Clock::now();
    const double rate =
        learning_rate(recipe_.schedule, state_.step + 1, total_steps().value_or(0), width);
    const StepResult result = step(static_cast<float>(rate));
    state_.seconds += seconds_since(begin);
    report_step(result, rate, state_.step == 1 || due(state_.step, recipe_.train.log_every));
    if (task_->validates() && due(state_.step, recipe_.validation.every)) {
      validate();
    }
    if (due(state_.step, recipe_.checkpoint.every)) {
      save();
    }
  }
  return finish(TrainEnd::finished);
}

// Gradients of one batch, which has `share` of the step's targets. Returns its part of the loss.
double Trainer::backward(const TaskBatch& batch, double share) {
  tape_.clear();
  const TapeScope scope(tape_);
  const Tensor loss = task_->loss(batch);
  const double value = static_cast<double>(loss.item()) * share;
  tape_.backward(share == 1.0 ? loss : scale(loss, static_cast<float>(share)));
  return value;
}

Trainer::StepResult Trainer::step(float rate) {
  std::vector<std::unique_ptr<TaskBatch>> parts(static_cast<size_t>(recipe_.train.accumulate));
  StepResult result;
  int64_t targets = 0;
  for (std::unique_ptr<TaskBatch>& part : parts) {
    part = task_->next();
    check(part != nullptr, "[train] the data ended before the training did");
    targets += part->targets;
    result.tokens += part->tokens;
    state_.data = part->after;
  }
  store_.clear_gradients();
  for (const std::unique_ptr<TaskBatch>& part : parts) {
    result.loss +=
        backward(*part, static_cast<double>(part->targets) / static_cast<double>(targets));
  }
  result.gradient_norm = gradient_norm(store_);
  result.finite = std::isfinite(result.loss) && std::isfinite(result.gradient_norm);
  ++state_.step;
  state_.draws = tape_.draws();
  if (!result.finite) {
    skip_step(result);
    return result;
  }
  state_.skipped_in_row = 0;
  const double clip = recipe_.train.clip;
  const double scale =
      clip > 0.0 && result.gradient_norm > clip ? clip / result.gradient_norm : 1.0;
  optimizer_->step(rate, static_cast<float>(scale));
  update_ema();
  return result;
}

void Trainer::skip_step(const StepResult& result) {
  ++state_.skipped;
  ++state_.skipped_in_row;
  log({{"step", state_.step}, {"skipped", state_.skipped}});
  check(state_.skipped_in_row < recipe_.train.most_skips,
        "[train] {} steps in a row had a loss or gradient that is not finite (loss {}, gradient "
        "norm {} at step {}). Try a lower schedule.rate, a longer schedule.warmup, train.clip = 1, "
        "or train.precision = \"f32\"; the last checkpoint is untouched",
        state_.skipped_in_row, result.loss, result.gradient_norm, state_.step);
}

void Trainer::update_ema() {
  if (!ema_.defined()) {
    return;
  }
  const float decay = recipe_.train.ema;
  // Early on the average follows fast, as if it had begun with the first step.
  const auto steps = static_cast<float>(state_.step - state_.skipped);
  const float kept = std::min(decay, (1.0F + steps) / (10.0F + steps));
  const float* values = store_.values().data<float>();
  float* average = ema_.data<float>();
  parallel_for(ema_.size(), kParallelGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      average[i] += (1.0F - kept) * (values[i] - average[i]);
    }
  });
}

// Calls body with the averaged weights in place, if there are any.
template <typename Body>
void Trainer::with_ema(const Body& body) {
  const auto swap = [&] {
    if (ema_.defined()) {
      std::swap_ranges(ema_.data<float>(), ema_.data<float>() + ema_.size(),
                       store_.values().data<float>());
      store_.refresh_narrow();
    }
  };
  swap();
  body();
  swap();
}

void Trainer::report_step(const StepResult& result, double rate, bool now) {
  if (result.finite) {
    loss_sum_ += result.loss;
    ++steps_since_;
  }
  tokens_since_ += result.tokens;
  if (!now || steps_since_ == 0) {
    return;
  }
  const std::optional<int64_t> epoch_batches = task_->epoch_batches();
  const double spent = std::max(state_.seconds - seconds_at_report_, 1e-9);
  StepReport report{.step = state_.step,
                    .epoch = static_cast<double>(state_.data.epoch),
                    .loss = loss_sum_ / static_cast<double>(steps_since_),
                    .learning_rate = rate,
                    .gradient_norm = result.gradient_norm,
                    .tokens_per_second = static_cast<double>(tokens_since_) / spent,
                    .seconds = state_.seconds};
  if (epoch_batches) {
    report.epoch += static_cast<double>(state_.data.batch) / static_cast<double>(*epoch_batches);
  }
  report.done = done();
  if (report.done > done_at_start_) {
    report.seconds_left =
        (state_.seconds - seconds_at_start_) * (1.0 - report.done) / (report.done - done_at_start_);
  }
  observer_.stepped(report);
  log({{"step", report.step},
       {"epoch", report.epoch},
       {"loss", report.loss},
       {"learning_rate", report.learning_rate},
       {"gradient_norm", report.gradient_norm},
       {"tokens_per_second", report.tokens_per_second},
       {"seconds", report.seconds}});
  loss_sum_ = 0.0;
  steps_since_ = 0;
  tokens_since_ = 0;
  seconds_at_report_ = state_.seconds;
}

void Trainer::validate() {
  if (!task_->validates() || validated_at_ == state_.step) {
    return;
  }
  validated_at_ = state_.step;
  ValidationReport report{.step = state_.step, .score = {}};
  const auto begin = Clock::now();
  with_ema([&] {
    report.score = task_->validate(state_.step);
    report.best = is_best(report.score);
    if (report.best) {
      save_parameters(folder_ / "model.safetensors", store_, task_->config().model);
    }
  });
  report.seconds = seconds_since(begin);
  observer_.validated(report);
  Json line{{"step", state_.step}, {"valid_loss", report.score.loss}};
  if (!report.score.metric.empty()) {
    line["valid_" + report.score.metric] = report.score.value;
  }
  if (!report.score.example.empty()) {
    line["example"] = report.score.example;
  }
  line["seconds"] = state_.seconds;
  log(line);
}

bool Trainer::is_best(const Score& score) {
  const double value =
      recipe_.validation.best_by == "score" && !score.metric.empty() ? score.value : -score.loss;
  if (!std::isfinite(value) || (state_.best_step >= 0 && value <= state_.best)) {
    ++state_.worse_in_row;
    return false;
  }
  state_.best = value;
  state_.best_step = state_.step;
  state_.worse_in_row = 0;
  return true;
}

void Trainer::save() {
  if (saved_at_ == state_.step) {
    return;
  }
  saved_at_ = state_.step;
  save_checkpoint(folder_, state_, trained());
  prune_checkpoints(folder_, std::max(recipe_.checkpoint.keep, recipe_.train.average),
                    recipe_.checkpoint.every);
  if (!task_->validates()) {
    with_ema(
        [&] { save_parameters(folder_ / "model.safetensors", store_, task_->config().model); });
  }
}

TrainEnd Trainer::finish(TrainEnd end) {
  save();
  validate();
  if (recipe_.train.average > 1) {
    average();
  }
  return end;
}

// The mean of the last checkpoints, kept if it is better than the best single one.
void Trainer::average() {
  std::vector<fs::path> last = list_checkpoints(folder_);
  const auto most = static_cast<size_t>(recipe_.train.average);
  last.erase(last.begin(), last.end() - static_cast<int64_t>(std::min(most, last.size())));
  const fs::path folder = folder_ / "averaged";
  average_models(last, folder);
  load_parameters(folder / "model.safetensors", store_, task_->config().model);
  observer_.noted(fmt::format("averaged the last {} checkpoints", last.size()));
  ema_ = Tensor();  // the average takes its place
  validated_at_ = -1;
  if (task_->validates()) {
    validate();
  } else {
    save_parameters(folder_ / "model.safetensors", store_, task_->config().model);
  }
}

void Trainer::log(const Json& line) {
  std::ofstream file(folder_ / "log.jsonl", std::ios::app);
  // An example may end in the middle of a character.
  file << line.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
  check(file.good(), "[train] cannot write {}", (folder_ / "log.jsonl").string());
}

}  // namespace heed
