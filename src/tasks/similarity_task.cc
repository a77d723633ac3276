#include "tasks/similarity_task.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "data/text/examples.h"
#include "models/registry.h"
#include "ops/linear.h"
#include "ops/loss/cross_entropy.h"
#include "ops/loss/loss.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "ops/shape/shape.h"
#include "train/metrics/metrics.h"

namespace heed {
namespace {

float score_of(const LabelledText& row) {
  const std::string& label = row.label;
  char* end = nullptr;
  const float score = std::strtof(label.c_str(), &end);
  check(end != label.c_str() && *end == '\0' && std::isfinite(score),
        "[{}] the score {} is not a number", row.where, label);
  return score;
}

// Rows of length 1: x [B,C].
Tensor unit_rows(const Tensor& x) {
  constexpr float kTiny = 1e-12F;
  const Tensor squares = sum(square(x), 1, true);            // [B,1]
  const Tensor inverse = rsqrt(add_scalar(squares, kTiny));  // [B,1]
  return mul(x, expand(inverse, x.shape()));                 // [B,C]
}

}  // namespace

void SimilarityTask::check_recipe(const Recipe& recipe, const Config& own, std::string_view where) {
  own.data.check_recipe(recipe.task, where);
  check(!own.data.pair_column.empty(), "[{}] data.pair_column names no second text", where);
}

void SimilarityTask::check_model(const Recipe& recipe, const Config& own) {
  try_model<TextEncoder>(with_heads(planned_model(recipe, own.text), {.pooler = false}));
}

SimilarityTask::SimilarityTask(const Recipe& recipe, const TaskSetup& setup) : TaskWith(recipe) {
  table_ = read_table(own_.data.table, columns());
  skipped_ = table_.skipped;
  std::vector<std::string> texts;
  for (const LabelledText& row : table_.rows) {
    texts.push_back(row.text);
    texts.push_back(row.pair);
  }
  tokenizers_ = prepare_text_tokenizer({recipe, own_.text, setup}, [&] { return texts; });
  config_.model = with_heads(model_to_train(recipe_, tokenizers_), {.pooler = false});
  any_ = make_model(setup.scope, config_.model);
  model_ = &model_as<TextEncoder>(*any_, config_.model);
  const int64_t most = model_->longest();
  longest_ = most > 0 ? std::min(most, own_.data.max_length) : own_.data.max_length;
}

SimilarityTask::Pairs SimilarityTask::encode(const std::vector<LabelledText>& rows) const {
  Pairs pairs;
  for (const LabelledText& row : rows) {
    pairs.first.push_back(encode_text(*tokenizers_.source, row.text, longest_));
    pairs.second.push_back(encode_text(*tokenizers_.source, row.pair, longest_));
    pairs.scores.push_back(by_score() ? score_of(row) : 1.0F);
  }
  return pairs;
}

void SimilarityTask::begin(const DataState& state) {
  pairs_ = encode(table_.rows);
  const auto [least, most] = std::minmax_element(pairs_.scores.begin(), pairs_.scores.end());
  if (by_score()) {
    check(*least < *most, "[similarity] all scores are {}, expected different ones", *least);
    least_ = *least;
    most_ = *most;
  }
  std::vector<EncodedText> both = pairs_.first;  // as long as a pair is, for the planning
  for (size_t i = 0; i < both.size(); ++i) {
    const std::vector<int32_t>& more = pairs_.second[i].tokens;
    both[i].tokens.insert(both[i].tokens.end(), more.begin(), more.end());
  }
  epochs_.emplace(std::move(both), TextEpochs::Options{.batch_tokens = own_.data.batch_tokens,
                                                       .seed = recipe_.train.seed,
                                                       .pad = tokenizers_.source->special().pad});
  if (validates()) {
    table_ = read_table({own_.data.valid_table}, columns());
    held_out_ = encode(table_.rows);
  }
  config_.examples = pick_examples(table_.rows);
  table_ = {};
  state_ = state;
}

std::unique_ptr<SimilarityTask::PairsBatch> SimilarityTask::pick(
    const Pairs& pairs, std::span<const int64_t> indices) const {
  const int32_t pad = tokenizers_.source->special().pad;
  auto batch = std::make_unique<PairsBatch>();
  batch->first = pad_texts(pairs.first, indices, pad);
  batch->second = pad_texts(pairs.second, indices, pad);
  for (const int64_t index : indices) {
    batch->scores.push_back(pairs.scores[static_cast<size_t>(index)]);
  }
  batch->tokens = batch->first.count + batch->second.count;
  batch->targets = batch->first.rows;
  return batch;
}

std::unique_ptr<TaskBatch> SimilarityTask::next() {
  auto batch = pick(pairs_, epochs_->next(state_).indices);
  batch->after = state_;
  return batch;
}

Tensor SimilarityTask::loss_of(const TextEncoder& model, const PairsBatch& batch,
                               std::vector<float>* cosines) const {
  const Pooling pooling = pooling_of(own_.similarity.pooling);
  const Tensor u = unit_rows(pool(model, to_tensors(batch.first), pooling));   // [B,C]
  const Tensor v = unit_rows(pool(model, to_tensors(batch.second), pooling));  // [B,C]
  const Tensor cosine = sum(mul(u, v), 1);                                     // [B]
  if (cosines != nullptr) {
    *cosines = cosine.to_vector();
  }
  const int64_t rows = cosine.size();
  if (by_score()) {
    std::vector<float> wanted;
    for (const float score : batch.scores) {
      wanted.push_back((score - least_) / (most_ - least_));
    }
    return mse(cosine, Tensor::from(wanted, {rows}));
  }
  // Every other second text of the batch is a wrong one.
  const Tensor all = scale(matmul(u, v, {.transpose_b = true}), own_.similarity.scale);  // [B,B]
  std::vector<int32_t> own(static_cast<size_t>(rows));
  std::iota(own.begin(), own.end(), 0);
  return cross_entropy(all, Tensor::from_ints(own, {rows}));
}

Tensor SimilarityTask::loss(const TaskBatch& batch) const {
  return loss_of(*model_, static_cast<const PairsBatch&>(batch), nullptr);
}

Tensor SimilarityTask::full_batch_loss() const {
  const int64_t length = std::min<int64_t>(longest_, 32);  // of a typical text
  const int64_t rows = std::max<int64_t>(1, own_.data.batch_tokens / (2 * length));
  EncodedText text;
  text.tokens.assign(static_cast<size_t>(length), 0);
  text.first = length;
  const Pairs pairs{{text}, {text}, {least_}};
  return loss(*pick(pairs, std::vector<int64_t>(static_cast<size_t>(rows), 0)));
}

Score SimilarityTask::judge(const TextEncoder& model, const Pairs& pairs) const {
  constexpr size_t kRows = 64;
  std::vector<double> predicted;
  double loss = 0.0;
  for (size_t first = 0; first < pairs.first.size(); first += kRows) {
    std::vector<int64_t> indices(std::min(kRows, pairs.first.size() - first));
    std::iota(indices.begin(), indices.end(), static_cast<int64_t>(first));
    std::vector<float> cosines;
    const Tensor found = loss_of(model, *pick(pairs, indices), &cosines);
    loss += static_cast<double>(found.item()) * static_cast<double>(indices.size());
    predicted.insert(predicted.end(), cosines.begin(), cosines.end());
  }
  Score score{.loss = loss / static_cast<double>(predicted.size())};
  if (by_score()) {
    const std::vector<double> truth(pairs.scores.begin(), pairs.scores.end());
    score.metric = own_.validation.metric == "pearson" ? "pearson" : "spearman";
    score.value =
        score.metric == "pearson" ? pearson(predicted, truth) : spearman(predicted, truth);
  }
  return score;
}

Score SimilarityTask::validate(int64_t /*step*/) const { return judge(*model_, held_out_); }

std::string SimilarityTask::test(const std::filesystem::path& folder) const {
  if (own_.data.test_table.empty()) {
    return "";
  }
  const auto loaded = load_as<TextEncoder>(folder, DType::f32);
  const Pairs pairs = encode(read_table({own_.data.test_table}, columns()).rows);
  const Score score = judge(*loaded->model, pairs);
  const std::string metric =
      score.metric.empty() ? "" : fmt::format(" {} {:.4f}", score.metric, score.value);
  return fmt::format("test {}: loss {:.4f}{} over {} pairs", own_.data.test_table, score.loss,
                     metric, pairs.scores.size());
}

}  // namespace heed
