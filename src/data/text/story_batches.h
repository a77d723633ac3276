// Stories as models read them: every sentence that occurs has a number, and a story is the number
// of its question and those of its facts, the newest first. Few sentences make many stories, so a
// batch lists the words of each sentence once.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/random.h"
#include "data/text/stories.h"
#include "data/text/texts.h"
#include "text/tokenizer.h"

namespace heed {

// The sentences of stories, each once. Number 0 is the empty one. The stops at the end of a
// sentence are no words of it.
class SentenceTable {
 public:
  SentenceTable();

  int32_t number_of(std::string_view sentence);  // adds it, if it is new
  int32_t size() const { return static_cast<int32_t>(texts_.size()); }
  const std::string& text(int32_t number) const { return texts_[static_cast<size_t>(number)]; }

  // The words of all sentences; one of more than `longest` words is an Error.
  void encode(const Tokenizer& tokenizer, int64_t longest);
  std::span<const int32_t> words(int32_t number) const {
    return words_[static_cast<size_t>(number)];
  }

 private:
  std::vector<std::string> texts_;
  std::unordered_map<std::string, int32_t> numbers_;
  std::vector<std::vector<int32_t>> words_;
};

// A story as a text whose tokens are sentences: the question, then the newest `memory` facts, the
// newest first; 0: all of them. Sentences that are new are added to the table.
EncodedText number_story(std::span<const std::string> facts, const std::string& question,
                         SentenceTable& table, int64_t memory = 0);

// B stories with the words of their S sentences.
struct HostStories {
  int64_t sentences = 0;              // S
  int64_t longest = 0;                // W: words of a sentence, at least 1
  int64_t rows = 0;                   // B
  int64_t width = 0;                  // T: sentences of a story
  std::vector<int32_t> words = {};    // [S,W], 0 behind the last word; sentence 0 is empty
  std::vector<int32_t> stories = {};  // [B,T] the question and the facts; 0 behind the last one
  std::vector<int32_t> lengths = {};  // [B] of stories
};
// The table must be encoded.
HostStories pack_stories(const SentenceTable& table, const HostTexts& numbers);

// Puts an empty sentence before each fact with this probability, so that models do not learn the
// exact age of facts by heart (Sukhbaatar et al. 2015); no more than `memory` facts stay.
void add_empty_facts(HostTexts& numbers, float probability, int64_t memory,
                     const RandomStream& random);

}  // namespace heed
