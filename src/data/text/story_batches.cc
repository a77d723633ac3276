#include "data/text/story_batches.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace heed {
namespace {

std::string_view without_stops(std::string_view sentence) {
  const size_t last = sentence.find_last_not_of(" .?!");
  return last == std::string_view::npos ? "" : sentence.substr(0, last + 1);
}

}  // namespace

SentenceTable::SentenceTable() { number_of(""); }

int32_t SentenceTable::number_of(std::string_view sentence) {
  const auto [entry, added] = numbers_.try_emplace(std::string(without_stops(sentence)), size());
  if (added) {
    texts_.push_back(entry->first);
  }
  return entry->second;
}

void SentenceTable::encode(const Tokenizer& tokenizer, int64_t longest) {
  for (size_t i = words_.size(); i < texts_.size(); ++i) {
    std::vector<int32_t> words = tokenizer.encode(texts_[i]);
    check(std::ssize(words) <= longest,
          "[stories] the sentence \"{}\" has {} words, the model reads at most {}", texts_[i],
          words.size(), longest);
    words_.push_back(std::move(words));
  }
}

EncodedText number_story(std::span<const std::string> facts, const std::string& question,
                         SentenceTable& table, int64_t memory) {
  EncodedText story;
  story.tokens.push_back(table.number_of(question));
  const auto most = static_cast<size_t>(memory);
  const size_t kept = memory == 0 ? facts.size() : std::min(facts.size(), most);
  for (size_t age = 0; age < kept; ++age) {
    story.tokens.push_back(table.number_of(facts[facts.size() - 1 - age]));
  }
  story.first = std::ssize(story.tokens);
  return story;
}

HostStories pack_stories(const SentenceTable& table, const HostTexts& numbers) {
  HostStories batch{.rows = numbers.rows, .width = numbers.width, .lengths = numbers.lengths};
  std::vector<int32_t> occurring{0};
  std::unordered_map<int32_t, int32_t> places{{0, 0}};
  batch.stories.reserve(numbers.tokens.size());
  for (const int32_t number : numbers.tokens) {
    const auto [place, added] = places.try_emplace(number, static_cast<int32_t>(occurring.size()));
    if (added) {
      occurring.push_back(number);
    }
    batch.stories.push_back(place->second);
  }
  batch.sentences = std::ssize(occurring);
  batch.longest = 1;
  for (const int32_t number : occurring) {
    batch.longest = std::max(batch.longest, std::ssize(table.words(number)));
  }
  batch.words.assign(static_cast<size_t>(batch.sentences * batch.longest), 0);
  for (size_t i = 0; i < occurring.size(); ++i) {
    const std::span<const int32_t> words = table.words(occurring[i]);
    std::copy(words.begin(), words.end(),
              batch.words.begin() + static_cast<int64_t>(i) * batch.longest);
  }
  return batch;
}

void add_empty_facts(HostTexts& numbers, float probability, int64_t memory,
                     const RandomStream& random) {
  if (probability == 0.0F) {
    return;
  }
  uint64_t drawn = 0;
  std::vector<EncodedText> stories;
  std::vector<int64_t> order;
  for (int64_t row = 0; row < numbers.rows; ++row) {
    const int32_t* given = numbers.tokens.data() + row * numbers.width;
    EncodedText story{.tokens = {given[0]}};
    for (int64_t i = 1; i < numbers.lengths[static_cast<size_t>(row)]; ++i) {
      if (random.uniform(drawn++) < probability) {
        story.tokens.push_back(0);
      }
      story.tokens.push_back(given[i]);
    }
    story.tokens.resize(std::min(story.tokens.size(), static_cast<size_t>(1 + memory)));
    story.first = std::ssize(story.tokens);
    order.push_back(row);
    stories.push_back(std::move(story));
  }
  std::vector<int64_t> indices = std::move(numbers.indices);
  numbers = pad_texts(stories, order, 0);
  numbers.indices = std::move(indices);
}

}  // namespace heed
