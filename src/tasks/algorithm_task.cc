#include "tasks/algorithm_task.h"

#include <algorithm>

#include "base/error.h"
#include "data/batch_size.h"
#include "data/text/examples.h"
#include "decode/text/decoding.h"
#include "models/registry.h"
#include "tasks/setup/text_setup.h"
#include "train/validation.h"

namespace heed {
namespace {

std::vector<AlgorithmExample> first_examples(const AlgorithmExamples& all, int64_t count) {
  std::vector<AlgorithmExample> examples;
  for (int64_t i = 0; i < count; ++i) {
    examples.push_back(all(i));
  }
  return examples;
}

std::vector<HostBatch> batches_of(const std::vector<AlgorithmExample>& examples,
                                  int64_t batch_tokens) {
  const auto tokenizer = algorithm_tokenizer();
  std::vector<EncodedPair> pairs;
  pairs.reserve(examples.size());
  for (const AlgorithmExample& example : examples) {
    pairs.push_back({tokenizer->encode(example.source), tokenizer->encode(example.target),
                     std::ssize(pairs) + 1});
  }
  return make_batches(pairs, {.batch_tokens = batch_tokens}, tokenizer->special(),
                      tokenizer->special());
}

// Characters, END not counted, that get the highest logit when those before them are right.
double forced_accuracy(const Seq2SeqModel& model, const std::vector<HostBatch>& batches) {
  const int32_t end = algorithm_tokenizer()->special().end;
  int64_t right = 0;
  int64_t all = 0;
  for (const HostBatch& batch : batches) {
    const Tensor logits = model.logits(to_tensors(batch));  // [B,T,V]
    const int64_t vocabulary = logits.dim(2);
    const std::vector<float> values = logits.to_vector();
    for (size_t i = 0; i < batch.target.size(); ++i) {
      if (batch.target[i] == kIgnore || batch.target[i] == end) {
        continue;
      }
      const auto row = values.begin() + static_cast<int64_t>(i) * vocabulary;
      right += std::max_element(row, row + vocabulary) - row == batch.target[i] ? 1 : 0;
      ++all;
    }
  }
  return all > 0 ? static_cast<double>(right) / static_cast<double>(all) : 0.0;
}

}  // namespace

AlgorithmScore score_algorithm(const Seq2SeqModel& model,
                               const std::vector<AlgorithmExample>& examples,
                               int64_t batch_tokens) {
  constexpr int64_t kMore = 8;  // who says more than that is wrong anyway
  const auto tokenizer = algorithm_tokenizer();
  DecodeOptions options{
      .beam = 1, .special = tokenizer->special(), .vocabulary = tokenizer->size()};
  std::vector<DecodeRequest> requests;
  for (const AlgorithmExample& example : examples) {
    DecodeRequest request{tokenizer->encode(example.source)};
    request.source.push_back(tokenizer->special().end);
    requests.push_back(std::move(request));
    options.max_length = std::max(options.max_length, std::ssize(example.target) + kMore);
  }
  const auto decoded = decode_all(model, requests, options, batch_tokens);
  AlgorithmScore score{.forced = forced_accuracy(model, batches_of(examples, batch_tokens))};
  for (size_t i = 0; i < examples.size(); ++i) {
    const std::vector<int32_t>& ids = decoded[i].front().ids;
    score.greedy.add(ids, tokenizer->encode(examples[i].target));
    score.said.push_back(tokenizer->decode(ids));
  }
  return score;
}

void AlgorithmTask::check_recipe(const Recipe& recipe, const Config& own, std::string_view where) {
  const AlgorithmDataConfig& data = own.data;
  const int64_t least = least_symbols(algorithm_of(data.algorithm));
  check(data.longest >= least, "[{}] data.longest is {}, expected {} or more for {}", where,
        data.longest, least, data.algorithm);
  for (const int64_t length : data.test_lengths) {
    check(length >= least, "[{}] data.test_lengths has {}, expected {} or more for {}", where,
          length, least, data.algorithm);
  }
  check_batch_tokens(data.batch_tokens, data.longest);
  check(
      recipe.schedule.kind != "cosine" || recipe.schedule.total_steps > 0 || recipe.train.steps > 0,
      "[{}] examples have no end, so a cosine cannot know its own: set train.steps or "
      "schedule.total_steps",
      where);
  own.train.check_recipe(where);
}

void AlgorithmTask::check_model(const Recipe& recipe, const Config& /*own*/) {
  const auto tokenizer = algorithm_tokenizer();
  try_model<Seq2SeqModel>(model_to_train(recipe, {tokenizer, tokenizer}));
}

AlgorithmTask::AlgorithmTask(const Recipe& recipe, const TaskSetup& setup) : TaskWith(recipe) {
  const auto tokenizer = algorithm_tokenizer();
  tokenizers_ = {tokenizer, tokenizer};
  config_.model = model_to_train(recipe_, tokenizers_);
  any_ = make_model(setup.scope, config_.model);
  model_ = &model_as<Seq2SeqModel>(*any_, config_.model);
  int64_t most = own_.data.longest;
  for (const int64_t length : own_.data.test_lengths) {
    most = std::max(most, length);
  }
  // Lines are never cut into parts.
  config_.training_lines = {.typical_tokens = most, .most_tokens = most, .most_sentences = 1};
}

AlgorithmExamples AlgorithmTask::examples(const std::string& name,
                                          const AlgorithmLengths& lengths) const {
  return {.algorithm = algorithm_of(own_.data.algorithm),
          .lengths = lengths,
          .seed = recipe_.train.seed,
          .name = name};
}

void AlgorithmTask::begin(const DataState& state) {
  const AlgorithmDataConfig& data = own_.data;
  epochs_.emplace(AlgorithmEpochs::Options{.examples = examples("train", {.most = data.longest}),
                                           .size = data.examples,
                                           .batch_tokens = data.batch_tokens});
  held_out_ = first_examples(examples("valid", {.most = data.longest}), data.valid_examples);
  held_out_batches_ = batches_of(held_out_, data.batch_tokens);
  std::vector<std::string> sources;
  for (const AlgorithmExample& example :
       first_examples(examples("try", {.most = std::min<int64_t>(data.longest, 12)}), 4)) {
    sources.push_back(example.source);
  }
  config_.examples = pick_examples(sources);
  state_ = state;
}

std::unique_ptr<TaskBatch> AlgorithmTask::next() {
  auto batch = std::make_unique<PairBatch>();
  batch->host = epochs_->next(state_);
  batch->tokens = batch->host.source_tokens + batch->host.target_tokens;
  batch->targets = batch->host.target_tokens;
  batch->after = state_;
  return batch;
}

Tensor AlgorithmTask::loss(const TaskBatch& batch) const {
  const Batch tensors = to_tensors(static_cast<const PairBatch&>(batch).host);
  return sequence_loss([&] { return model_->logits(tensors); }, tensors.target,
                       own_.train.config());
}

Tensor AlgorithmTask::full_batch_loss() const {
  const int64_t length = own_.data.longest + 1;  // with END
  const int64_t rows = std::max<int64_t>(1, own_.data.batch_tokens / length);
  return full_pairs_loss(*model_, rows, length, own_.train.config());
}

Score AlgorithmTask::validate(int64_t step) const {
  const AlgorithmScore found = score_algorithm(*model_, held_out_, own_.data.batch_tokens);
  const size_t example = static_cast<size_t>(step) % held_out_.size();
  return {.loss = mean_loss(token_loss(*model_), held_out_batches_),
          .metric = "character_accuracy",
          .value = found.greedy.symbols(),
          .example = fmt::format("{} -> {}", held_out_[example].source, found.said[example]),
          .measures = {{"sequence_accuracy", found.greedy.sequences()},
                       {"forced_accuracy", found.forced}}};
}

std::string AlgorithmTask::test(const std::filesystem::path& folder) const {
  if (own_.data.test_examples == 0) {
    return "";
  }
  const auto loaded = load_as<Seq2SeqModel>(folder, DType::f32);
  std::string text = fmt::format("test {}", own_.data.algorithm);
  for (const int64_t length : own_.data.test_lengths) {
    const AlgorithmScore found =
        score_algorithm(*loaded->model,
                        first_examples(examples("test", {.least = length, .most = length}),
                                       own_.data.test_examples),
                        own_.data.batch_tokens);
    text += fmt::format(
        "{} length {}: character accuracy {:.4f}, sequence accuracy {:.4f}, forced {:.4f}",
        length == own_.data.test_lengths.front() ? ":" : ";", length, found.greedy.symbols(),
        found.greedy.sequences(), found.forced);
  }
  return text;
}

}  // namespace heed
