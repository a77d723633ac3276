#include "train/trainer.h"

#include <fmt/format.h>

#include <cmath>

#include "autograd/checkpoint.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/parallel.h"
#include "formats/run_log.h"
#include "nn/scopes/loss_scope.h"
#include "ops/pointwise.h"

namespace heed {
namespace {

namespace fs = std::filesystem;
bool due(int64_t step, int64_t every) { return every > 0 && step % every == 0; }

}  // namespace

Trainer::Trainer(std::unique_ptr<Run> run, TrainObserver& observer)
    : run_(std::move(run)),
      observer_(observer),
      tape_(recipe().train.seed),
      exchange_(run_->store, run_->mesh) {
  tape_.set_draws(state().draws);
  seconds_at_report_ = state().seconds;
  seconds_at_start_ = state().seconds;
  done_at_start_ = done();
  const bool whole = run_->report.resumed_from > 0 && !state().validation_due;
  saved_at_ = whole ? state().step : -1;
  observer_.started(run_->report);
}

template <typename Line>
void Trainer::log(const Line& line) const {
  if (mesh().leads()) {
    append_to_run_log(run_->folder, line);
  }
}

double Trainer::done() const {
  double done = 0.0;
  if (const std::optional<int64_t> total = run_->total_steps()) {
    done = static_cast<double>(run_->state.step) / static_cast<double>(*total);
  }
  if (recipe().train.minutes > 0) {
    done = std::max(done, run_->state.seconds / (60 * recipe().train.minutes));
  }
  return done;
}

double Trainer::seconds_left() const {
  const double now = done();
  return now > done_at_start_
             ? (run_->state.seconds - seconds_at_start_) * (1.0 - now) / (now - done_at_start_)
             : -1.0;
}

bool Trainer::over() const {
  const StepConfig& train = recipe().train;
  return (train.steps > 0 && run_->state.step >= train.steps) ||
         (train.minutes > 0 && run_->state.seconds >= 60 * train.minutes) ||
         (train.epochs > 0 && !run_->total_steps() &&
          static_cast<double>(run_->state.data.epoch) >= train.epochs) ||
         (run_->total_steps() && run_->state.step >= *run_->total_steps());
}

bool Trainer::out_of_patience() const {
  return recipe().validation.patience > 0 &&
         run_->state.worse_in_row >= recipe().validation.patience;
}

TrainEnd Trainer::run(const std::atomic<bool>& stop) {
  stop_ = &stop;
  try {
    return run_steps();
  } catch (const Interrupted&) {
    save();  // as after the last whole step
    return TrainEnd::interrupted;
  }
}

TrainEnd Trainer::run_steps() {
  const int64_t width = task().config().spec().width;
  if (run_->state.validation_due) {
    complete_step();
  }
  while (!over()) {
    if (out_of_patience()) {  // also a resumed run that had stopped early
      return finish(TrainEnd::early_stop);
    }
    if (asked_to_stop()) {
      throw Interrupted();
    }
    const auto begin = Clock::now();
    const double rate = learning_rate(recipe().schedule, run_->state.step + 1,
                                      run_->total_steps().value_or(0), width);
    const StepResult result = step(static_cast<float>(rate));
    run_->state.seconds += seconds_since(begin);
    run_->state.validation_due =
        task().validates() && due(run_->state.step, recipe().validation.every);
    report_step(result, rate,
                run_->state.step == 1 || due(run_->state.step, recipe().train.log_every));
    complete_step();
  }
  return finish(TrainEnd::finished);
}

// On a mesh, whether any process was asked to. The first one's clock counts for all.
bool Trainer::asked_to_stop() {
  if (mesh().alone()) {
    return *stop_;
  }
  const bool stop = mesh().world().max(*stop_ ? 1.0 : 0.0) > 0.0;
  run_->state.seconds = mesh().world().gather(run_->state.seconds).front();
  return stop;
}

// What follows a step: the validation and the checkpoint that are due.
void Trainer::complete_step() {
  if (run_->state.validation_due) {
    validate();
    run_->state.validation_due = false;
  }
  if (due(run_->state.step, recipe().checkpoint.every)) {
    save();
  }
}

// Gradients of one batch, which has `share` of the step's targets. Returns its part of the loss.
double Trainer::backward(const TaskBatch& batch, double share) {
  tape_.clear();
  const TapeScope scope(tape_);
  const LossScope costs;
  const CheckpointScope layers(recipe().train.checkpoint_layers);
  const Tensor loss = costs.added_to(task().loss(batch));
  const double value = static_cast<double>(loss.item()) * share;
  tape_.backward(share == 1.0 ? loss : scale(loss, static_cast<float>(share)));
  return value;
}

// Loss and gradients of a step. Weights are not touched, so that an interrupted step never was. A
// step of several processes is not interrupted: the others would wait for the one that was.
Trainer::StepResult Trainer::gradients() {
  const TrainState before = run_->state;
  const InterruptScope scope(mesh().alone() ? *stop_ : never_);
  std::vector<std::unique_ptr<TaskBatch>> parts(static_cast<size_t>(recipe().train.accumulate));
  StepResult result;
  try {
    for (std::unique_ptr<TaskBatch>& part : parts) {
      part = task().next();
      check(part != nullptr, "[train] the data ended before the training did");
      result.tokens += part->tokens;
      run_->state.data = part->after;
    }
    run_->store.clear_gradients();
    task().begin_step(run_->state.step);
    add_gradients(parts, result);
  } catch (const Interrupted&) {
    run_->state = before;
    throw;
  }
  return result;
}

// Each part has random numbers of its own, whichever process it is computed on.
void Trainer::add_gradients(const std::vector<std::unique_ptr<TaskBatch>>& parts,
                            StepResult& result) {
  constexpr int kPartBits = 40;
  const Group& batch = mesh().along("batch");
  // By turns, or a part of the rows of each.
  const bool turns = !task().shares_rows();
  const auto members = static_cast<size_t>(turns ? batch.size() : 1);
  const auto own = static_cast<size_t>(batch.index());
  int64_t targets = 0;
  for (const std::unique_ptr<TaskBatch>& part : parts) {
    targets += part->targets;
  }
  targets = turns ? targets : static_cast<int64_t>(batch.sum(static_cast<double>(targets)));
  uint64_t draws = 0;
  for (size_t i = turns ? own : 0; i < parts.size(); i += members) {
    const uint64_t stream = turns ? i : i * static_cast<size_t>(batch.size()) + own;
    const uint64_t first = run_->state.draws + (stream << kPartBits);
    tape_.set_draws(first);
    if (i + members >= parts.size()) {
      exchange_.begin(tape_);
    }
    result.loss +=
        backward(*parts[i], static_cast<double>(parts[i]->targets) / static_cast<double>(targets));
    draws = std::max(draws, tape_.draws() - first);
  }
  exchange_.finish(tape_);
  result.loss = batch.sum(result.loss);
  tape_.set_draws(run_->state.draws + static_cast<uint64_t>(batch.max(static_cast<double>(draws))));
}

Trainer::StepResult Trainer::step(float rate) {
  StepResult result = gradients();
  result.gradient_norm = gradient_norm(run_->store);
  result.finite = std::isfinite(result.loss) && std::isfinite(result.gradient_norm);
  ++run_->state.step;
  run_->state.draws = tape_.draws();
  if (!result.finite) {
    skip_step(result);
    return result;
  }
  run_->state.skipped_in_row = 0;
  const double clip = recipe().train.clip;
  const double scale =
      clip > 0.0 && result.gradient_norm > clip ? clip / result.gradient_norm : 1.0;
  run_->optimizer->step(rate, static_cast<float>(scale));
  task().end_step();
  update_ema();
  return result;
}

void Trainer::skip_step(const StepResult& result) {
  ++run_->state.skipped;
  ++run_->state.skipped_in_row;
  log(LoggedSkip{.step = run_->state.step, .skipped = run_->state.skipped});
  check(run_->state.skipped_in_row < recipe().train.most_skips,
        "[train] {} steps in a row had a loss or gradient that is not finite (loss {}, gradient "
        "norm {} at step {}). Try a lower schedule.rate, a longer schedule.warmup, train.clip = 1, "
        "or train.precision = \"f32\"; the last checkpoint is untouched",
        run_->state.skipped_in_row, result.loss, result.gradient_norm, run_->state.step);
}

void Trainer::update_ema() {
  if (!run_->ema.defined()) {
    return;
  }
  const float decay = recipe().train.ema;
  // Early on the average follows fast, as if it had begun with the first step.
  const auto steps = static_cast<float>(run_->state.step - run_->state.skipped);
  const float kept = std::min(decay, (1.0F + steps) / (10.0F + steps));
  const Tensor updated = run_->store.updated_values();
  const float* values = updated.data<float>();
  float* average = run_->ema.data<float>();
  parallel_for(run_->ema.size(), kParallelGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      average[i] += (1.0F - kept) * (values[i] - average[i]);
    }
  });
}

