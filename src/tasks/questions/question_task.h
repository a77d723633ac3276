// Learning to answer questions about stories, such as the bAbI tasks (Weston et al. 2015): one
// task, or several at once with one model. An answer, also one that is a list, is one class.
//
// What counts is the error of each task, their mean, and how many tasks fail, which is an error of
// more than 5 %.
#pragma once

#include "data/text/story_set.h"
#include "decode/stories/judge.h"
#include "models/answering/answering_model.h"
#include "tasks/setup/data_config.h"
#include "train/task.h"

namespace heed {

struct QuestionDataConfig : BatchConfig {
  std::vector<std::string> stories, valid_stories, test_stories;
  std::vector<int64_t> tasks;
  double valid_share = 0.0;
  float empty_facts = 0.1F;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("stories", stories,
      "files of stories with questions, and folders of them; the file is the task", {.path = true});
    v("tasks", tasks, "numbers of the tasks to learn, by the names of the files; empty: all");
    v("valid_stories", valid_stories, "held-out files and folders for validation", {.path = true});
    v("valid_share", valid_share, "without valid_stories: share of the stories to hold out",
      {.least = 0, .most = 0.9});
    v("test_stories", test_stories, "held-out files and folders for the final test",
      {.path = true});
    v("empty_facts", empty_facts,
      "probability of an empty sentence before each fact, so that the exact age of facts is not "
      "learned by heart",
      {.least = 0, .most = 0.9});
    BatchConfig::fields(v);
  }
};

struct QuestionTrainConfig {
  int64_t linear_steps = 0;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("linear_steps", linear_steps,
      "steps that a memory network learns without softmax in its hops at first", {.least = 0});
  }
};

struct QuestionConfig {
  QuestionDataConfig data;
  QuestionTrainConfig train;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("data", data, "what is read");
    v("train", train, "the loss");
  }
};

class QuestionTask : public TaskWith<QuestionConfig> {
 public:
  QuestionTask(const Recipe& recipe, const TaskSetup& setup);
  static void check_recipe(const Recipe& recipe, const Config& own, std::string_view where);
  static void check_model(const Recipe& recipe, const Config& own);

  void begin(const DataState& state) override;
  std::unique_ptr<TaskBatch> next() override;
  std::optional<int64_t> epoch_batches() const override { return epochs_->epoch_batches(); }
  void begin_step(int64_t complete) override { linear_ = complete < own_.train.linear_steps; }
  Tensor loss(const TaskBatch& batch) const override;
  Tensor full_batch_loss() const override;
  bool validates() const override { return !held_out_.stories.empty(); }
  Score validate(int64_t step) const override;
  std::string test(const std::filesystem::path& folder) const override;

 private:
  struct QuestionBatch : TaskBatch {
    HostStories stories;
    std::vector<int32_t> answers;
  };
  void prepare_answers(const TaskSetup& setup);

  AnsweringModel* model_ = nullptr;  // any_
  SentenceTable table_;
  StorySet set_;  // of the training, until begin()
  StorySet held_out_;
  AnswerNumbers numbers_;
  std::vector<int32_t> answers_;  // of the training
  std::optional<TextEpochs> epochs_;
  DataState state_;
  bool linear_ = false;
};

}  // namespace heed
