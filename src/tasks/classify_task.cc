#include "tasks/classify_task.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "data/text/examples.h"
#include "models/registry.h"
#include "ops/loss/cross_entropy.h"
#include "ops/loss/loss.h"
#include "ops/shape/cast.h"
#include "text/unicode.h"
#include "train/metrics/metrics.h"

namespace heed {
namespace {

std::vector<std::string> class_names(const LabelledTexts& table) {
  std::set<std::string> names;
  for (const LabelledText& row : table.rows) {
    check(valid_utf8(row.label), "[{}] the label {} is not UTF-8", row.where, row.label);
    names.insert(row.label);
  }
  constexpr size_t kMost = 10000;
  check(names.size() > 1 && names.size() <= kMost,
        "[classify] the column of labels has {} different values, expected 2 to {}; is it the "
        "right one, or are they scores (data.score = true)?",
        names.size(), kMost);
  return {names.begin(), names.end()};
}

double metric_of(const std::string& name, std::span<const double> predicted,
                 std::span<const double> truth, int32_t classes) {
  if (name == "pearson") {
    return pearson(predicted, truth);
  }
  if (name == "spearman") {
    return spearman(predicted, truth);
  }
  const std::vector<int32_t> p(predicted.begin(), predicted.end());
  const std::vector<int32_t> t(truth.begin(), truth.end());
  return name == "f1"         ? f1(p, t, classes)
         : name == "matthews" ? matthews(p, t, classes)
                              : accuracy(p, t);
}

}  // namespace

void ClassifyTask::check_recipe(const Recipe& recipe, const Config& own, std::string_view where) {
  own.data.check_recipe(recipe.task, where);
  const std::string& metric = own.validation.metric;
  check(!own.data.score || metric.empty() || metric == "pearson" || metric == "spearman",
        "[{}] validation.metric is {}, expected pearson or spearman, which numbers have", where,
        metric);
}

void ClassifyTask::check_model(const Recipe& recipe, const Config& own) {
  constexpr int64_t kAny = 2;  // classes: the data has not been read
  try_model<TextEncoder>(with_heads(planned_model(recipe, own.text), {.classes = kAny}));
}

ClassifyTask::ClassifyTask(const Recipe& recipe, const TaskSetup& setup) : TaskWith(recipe) {
  table_ = read_table(own_.data.table, own_.data.columns(own_.data.label_column));
  skipped_ = table_.skipped;
  std::vector<std::string> texts;
  for (const LabelledText& row : table_.rows) {
    texts.push_back(row.text);
    if (!row.pair.empty()) {
      texts.push_back(row.pair);
    }
  }
  tokenizers_ = prepare_text_tokenizer({recipe, own_.text, setup}, [&] { return texts; });
  config_.score = own_.data.score;
  config_.labels = config_.score ? std::vector<std::string>{"score"} : class_names(table_);
  config_.model =
      with_heads(model_to_train(recipe_, tokenizers_), {.classes = std::ssize(config_.labels)});
  any_ = make_model(setup.scope, config_.model);
  model_ = &model_as<TextEncoder>(*any_, config_.model);
  const int64_t most = model_->longest();
  longest_ = most > 0 ? std::min(most, own_.data.max_length) : own_.data.max_length;
}

bool ClassifyTask::fresh(std::string_view parameter) const {
  return parameter.starts_with("classes.") || parameter.starts_with("pooler.");
}

double ClassifyTask::label_of(const LabelledText& row) const {
  const std::string& label = row.label;
  if (config_.score) {
    char* end = nullptr;
    const double score = std::strtod(label.c_str(), &end);
    check(end != label.c_str() && *end == '\0' && std::isfinite(score),
          "[{}] the label {} is not a number, but data.score is true", row.where, label);
    return score;
  }
  const auto found = std::find(config_.labels.begin(), config_.labels.end(), label);
  check(found != config_.labels.end(), "[{}] the label {} does not occur in the training data",
        row.where, label);
  return static_cast<double>(found - config_.labels.begin());
}

ClassifyTask::Examples ClassifyTask::encode(const std::vector<LabelledText>& rows) const {
  const Tokenizer& tokenizer = *tokenizers_.source;
  Examples examples;
  for (const LabelledText& row : rows) {
    std::optional<std::vector<int32_t>> pair;
    if (!own_.data.pair_column.empty()) {
      pair = tokenizer.encode(row.pair);
    }
    examples.texts.push_back(join_texts(tokenizer, tokenizer.encode(row.text), pair, longest_));
    examples.labels.push_back(label_of(row));
    examples.shown.push_back(row.text + (row.pair.empty() ? "" : " | " + row.pair));
  }
  return examples;
}

void ClassifyTask::begin(const DataState& state) {
  Examples examples = encode(table_.rows);
  labels_ = std::move(examples.labels);
  epochs_.emplace(std::move(examples.texts),
                  TextEpochs::Options{.batch_tokens = own_.data.batch_tokens,
                                      .seed = recipe_.train.seed,
                                      .pad = tokenizers_.source->special().pad});
  if (validates()) {
    table_ = read_table({own_.data.valid_table}, own_.data.columns(own_.data.label_column));
    held_out_ = encode(table_.rows);
  }
  config_.examples = pick_examples(table_.rows);
  table_ = {};
  state_ = state;
}

std::unique_ptr<TaskBatch> ClassifyTask::next() {
  auto batch = std::make_unique<LabelledBatch>();
  batch->texts = epochs_->next(state_);
  batch->tokens = batch->texts.count;
  batch->targets = batch->texts.rows;
  batch->after = state_;
  return batch;
}

Tensor ClassifyTask::loss_of(const Tensor& outputs, std::span<const double> labels) const {
  const auto rows = static_cast<int64_t>(labels.size());
  if (config_.score) {
    const std::vector<float> scores(labels.begin(), labels.end());
    return mse(cast(outputs, DType::f32), Tensor::from(scores, {rows, 1}));
  }
  const std::vector<int32_t> classes(labels.begin(), labels.end());
  return cross_entropy(outputs, Tensor::from_ints(classes, {rows}),
                       {.label_smoothing = own_.train.label_smoothing});
}

Tensor ClassifyTask::loss(const TaskBatch& batch) const {
  const HostTexts& texts = static_cast<const LabelledBatch&>(batch).texts;
  std::vector<double> labels;
  for (const int64_t index : texts.indices) {
    labels.push_back(labels_[static_cast<size_t>(index)]);
  }
  return loss_of(model_->classes(to_tensors(texts)), labels);
}

Tensor ClassifyTask::full_batch_loss() const {
  const int64_t length = std::min<int64_t>(longest_, 32);  // of a typical text
  const int64_t rows = std::max<int64_t>(1, own_.data.batch_tokens / length);
  const std::vector<int32_t> lengths(static_cast<size_t>(rows), static_cast<int32_t>(length));
  const TextBatch batch{.tokens = Tensor::zeros({rows, length}, DType::i32),
                        .types = {},
                        .lengths = Tensor::from_ints(lengths, {rows})};
  return loss_of(model_->classes(batch), std::vector<double>(static_cast<size_t>(rows), 0.0));
}

Score ClassifyTask::judge(const TextEncoder& model, const Examples& examples, int64_t step) const {
  std::vector<double> predicted(examples.labels.size());
  double loss = 0.0;
  for (const HostTexts& host :
       batch_texts(examples.texts, own_.data.batch_tokens, tokenizers_.source->special().pad)) {
    std::vector<double> labels;
    for (const int64_t index : host.indices) {
      labels.push_back(examples.labels[static_cast<size_t>(index)]);
    }
    const Tensor outputs = model.classes(to_tensors(host));
    loss += static_cast<double>(loss_of(outputs, labels).item()) * static_cast<double>(host.rows);
    const std::vector<float> values = outputs.to_vector();
    const size_t width = values.size() / static_cast<size_t>(host.rows);
    for (size_t row = 0; row < host.indices.size(); ++row) {
      const auto first = values.begin() + static_cast<int64_t>(row * width);
      const auto best = std::max_element(first, first + static_cast<int64_t>(width));
      predicted[static_cast<size_t>(host.indices[row])] =
          config_.score ? *first : static_cast<double>(best - first);
    }
  }
  Score score{.loss = loss / static_cast<double>(examples.labels.size())};
  score.metric = own_.validation.metric.empty() ? (config_.score ? "spearman" : "accuracy")
                                                : own_.validation.metric;
  score.value = metric_of(score.metric, predicted, examples.labels,
                          static_cast<int32_t>(config_.labels.size()));
  const size_t example = static_cast<size_t>(step) % predicted.size();
  score.example =
      fmt::format("{} -> {}", examples.shown[example],
                  config_.score ? fmt::format("{:.2f}", predicted[example])
                                : config_.labels[static_cast<size_t>(predicted[example])]);
  return score;
}

Score ClassifyTask::validate(int64_t step) const { return judge(*model_, held_out_, step); }

std::string ClassifyTask::test(const std::filesystem::path& folder) const {
  if (own_.data.test_table.empty()) {
    return "";
  }
  const auto loaded = load_as<TextEncoder>(folder, DType::f32);
  const Examples examples =
      encode(read_table({own_.data.test_table}, own_.data.columns(own_.data.label_column)).rows);
  const Score score = judge(*loaded->model, examples, 0);
  return fmt::format("test {}: loss {:.4f} {} {:.4f} over {} examples", own_.data.test_table,
                     score.loss, score.metric, score.value, examples.labels.size());
}

}  // namespace heed
