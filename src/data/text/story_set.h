// Stories of several tasks as numbers of sentences, with their answers: what is learned from, and
// what is held out.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/text/story_batches.h"
#include "data/text/texts.h"
#include "text/tokenizer.h"

namespace heed {

struct StorySet {
  struct Place {
    int32_t task = 0;   // which of the tasks
    int64_t story = 0;  // number in its file
  };

  std::vector<std::string> tasks = {};    // their names
  std::vector<EncodedText> stories = {};  // one for each question: number_story()
  std::vector<std::string> answers = {};  // one for each question
  std::vector<Place> places = {};         // one for each question
};

// Adds the questions of a file, all of which need an answer, as those of the task of this name.
void add_stories(const std::filesystem::path& file, SentenceTable& table, StorySet& set);
// The same of all files, one task each unless names are equal. A set without questions is an Error.
StorySet read_story_set(const std::vector<std::filesystem::path>& files, SentenceTable& table);

// Takes this share of the stories of every task out of the set: those that stay are learned from.
// Questions about one story stay together.
StorySet hold_out(StorySet& set, double share, uint64_t seed);

// The first facts of a story go, until `memory` are left.
void forget_old_facts(StorySet& set, int64_t memory);

// How an answer is compared: in lower case, spaces as tokens have them.
std::string answer_key(std::string_view answer);

// The words of all sentences in lower case, behind the answers: `answers` are keys, each one once,
// and answer i has the number of special tokens + i. An answer that is a word has one number alone.
std::shared_ptr<const Tokenizer> story_vocabulary(const SentenceTable& table,
                                                  const std::vector<std::string>& answers);

}  // namespace heed
