#include "data/text/story_set.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "base/random.h"
#include "data/text/stories.h"
#include "text/unicode.h"
#include "text/vocabulary.h"

namespace heed {
namespace {

int32_t task_place(StorySet& set, const std::string& task) {
  const auto found = std::find(set.tasks.begin(), set.tasks.end(), task);
  if (found != set.tasks.end()) {
    return static_cast<int32_t>(found - set.tasks.begin());
  }
  set.tasks.push_back(task);
  return static_cast<int32_t>(set.tasks.size() - 1);
}

}  // namespace

void add_stories(const std::filesystem::path& file, SentenceTable& table, StorySet& set) {
  const int32_t task = task_place(set, story_task(file));
  StoryLines lines(file);
  while (const Story* story = lines.next()) {
    check(!story->answer.empty(),
          "[{}] the question \"{}\" has no answer: it follows the question behind a tab",
          story->where, story->question);
    set.stories.push_back(number_story(story->facts, story->question, table));
    set.answers.push_back(story->answer);
    set.places.push_back({task, story->number});
  }
}

StorySet read_story_set(const std::vector<std::filesystem::path>& files, SentenceTable& table) {
  StorySet set;
  for (const std::filesystem::path& file : files) {
    const size_t before = set.stories.size();
    add_stories(file, table, set);
    check(set.stories.size() > before, "[stories] {} has no question", file.string());
  }
  return set;
}

StorySet hold_out(StorySet& set, double share, uint64_t seed) {
  StorySet kept{.tasks = set.tasks};
  StorySet out{.tasks = set.tasks};
  for (size_t i = 0; i < set.stories.size(); ++i) {
    const StorySet::Place& place = set.places[i];
    const RandomStream random{seed,
                              stream_of("held out " + set.tasks[static_cast<size_t>(place.task)])};
    StorySet& to = random.uniform(static_cast<uint64_t>(place.story)) < share ? out : kept;
    to.stories.push_back(std::move(set.stories[i]));
    to.answers.push_back(std::move(set.answers[i]));
    to.places.push_back(place);
  }
  set = std::move(kept);
  return out;
}

void forget_old_facts(StorySet& set, int64_t memory) {
  for (EncodedText& story : set.stories) {
    story.tokens.resize(std::min(story.tokens.size(), static_cast<size_t>(1 + memory)));
    story.first = std::ssize(story.tokens);
  }
}

std::string answer_key(std::string_view answer) {
  std::string key;
  for (const CodePoint& c : CodePoints(answer)) {
    key += is_space(c.value) ? std::string(kSpaceMark) : to_utf8(lower_case(c.value));
  }
  return key;
}

std::shared_ptr<const Tokenizer> story_vocabulary(const SentenceTable& table,
                                                  const std::vector<std::string>& answers) {
  std::vector<std::string> sentences;
  sentences.reserve(static_cast<size_t>(table.size()));
  for (int32_t i = 0; i < table.size(); ++i) {
    sentences.push_back(table.text(i));
  }
  const auto words =
      Vocabulary::train(sentences, {.kind = "word", .vocabulary = 1 << 20, .lower_case = true});
  Vocabulary::Content content;
  content.lower_case = true;
  content.special = words->special();
  const int32_t special = words->special().unk + 1;
  for (int32_t id = 0; id < special; ++id) {
    content.tokens.push_back(words->piece(id));
  }
  std::unordered_set<std::string> said(content.tokens.begin(), content.tokens.end());
  for (const std::string& answer : answers) {
    check(said.insert(answer).second, "[stories] the answer \"{}\" is a special token", answer);
    content.tokens.push_back(answer);
  }
  for (int32_t id = special; id < words->size(); ++id) {
    if (!said.contains(words->piece(id))) {
      content.tokens.push_back(words->piece(id));
    }
  }
  return std::make_shared<Vocabulary>(std::move(content), "stories");
}

}  // namespace heed
