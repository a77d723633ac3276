// Rules of English and Italian for the built-in corpus: articles, elision, contracted
// prepositions, agreement, verb groups and clauses. Values in, texts out; no state.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/demo/demo_lexicon.h"

namespace heed::demo {

enum class Determiner : uint8_t { the, a, bare, many, this_, that, my, your, our };

struct Agreement {
  int person = 3;
  bool plural = false;
  Gender gender = Gender::masculine;
};

// "the two old bears" without its Italian determiner, which depends on the preposition before it.
struct NounPart {
  Determiner determiner = Determiner::the;
  std::string italian;  // "due vecchi orsi"
  Agreement agreement;
};

struct NounPhrase {
  std::string english;          // with its determiner
  std::vector<NounPart> parts;  // several if joined by "and"; none for a pronoun, which is dropped
  Agreement agreement;
  std::string head;       // English singular
  std::string ambiguous;  // an English word in it of two meanings, or empty
  std::string expected;   // the Italian form of that word
};

enum class Tense : uint8_t {
  present,
  past,
  progressive,
  past_progressive,
  future,
  can,
  must,
  want,
  could,
  had_to,
  wanted
};

struct Clause {
  NounPhrase subject;
  const Verb* verb = nullptr;
  std::optional<NounPhrase> object;
  Tense tense = Tense::past;
  bool negative = false;
  std::string english_tail, italian_tail;  // adverbs and places, each with a space before it
};

// Words.
std::string english_third_person(std::string_view base);
std::string with_a(const std::string& english);  // "an apple"
std::string inflect(std::string_view masculine_singular, const Agreement& agreement);
std::string definite(const Agreement& agreement, std::string_view next);  // "il ", "l'"
std::string joined(std::string_view a, std::string_view b);  // with a space, unless a ends in '

// Phrases. An Italian preposition contracts with the article: "di" + "il leone" = "del leone".
NounPhrase pronoun(std::string_view english);
NounPhrase both(const NounPhrase& a, const NounPhrase& b);  // "a and b"
std::string italian(const NounPhrase& phrase, std::string_view preposition = {});
std::string subject_pronoun(const NounPhrase& phrase);  // he, she, it, they
std::string object_pronoun(const NounPhrase& phrase);   // it, them

// Verb groups.
std::string be(const Agreement& agreement, bool past);      // am, is, are, was, were
std::string essere(const Agreement& agreement, bool past);  // sono, è, erano
// A clitic ("lo", "mi") stands before the finite verb; with `agree`, the participle follows it.
struct Clitic {
  std::string text;
  std::optional<Agreement> agree;
};
Clitic object_clitic(const Agreement& agreement);  // lo, la, li, le
std::string english_verb(const Clause& clause);
std::string italian_verb(const Clause& clause, const Clitic& clitic = {});

// Clauses, without capital and full stop.
std::string english(const Clause& clause);
std::string italian(const Clause& clause);
std::string english_question(const Clause& clause);  // "did the lion chase the zebra"
// Passives turn the clause round: "the zebra was chased by the lion".
std::string english_passive(const Clause& clause);
std::string italian_passive(const Clause& clause);

}  // namespace heed::demo