// Calls body with the averaged weights in place, if there are any.
template <typename Body>
void Trainer::with_ema(const Body& body) {
  const auto swap = [&] {
    if (run_->ema.defined()) {
      std::swap_ranges(run_->ema.data<float>(), run_->ema.data<float>() + run_->ema.size(),
                       run_->store.updated_values().data<float>());
      run_->store.refresh_narrow();
    }
  };
  swap();
  try {
    body();
  } catch (...) {
    swap();
    throw;
  }
  swap();
}

void Trainer::report_step(const StepResult& result, double rate, bool now) {
  if (result.finite) {
    loss_sum_ += result.loss;
    ++steps_since_;
  }
  tokens_since_ += result.tokens;
  observer_.advanced({.step = run_->state.step, .done = done(), .seconds_left = seconds_left()});
  if (!now || steps_since_ == 0) {
    return;
  }
  const std::optional<int64_t> epoch_batches = task().epoch_batches();
  const double spent = std::max(run_->state.seconds - seconds_at_report_, 1e-9);
  StepReport report{.step = run_->state.step,
                    .epoch = static_cast<double>(run_->state.data.epoch),
                    .loss = loss_sum_ / static_cast<double>(steps_since_),
                    .learning_rate = rate,
                    .gradient_norm = result.gradient_norm,
                    .tokens_per_second = static_cast<double>(tokens_since_) / spent,
                    .seconds = run_->state.seconds};
  if (epoch_batches) {
    report.epoch +=
        static_cast<double>(run_->state.data.batch) / static_cast<double>(*epoch_batches);
  }
  report.done = done();
  report.seconds_left = seconds_left();
  observer_.stepped(report);
  log(LoggedStep{.step = report.step,
                 .epoch = report.epoch,
                 .loss = report.loss,
                 .learning_rate = report.learning_rate,
                 .gradient_norm = report.gradient_norm,
                 .tokens_per_second = report.tokens_per_second,
                 .seconds = report.seconds});
  loss_sum_ = 0.0;
  steps_since_ = 0;
  tokens_since_ = 0;
  seconds_at_report_ = run_->state.seconds;
}

