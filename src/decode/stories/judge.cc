#include "decode/stories/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/ignore.h"
#include "decode/stories/answer.h"
#include "ops/loss/cross_entropy.h"

namespace heed {
namespace {

constexpr double kFailedError = 0.05;

std::vector<double> errors_by_task(const StorySet& set, const std::vector<int32_t>& said,
                                   const std::vector<int32_t>& truth) {
  std::vector<double> errors(set.tasks.size(), 0.0);
  std::vector<int64_t> asked(set.tasks.size(), 0);
  for (size_t i = 0; i < truth.size(); ++i) {
    const auto task = static_cast<size_t>(set.places[i].task);
    errors[task] += said[i] == truth[i] ? 0.0 : 1.0;
    ++asked[task];
  }
  for (size_t task = 0; task < asked.size(); ++task) {
    errors[task] /= static_cast<double>(std::max<int64_t>(1, asked[task]));
  }
  return errors;
}

}  // namespace

AnswerNumbers::AnswerNumbers(const std::vector<std::string>& labels) {
  for (size_t i = 0; i < labels.size(); ++i) {
    keys_.push_back(answer_key(labels[i]));
    numbers_.emplace(keys_.back(), static_cast<int32_t>(i));
  }
}

std::vector<int32_t> AnswerNumbers::of(const std::vector<std::string>& answers) const {
  std::vector<int32_t> numbers;
  numbers.reserve(answers.size());
  for (const std::string& answer : answers) {
    const auto found = numbers_.find(answer_key(answer));
    numbers.push_back(found == numbers_.end() ? kIgnore : found->second);
  }
  return numbers;
}

double StoryErrors::mean_error() const {
  return std::accumulate(errors.begin(), errors.end(), 0.0) / static_cast<double>(errors.size());
}

int64_t StoryErrors::failed() const {
  return std::ranges::count_if(errors, [](double error) { return error > kFailedError; });
}

StoryErrors judge_stories(const AnsweringModel& model, const JudgedStories& stories) {
  const std::vector<int32_t> truth = stories.answers.of(stories.set.answers);
  StoryErrors result{.said = std::vector<int32_t>(truth.size(), 0)};
  int64_t counted = 0;
  for (const HostTexts& numbers : batch_texts(stories.set.stories, stories.batch_tokens, 0)) {
    const Tensor scores = model.answers(to_tensors(pack_stories(stories.table, numbers)));  // [B,A]
    const std::vector<float> values = scores.to_vector();
    const auto width = static_cast<int64_t>(values.size()) / numbers.rows;
    std::vector<int32_t> targets;
    for (int64_t row = 0; row < numbers.rows; ++row) {
      const auto index = static_cast<size_t>(numbers.indices[static_cast<size_t>(row)]);
      const auto first = values.begin() + row * width;
      targets.push_back(truth[index]);
      result.said[index] = static_cast<int32_t>(std::max_element(first, first + width) - first);
    }
    const auto known = numbers.rows - std::ranges::count(targets, kIgnore);
    if (known > 0) {
      const Tensor loss = cross_entropy(scores, Tensor::from_ints(targets, {numbers.rows}));
      result.loss += static_cast<double>(loss.item()) * static_cast<double>(known);
      counted += known;
    }
  }
  result.loss /= static_cast<double>(std::max<int64_t>(1, counted));
  result.errors = errors_by_task(stories.set, result.said, truth);
  return result;
}

std::string describe_errors(const StoryErrors& errors, const StorySet& set) {
  std::string text = fmt::format(
      "mean error {:.2f} % over {} tasks, of which {} fail (over {:.0f} %), {} questions",
      100 * errors.mean_error(), set.tasks.size(), errors.failed(), 100 * kFailedError,
      set.stories.size());
  for (size_t task = 0; task < set.tasks.size(); ++task) {
    text += fmt::format("\n{:>7.2f} %  {}", 100 * errors.errors[task], set.tasks[task]);
  }
  return text;
}

}  // namespace heed
