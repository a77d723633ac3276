#include "tasks/questions/question_task.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "data/text/stories.h"
#include "decode/stories/answer.h"
#include "models/registry.h"
#include "ops/loss/cross_entropy.h"
#include "tasks/setup/text_setup.h"

namespace heed {
namespace {

// A short story as people would type it.
std::string story_text(const SentenceTable& table, const EncodedText& story) {
  std::string text;
  for (size_t i = story.tokens.size(); i-- > 1;) {
    text += table.text(story.tokens[i]) + ".\n";
  }
  return text + table.text(story.tokens[0]) + "?";
}

std::vector<std::string> story_examples(const SentenceTable& table, const StorySet& set) {
  constexpr size_t kExamples = 4;
  constexpr size_t kMostFacts = 10;
  std::vector<std::string> examples;
  const size_t stride = std::max<size_t>(1, set.stories.size() / kExamples);
  for (size_t i = stride / 2; i < set.stories.size() && examples.size() < kExamples; i += stride) {
    for (size_t at = i; at < std::min(i + stride, set.stories.size()); ++at) {
      if (set.stories[at].tokens.size() <= 1 + kMostFacts) {
        examples.push_back(story_text(table, set.stories[at]));
        break;
      }
    }
  }
  return examples;
}

}  // namespace

void QuestionTask::check_recipe(const Recipe& recipe, const Config& own, std::string_view where) {
  check(!own.data.stories.empty(), "[{}] task {} names no training data: set data.stories", where,
        recipe.task);
  check(own.data.valid_stories.empty() || own.data.valid_share == 0.0,
        "[{}] data.valid_stories and data.valid_share both say what is held out: set one of them",
        where);
  check(own.train.linear_steps == 0 || recipe.model.value("kind", "") == "memory_network",
        "[{}] train.linear_steps is {}, but only a memory_network begins without softmax", where,
        own.train.linear_steps);
}

void QuestionTask::check_model(const Recipe& recipe, const Config& /*own*/) {
  constexpr int64_t kAny = 64;  // words and answers: the data has not been read
  const Json model = with_vocabularies(recipe.model, {.source = 2 * kAny, .target = 2 * kAny});
  try_model<AnsweringModel>(with_answers(model, {.answers = kAny}));
}

QuestionTask::QuestionTask(const Recipe& recipe, const TaskSetup& setup) : TaskWith(recipe) {
  setup.doing("reading stories");
  set_ = read_story_set(story_files(own_.data.stories, own_.data.tasks), table_);
  if (!own_.data.valid_stories.empty()) {
    held_out_ = read_story_set(story_files(own_.data.valid_stories, own_.data.tasks), table_);
  } else if (own_.data.valid_share > 0.0) {
    held_out_ = hold_out(set_, own_.data.valid_share, recipe.train.seed);
    check(!set_.stories.empty(), "[questions] data.valid_share is {} and leaves no story to learn",
          own_.data.valid_share);
  }
  prepare_answers(setup);
  config_.model =
      with_answers(model_to_train(recipe_, tokenizers_), {.answers = std::ssize(config_.labels)});
  any_ = make_model(setup.scope, config_.model);
  model_ = &model_as<AnsweringModel>(*any_, config_.model);
  table_.encode(*tokenizers_.source, model_->longest());
}

// The answers of the training data and the words behind them; or those of the model that the
// training begins with.
void QuestionTask::prepare_answers(const TaskSetup& setup) {
  if (!recipe_.train.from.empty()) {
    config_.labels = load_config(recipe_.train.from).labels;
  } else {
    std::map<std::string, std::string> names;  // by their keys
    for (const std::string& answer : set_.answers) {
      names.try_emplace(answer_key(answer), answer);
    }
    for (const auto& [key, name] : names) {
      config_.labels.push_back(name);
    }
  }
  numbers_ = AnswerNumbers(config_.labels);
  if (!recipe_.train.from.empty()) {
    tokenizers_ = load_tokenizers(recipe_.train.from);
  } else if (setup.resumed && has_tokenizers(setup.folder)) {
    tokenizers_ = load_tokenizers(setup.folder);
  } else {
    const auto vocabulary = story_vocabulary(table_, numbers_.keys());
    tokenizers_ = {vocabulary, vocabulary};
  }
}

void QuestionTask::begin(const DataState& state) {
  forget_old_facts(set_, model_->memory());
  forget_old_facts(held_out_, model_->memory());
  config_.examples = story_examples(table_, validates() ? held_out_ : set_);
  answers_ = numbers_.of(set_.answers);
  const auto unknown = std::find(answers_.begin(), answers_.end(), kIgnore);
  check(unknown == answers_.end(), "[questions] the model of {} does not know the answer \"{}\"",
        recipe_.train.from,
        unknown == answers_.end() ? ""
                                  : set_.answers[static_cast<size_t>(unknown - answers_.begin())]);
  epochs_.emplace(
      std::move(set_.stories),
      TextEpochs::Options{
          .batch_tokens = own_.data.batch_tokens, .seed = recipe_.train.seed, .pad = 0});
  set_ = {};
  state_ = state;
}

std::unique_ptr<TaskBatch> QuestionTask::next() {
  auto batch = std::make_unique<QuestionBatch>();
  const RandomStream random{
      recipe_.train.seed, stream_of(fmt::format("empty facts {} {}", state_.epoch, state_.batch))};
  HostTexts numbers = epochs_->next(state_);
  add_empty_facts(numbers, own_.data.empty_facts, model_->memory(), random);
  batch->stories = pack_stories(table_, numbers);
  for (const int64_t index : numbers.indices) {
    batch->answers.push_back(answers_[static_cast<size_t>(index)]);
  }
  batch->tokens = numbers.count;
  batch->targets = numbers.rows;
  batch->after = state_;
  return batch;
}

Tensor QuestionTask::loss(const TaskBatch& batch) const {
  const auto& questions = static_cast<const QuestionBatch&>(batch);
  StoryBatch stories = to_tensors(questions.stories);
  stories.linear = linear_;
  return cross_entropy(model_->answers(stories),
                       Tensor::from_ints(questions.answers, {questions.stories.rows}));
}

Tensor QuestionTask::full_batch_loss() const {
  constexpr int64_t kWidth = 8;  // sentences of a typical story
  const int64_t width = std::min(kWidth, 1 + model_->memory());
  const int64_t rows = std::max<int64_t>(1, own_.data.batch_tokens / width);
  const std::vector<int32_t> lengths(static_cast<size_t>(rows), static_cast<int32_t>(width));
  const StoryBatch stories{
      .words = Tensor::zeros({rows, std::min<int64_t>(8, model_->longest())}, DType::i32),
      .stories = Tensor::zeros({rows, width}, DType::i32),
      .lengths = Tensor::from_ints(lengths, {rows}),
      .linear = linear_};
  return cross_entropy(model_->answers(stories), Tensor::zeros({rows}, DType::i32));
}

Score QuestionTask::validate(int64_t step) const {
  const StoryErrors judged = judge_stories(*model_, {.table = table_,
                                                     .set = held_out_,
                                                     .answers = numbers_,
                                                     .batch_tokens = own_.data.batch_tokens});
  Score score{.loss = judged.loss, .metric = "accuracy", .value = 1.0 - judged.mean_error()};
  score.measures = {{"mean_error", judged.mean_error()},
                    {"failed_tasks", static_cast<double>(judged.failed())}};
  for (size_t task = 0; held_out_.tasks.size() > 1 && task < held_out_.tasks.size(); ++task) {
    score.measures.push_back({held_out_.tasks[task], judged.errors[task]});
  }
  const size_t example = static_cast<size_t>(step) % judged.said.size();
  const EncodedText& story = held_out_.stories[example];
  score.example = fmt::format("{}? -> {} ({})", table_.text(story.tokens[0]),
                              config_.labels[static_cast<size_t>(judged.said[example])],
                              held_out_.answers[example]);
  return score;
}

std::string QuestionTask::test(const std::filesystem::path& folder) const {
  if (own_.data.test_stories.empty()) {
    return "";
  }
  const auto loaded = load_answerer(folder, DType::f32);
  SentenceTable table;
  StorySet set = read_story_set(story_files(own_.data.test_stories, own_.data.tasks), table);
  table.encode(*tokenizers_.source, model_->longest());
  forget_old_facts(set, model_->memory());
  const StoryErrors errors = judge_stories(
      *loaded->model,
      {.table = table, .set = set, .answers = numbers_, .batch_tokens = own_.data.batch_tokens});
  return "test: " + describe_errors(errors, set);
}

}  // namespace heed
