// Random phrases and clauses for the families of sentences of the built-in corpus. What is drawn
// depends on the numbers of the Draw alone.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "data/demo/demo_grammar.h"

namespace heed::demo {

// Consecutive numbers of one random stream. Not to be shared between threads.
class Draw {
 public:
  explicit Draw(const RandomStream& stream) : stream_(stream) {}

  size_t below(size_t n) { return (uint64_t{stream_.bits(index_++)} * n) >> 32; }
  bool chance(size_t percent) { return below(100) < percent; }
  template <typename Range>
  const auto& pick(const Range& range) {
    return *(std::begin(range) + static_cast<std::ptrdiff_t>(below(std::size(range))));
  }

 private:
  RandomStream stream_;
  uint64_t index_ = 0;
};

struct Sentence {
  std::string english, italian;  // without capital and final mark
  char mark = '.';
  std::string ambiguous, expected;
  std::vector<std::string> combinations;  // of words; some are held out of training
};

struct Pair {
  std::string_view english, italian;
};
struct Text {
  std::string english, italian;
};
inline constexpr std::string_view kPronouns[] = {"I", "you", "he", "she", "we", "they"};
std::span<const Pair> number_words();

const Noun& draw_noun(Draw& draw, Kinds kinds, std::string_view except = {});

struct PhraseOptions {
  bool plain = false;                    // "the" or "a", no numbers, nobody's
  bool definite = false;                 // nothing but "the"
  size_t adjectives = 25;                // percent of phrases with one
  const Adjective* adjective = nullptr;  // this one, whatever the percentage
  int plural = -1;                       // 0 or 1 decides; -1 leaves it to chance
};
NounPhrase draw_phrase(Draw& draw, const Noun& noun, const PhraseOptions& options = {});
NounPhrase draw_subject(Draw& draw, Kinds kinds, size_t adjectives = 20);  // also pairs
Tense draw_tense(Draw& draw, const Verb& verb, const Agreement& subject);
bool has_progressive(const Verb& verb);
const Adjective& draw_adjective(Draw& draw, Kinds kinds);
const Verb& draw_intransitive(Draw& draw, Kinds subject);
// A transitive verb whose subjects and objects have one of these kinds.
const Verb& draw_verb(Draw& draw, Kinds subject, Kinds object);
Clause draw_transitive(Draw& draw, size_t adjectives = 25);
Clause draw_agreeing(Draw& draw, size_t adjectives = 25);  // in the past; its participle agrees
Text draw_place(Draw& draw);
void add_time(Draw& draw, Clause& clause, size_t percent);
void add_tail(Draw& draw, Clause& clause, size_t percent);  // when or where
void note(Sentence& sentence, const NounPhrase& phrase);    // its ambiguous word, if any
void note(Sentence& sentence, const Clause& clause);        // and its combinations
Sentence sentence_of(const Clause& clause);

}  // namespace heed::demo
