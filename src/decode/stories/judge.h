// How many questions of each task a model answers wrongly.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "data/text/story_set.h"
#include "models/answering/answering_model.h"

namespace heed {

// The answers that a model knows, by their texts in any case.
class AnswerNumbers {
 public:
  AnswerNumbers() = default;
  explicit AnswerNumbers(const std::vector<std::string>& labels);

  // kIgnore for an answer that the model does not know, which nobody can be right about.
  std::vector<int32_t> of(const std::vector<std::string>& answers) const;
  const std::vector<std::string>& keys() const { return keys_; }  // in order

 private:
  std::vector<std::string> keys_;
  std::map<std::string, int32_t> numbers_;
};

struct StoryErrors {
  double loss = 0.0;                // the mean over questions whose answer is known
  std::vector<int32_t> said = {};   // one for each question
  std::vector<double> errors = {};  // one for each task, from 0 to 1

  double mean_error() const;  // over the tasks
  int64_t failed() const;     // tasks with an error of more than 5 %, as the literature counts
};

struct JudgedStories {
  const SentenceTable& table;  // encoded
  const StorySet& set;         // no story has more facts than the model reads
  const AnswerNumbers& answers;
  int64_t batch_tokens = 4096;
};
StoryErrors judge_stories(const AnsweringModel& model, const JudgedStories& stories);

// "mean error 1.20 % over 20 tasks, ..." and a line for each task.
std::string describe_errors(const StoryErrors& errors, const StorySet& set);

}  // namespace heed
