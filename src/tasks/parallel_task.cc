#include "tasks/parallel_task.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "autograd/tape.h"
#include "base/error.h"
#include "base/ignore.h"
#include "base/random.h"
#include "decode/text/parallel_decoding.h"
#include "models/registry.h"
#include "ops/loss/cross_entropy.h"
#include "ops/pointwise.h"
#include "ops/shape/gather.h"
#include "tasks/fertilities.h"

namespace heed {
namespace {

// Tokens that the decoder is shown and those that it is asked for, [B,T] each.
struct Hidden {
  std::vector<int32_t> tokens;
  std::vector<int32_t> targets;
};

// In each row counts[row] random tokens are hidden behind `mask`.
Hidden hide_tokens(const HostBatch& batch, std::span<const int64_t> counts, int32_t mask,
                   const RandomStream& random) {
  Hidden hidden{.tokens = batch.target, .targets = batch.target};
  const int64_t width = batch.target_width;
  std::vector<int64_t> order;
  for (int64_t row = 0; row < batch.rows; ++row) {
    const auto numbers = static_cast<uint64_t>(row * (width + 1) + 1);
    const int64_t length = batch.target_lengths[static_cast<size_t>(row)];
    order.resize(static_cast<size_t>(length));
    std::iota(order.begin(), order.end(), int64_t{0});
    std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return random.bits(numbers + static_cast<uint64_t>(a)) <
             random.bits(numbers + static_cast<uint64_t>(b));
    });
    for (int64_t i = 0; i < width; ++i) {
      const int64_t t = i < length ? order[static_cast<size_t>(i)] : i;
      const auto at = static_cast<size_t>(row * width + t);
      if (i >= counts[static_cast<size_t>(row)]) {
        hidden.targets[at] = kIgnore;
      }
      if (i < counts[static_cast<size_t>(row)] || i >= length) {  // padding is hidden as well
        hidden.tokens[at] = mask;
      }
    }
  }
  return hidden;
}

// Of each row a number from one to its length, all equally likely.
std::vector<int64_t> random_counts(const HostBatch& batch, const RandomStream& random) {
  std::vector<int64_t> counts;
  for (int64_t row = 0; row < batch.rows; ++row) {
    const auto length = static_cast<float>(batch.target_lengths[static_cast<size_t>(row)]);
    const auto number = static_cast<uint64_t>(row * (batch.target_width + 1));
    counts.push_back(1 + static_cast<int64_t>(random.uniform(number) * length));
  }
  return counts;
}

// A target some of whose tokens are another one, the one that follows, or in the place of the one
// that follows.
void damage_row(std::span<int32_t> row, float share, int64_t vocabulary, const RandomStream& random,
                uint64_t first) {
  for (size_t t = 0; t + 1 < row.size(); ++t) {  // END stays
    const Philox4 bits = random.block(first + t);
    if (static_cast<float>(bits[0]) * 0x1p-32F >= share) {
      continue;
    }
    const bool last = t + 2 >= row.size();
    switch (last ? 0 : bits[1] % 3) {
      case 0:
        row[t] = static_cast<int32_t>(bits[2] % static_cast<uint64_t>(vocabulary));
        break;
      case 1:
        row[t] = row[t + 1];
        break;
      default:
        std::swap(row[t], row[t + 1]);
    }
  }
}

// Of each pair, which token of its source every position copies: [B,T].
Tensor copied_tokens(const HostBatch& batch, const std::vector<std::vector<int64_t>>& fertilities) {
  std::vector<int32_t> copied(batch.target.size(), 0);
  for (int64_t row = 0; row < batch.rows; ++row) {
    const auto at = static_cast<size_t>(row);
    const auto each = fertilities.empty()
                          ? spread_copies(batch.source_lengths[at], batch.target_lengths[at])
                          : fertile_copies(fertilities[static_cast<size_t>(batch.pairs[at])]);
    std::copy(each.begin(), each.end(), copied.begin() + row * batch.target_width);
  }
  return Tensor::from_ints(copied, {batch.rows, batch.target_width});
}

// The columns of length_logits() that the lengths of the targets stand for.
Tensor length_classes(const HostBatch& batch, int64_t range) {
  std::vector<int32_t> classes;
  for (size_t row = 0; row < batch.source_lengths.size(); ++row) {
    const int64_t longer = batch.target_lengths[row] - batch.source_lengths[row];
    classes.push_back(static_cast<int32_t>(std::clamp(longer, -range, range) + range));
  }
  return Tensor::from_ints(classes, {batch.rows});
}

