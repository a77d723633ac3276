#include "decode/stories/answer.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "nn/scopes/attention_scope.h"
#include "ops/shape/cast.h"
#include "ops/softmax.h"

namespace heed {
namespace {

// Of one row of a batch: values of its sentences, the question first and the newest fact next, are
// put in order. Values may lack the question.
struct Unpacked {
  std::vector<float> facts = {};
  float question = 0.0F;
};
Unpacked unpack(std::span<const float> values, bool has_question, int64_t read, size_t facts) {
  Unpacked result{.facts = std::vector<float>(facts, 0.0F)};
  const size_t first = has_question ? 1 : 0;
  result.question = has_question ? values[0] : 0.0F;
  for (size_t age = 0; age + 1 < static_cast<size_t>(read); ++age) {
    result.facts[facts - 1 - age] = values[first + age];
  }
  return result;
}

// f32 [B,H,queries,keys]: what query 0 of a row looks at, the mean over the heads.
std::vector<float> first_query(const Tensor& weights, int64_t row) {
  const int64_t heads = weights.dim(1);
  const int64_t queries = weights.dim(2);
  const int64_t keys = weights.dim(3);
  std::vector<float> mean(static_cast<size_t>(keys), 0.0F);
  for (int64_t head = 0; head < heads; ++head) {
    const float* from = weights.data<float>() + (row * heads + head) * queries * keys;
    for (int64_t key = 0; key < keys; ++key) {
      mean[static_cast<size_t>(key)] += from[key] / static_cast<float>(heads);
    }
  }
  return mean;
}

void look(const AttentionScope& scope, const HostTexts& numbers, int64_t row, size_t facts,
          Answered& answered) {
  const int64_t read = numbers.lengths[static_cast<size_t>(row)];
  for (const LayerAttention& layer : scope.layers()) {
    const bool has_question = layer.weights.dim(3) == numbers.width;
    Unpacked looked = unpack(first_query(layer.weights, row), has_question, read, facts);
    answered.looks.push_back({layer.layer, std::move(looked.facts), looked.question});
  }
  for (const Pondering& pondering : scope.pondering()) {
    const std::span<const float> steps = pondering.steps.span<float>().subspan(
        static_cast<size_t>(row * numbers.width), static_cast<size_t>(numbers.width));
    Unpacked thought = unpack(steps, true, read, facts);
    answered.fact_steps = std::move(thought.facts);
    answered.question_steps = thought.question;
  }
}

}  // namespace

std::unique_ptr<LoadedAnswerer> load_answerer(const std::filesystem::path& folder,
                                              std::optional<DType> compute) {
  auto loaded = load_as<AnsweringModel>(folder, compute);
  check(std::ssize(loaded->config.labels) == loaded->spec().classes,
        "[model folder] {}: config.json names {} answers (id2label), the model has {}",
        folder.string(), loaded->config.labels.size(), loaded->spec().classes);
  return loaded;
}

StoryBatch to_tensors(const HostStories& stories) {
  return {.words = Tensor::from_ints(stories.words, {stories.sentences, stories.longest}),
          .stories = Tensor::from_ints(stories.stories, {stories.rows, stories.width}),
          .lengths = Tensor::from_ints(stories.lengths, {stories.rows})};
}

void check_question(const LoadedAnswerer& model, const AskedQuestion& asked) {
  SentenceTable table;
  number_story(asked.facts, asked.question, table, model.model->memory());
  table.encode(*model.tokenizers.source, model.model->longest());
}

std::vector<Answered> answer(const LoadedAnswerer& model, std::span<const AskedQuestion> questions,
                             const AnswerOptions& options) {
  SentenceTable table;
  std::vector<EncodedText> stories;
  for (const AskedQuestion& asked : questions) {
    stories.push_back(number_story(asked.facts, asked.question, table, model.model->memory()));
  }
  table.encode(*model.tokenizers.source, model.model->longest());
  std::vector<Answered> all(questions.size());
  for (const HostTexts& numbers : batch_texts(stories, options.batch_tokens, 0)) {
    std::optional<AttentionScope> scope;
    if (options.look) {
      scope.emplace();
    }
    const Tensor scores = model.model->answers(to_tensors(pack_stories(table, numbers)));  // [B,A]
    const std::vector<float> values = softmax(cast(scores, DType::f32)).to_vector();
    const size_t count = values.size() / static_cast<size_t>(numbers.rows);
    for (int64_t row = 0; row < numbers.rows; ++row) {
      const auto index = static_cast<size_t>(numbers.indices[static_cast<size_t>(row)]);
      const auto first = values.begin() + row * static_cast<int64_t>(count);
      Answered& answered = all[index];
      answered.probabilities.assign(first, first + static_cast<int64_t>(count));
      answered.best = static_cast<size_t>(std::ranges::max_element(answered.probabilities) -
                                          answered.probabilities.begin());
      if (scope) {
        look(*scope, numbers, row, questions[index].facts.size(), answered);
      }
    }
  }
  return all;
}

}  // namespace heed