void Trainer::validate() {
  if (!task().validates() || validated_at_ == run_->state.step) {
    return;
  }
  validated_at_ = run_->state.step;
  ValidationReport report{.step = run_->state.step, .score = {}};
  const auto begin = Clock::now();
  observer_.doing("validating");
  with_ema([&] {
    {
      const InterruptScope scope(mesh().alone() ? *stop_ : never_);
      report.score = task().validate(run_->state.step);
    }
    report.best = is_best(report.score);
    if (report.best) {
      save_parameters(run_->folder / "model.safetensors", run_->store, task().config().model);
    }
  });
  report.seconds = seconds_since(begin);
  observer_.validated(report);
  log(LoggedValidation{.step = report.step,
                       .loss = report.score.loss,
                       .metric = report.score.metric,
                       .value = report.score.value,
                       .example = report.score.example,
                       .seconds = run_->state.seconds,
                       .measures = report.score.measures});
}

bool Trainer::is_best(const Score& score) {
  const double value =
      recipe().validation.best_by == "score" && !score.metric.empty() ? score.value : -score.loss;
  if (!std::isfinite(value) || (run_->state.best_step >= 0 && value <= run_->state.best)) {
    ++run_->state.worse_in_row;
    return false;
  }
  run_->state.best = value;
  run_->state.best_step = run_->state.step;
  run_->state.worse_in_row = 0;
  return true;
}

void Trainer::save() {
  if (saved_at_ == run_->state.step) {
    return;
  }
  saved_at_ = run_->state.step;
  observer_.doing("saving a checkpoint");
  save_checkpoint(run_->folder, run_->state, run_->trained());
  if (mesh().leads()) {
    prune_checkpoints(run_->folder, recipe().kept_checkpoints(), recipe().checkpoint.every);
  }
  if (!task().validates()) {
    with_ema([&] {
      save_parameters(run_->folder / "model.safetensors", run_->store, task().config().model);
    });
  }
}

TrainEnd Trainer::finish(TrainEnd end) {
  save();
  validate();
  if (recipe().train.average > 1) {
    average();
  }
  return end;
}

// The mean of the last checkpoints, kept if it is better than the best single one. The last of them
// is what an interrupted run continues from.
void Trainer::average() {
  observer_.doing("averaging checkpoints");
  const InterruptScope scope(mesh().alone() ? *stop_ : never_);
  std::vector<fs::path> last = list_checkpoints(run_->folder);
  const auto most = static_cast<size_t>(recipe().train.average);
  last.erase(last.begin(), last.end() - static_cast<int64_t>(std::min(most, last.size())));
  const fs::path folder = run_->folder / "averaged";
  if (mesh().leads()) {
    average_models(last, folder, Existing::replace);
  }
  mesh().world().barrier();
  load_parameters(folder / "model.safetensors", run_->store, task().config().model);
  observer_.noted(fmt::format("averaged the last {} checkpoints", last.size()));
  run_->ema = Tensor();  // the average takes its place
  validated_at_ = -1;
  if (task().validates()) {
    validate();
  } else {
    save_parameters(run_->folder / "model.safetensors", run_->store, task().config().model);
  }
}

}  // namespace heed