// The columns of fertility_logits() that the counts stand for: [B,S].
Tensor fertility_classes(const HostBatch& batch,
                         const std::vector<std::vector<int64_t>>& fertilities, int64_t choices) {
  std::vector<int32_t> classes(batch.source.size(), kIgnore);
  for (int64_t row = 0; row < batch.rows; ++row) {
    const std::vector<int64_t>& counts =
        fertilities[static_cast<size_t>(batch.pairs[static_cast<size_t>(row)])];
    for (size_t s = 0; s < counts.size(); ++s) {
      classes[static_cast<size_t>(row * batch.source_width) + s] =
          static_cast<int32_t>(std::min(counts[s], choices - 1));
    }
  }
  return Tensor::from_ints(classes, {batch.rows, batch.source_width});
}

Tensor token_cross_entropy(const Tensor& logits, const Tensor& targets, float smoothing) {
  return cross_entropy(logits, targets, {.label_smoothing = smoothing, .ignore = kIgnore});
}

}  // namespace

// The passes of one step over one batch.
struct ParallelTask::Passes {
  const ParallelModel& model;
  const DecodeState& state;
  const HostBatch& batch;
  const RandomStream& random;
  const ParallelLossConfig& config;
  const Fertilities& fertilities;
  int32_t mask;

  Tensor lengths() const { return Tensor::from_ints(batch.target_lengths, {batch.rows}); }
  Tensor table(const std::vector<int32_t>& ids) const {
    return Tensor::from_ints(ids, {batch.rows, batch.target_width});
  }

  Tensor masked() const {
    const Hidden hidden = hide_tokens(batch, random_counts(batch, random), mask, random);
    const Tensor logits =
        model.pass({.tokens = table(hidden.tokens), .lengths = lengths()}, state);  // [B,T,V]
    return token_cross_entropy(logits, table(hidden.targets), config.label_smoothing);
  }

  Tensor copied() const {
    if (config.glancing > 0.0F && Tape::current() != nullptr) {
      return glanced();
    }
    return token_cross_entropy(first_pass(), table(batch.target), config.label_smoothing);
  }

  // Tokens of the target take the place of some copies: train.glancing for each one that a pass
  // without them gets wrong. The others are learned.
  Tensor glanced() const {
    const std::vector<int32_t> said = words_of([&] {
      const PauseScope pause(Tape::current());
      return first_pass();
    }());
    std::vector<int64_t> counts;
    for (int64_t row = 0; row < batch.rows; ++row) {
      const int64_t length = batch.target_lengths[static_cast<size_t>(row)];
      const auto target = batch.target.begin() + row * batch.target_width;
      const auto words = said.begin() + row * batch.target_width;
      const int64_t wrong = length - std::inner_product(target, target + length, words, int64_t{0},
                                                        std::plus<>(), std::equal_to<>());
      counts.push_back(length - static_cast<int64_t>(static_cast<float>(wrong) * config.glancing));
    }
    const Hidden hidden = hide_tokens(batch, counts, mask, random);
    const Tensor logits = model.pass({.tokens = table(hidden.tokens),
                                      .copied = copied_tokens(batch, fertilities),
                                      .lengths = lengths(),
                                      .start = mask},
                                     state);  // [B,T,V]
    return token_cross_entropy(logits, table(hidden.targets), config.label_smoothing);
  }

  Tensor refined() const {
    const Tensor logits = first_pass();         // [B,T,V]
    const Tensor shown = second_input(logits);  // [B,T]
    const Tensor first = token_cross_entropy(logits, table(batch.target), config.label_smoothing);
    const Tensor second =
        token_cross_entropy(model.pass({.tokens = shown, .lengths = lengths()}, state),
                            table(batch.target), config.label_smoothing);
    return scale(add(first, second), 0.5F);
  }

  Tensor first_pass() const {
    return model.pass({.copied = copied_tokens(batch, fertilities), .lengths = lengths()},
                      state);  // [B,T,V]
  }

  // The likeliest token of each position.
  std::vector<int32_t> words_of(const Tensor& logits) const {
    const TopK best =
        top_k(logits.detached().reshape({batch.rows * batch.target_width, logits.dim(2)}), 1);
    const std::span<const int32_t> said = best.indices.span<int32_t>();
    return {said.begin(), said.end()};
  }

  // The words of the first pass, or for every other pair, by chance, a damaged target.
  Tensor second_input(const Tensor& logits) const {
    std::vector<int32_t> ids = words_of(logits);
    const int64_t width = batch.target_width;
    for (int64_t row = 0; row < batch.rows; ++row) {
      const auto numbers = static_cast<uint64_t>(row * (width + 1));
      const auto length = static_cast<size_t>(batch.target_lengths[static_cast<size_t>(row)]);
      const auto begin = ids.begin() + row * width;
      if (random.block(numbers)[0] % 2 == 0) {
        const auto target = batch.target.begin() + row * width;
        std::copy(target, target + static_cast<int64_t>(length), begin);
        damage_row(std::span(&*begin, length), config.damage, model.target_vocabulary(), random,
                   numbers + 1);
      }
    }
    return table(ids);
  }
};

void ParallelTask::check_recipe(const Recipe& /*recipe*/, const Config& own,
                                std::string_view where) {
  own.sections().check_recipe(where);
}

void ParallelTask::check_model(const Recipe& recipe, const Config& own) {
  try_model<ParallelModel>(planned_model(recipe, own.text, own.text.joint));
}

ParallelTask::ParallelTask(const Recipe& recipe, const TaskSetup& setup)
    : PairTask(recipe, setup, own_config<Config>(recipe).sections()),
      own_(own_config<Config>(recipe)) {
  config_.model = model_to_train(recipe_, tokenizers_);
  any_ = make_model(setup.scope, config_.model);
  model_ = &model_as<ParallelModel>(*any_, config_.model);
  check(
      (model_->fertilities() > 0) == !own_.data.fertilities.empty(),
      "[translate_parallel] data.fertilities names {} files and model.fertilities is {}: set both "
      "or neither",
      own_.data.fertilities.size(), model_->fertilities());
}

bool ParallelTask::fresh(std::string_view parameter) const {
  return parameter.starts_with("length.") || parameter.starts_with("fertility.");
}

void ParallelTask::begin(const DataState& state) {
  if (!own_.data.fertilities.empty()) {
    fertilities_ = read_fertilities(own_.data.fertilities, corpus(), config_.source_end);
    check(std::ssize(fertilities_) <= own_.data.pool,
          "[fertilities] data.pool is {}, expected at least {}: fertilities need all pairs in one "
          "pool",
          own_.data.pool, fertilities_.size());
  }
  PairTask::begin(state);
}

Tensor ParallelTask::loss_of(const ParallelModel& model, const HostBatch& batch,
                             const LossSetting& setting) const {
  const auto state = model.start(Tensor::from_ints(batch.source, {batch.rows, batch.source_width}),
                                 Tensor::from_ints(batch.source_lengths, {batch.rows}));
  const Passes passes{.model = model,
                      .state = *state,
                      .batch = batch,
                      .random = setting.random,
                      .config = setting.config,
                      .fertilities = setting.fertilities,
                      .mask = tokenizers_.target->special().start};
  Tensor tokens = model.input() == ParallelModel::Input::masked   ? passes.masked()
                  : model.input() == ParallelModel::Input::copied ? passes.copied()
                                                                  : passes.refined();
  const float weight = setting.config.length_weight;
  if (weight == 0.0F) {
    return tokens;
  }
  const Tensor length =
      cross_entropy(model.length_logits(*state), length_classes(batch, model.length_range()), {});
  Tensor loss = add(tokens, scale(length, weight));
  if (setting.fertilities.empty()) {
    return loss;
  }
  const Tensor logits = model.fertility_logits(*state);  // [B,S,F]
  const Tensor classes = fertility_classes(batch, setting.fertilities, logits.dim(2));
  return add(loss, scale(cross_entropy(logits, classes, {.ignore = kIgnore}), weight));
}

Tensor ParallelTask::pair_loss(const HostBatch& batch) const {
  return loss_of(*model_, batch, {Tape::current()->draw(), own_.train, fertilities_});
}

// The same tokens are hidden in every validation. Nobody knows fertilities of held-out pairs.
BatchLoss ParallelTask::held_out_loss(const TranslationModel& model) const {
  return [this, &parallel = dynamic_cast<const ParallelModel&>(model)](const HostBatch& batch) {
    const Fertilities unknown;
    ParallelLossConfig plain = own_.train;
    plain.label_smoothing = 0.0F;
    plain.length_weight = 0.0F;
    const RandomStream random{recipe_.train.seed, stream_of("held-out tokens")};
    return static_cast<double>(loss_of(parallel, batch, {random, plain, unknown}).item());
  };
}

DecodeOptions ParallelTask::validation_decoding() const {
  return {.iterations = own_.decoding.iterations, .candidates = own_.decoding.candidates};
}

}  // namespace heed
