// The words of the built-in English-Italian corpus: tables only, no rules. Nouns, verbs and
// adjectives carry the forms that rules cannot give and the kinds of things they go with.
// Everything is constant and lives as long as the program.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace heed::demo {

enum class Gender : uint8_t { masculine, feminine };

// What a noun is good for; sets of them say what a verb or an adjective goes with.
using Kinds = uint32_t;
inline constexpr Kinds kPerson = 1U << 0;
inline constexpr Kinds kAnimal = 1U << 1;
inline constexpr Kinds kFood = 1U << 2;
inline constexpr Kinds kDrink = 1U << 3;
inline constexpr Kinds kText = 1U << 4;
inline constexpr Kinds kOpening = 1U << 5;    // what one opens, closes and passes through
inline constexpr Kinds kObject = 1U << 6;     // what one buys, carries and loses
inline constexpr Kinds kCrossable = 1U << 7;  // what one crosses
inline constexpr Kinds kPlace = 1U << 8;      // where things happen: in the garden
inline constexpr Kinds kFurniture = 1U << 9;  // beside which things happen: under the table
inline constexpr Kinds kBuilding = 1U << 10;
inline constexpr Kinds kHardship = 1U << 11;  // what one cannot bear
inline constexpr Kinds kLamp = 1U << 12;      // what gives light
inline constexpr Kinds kCue = 1U << 13;       // stands only beside ambiguous words
inline constexpr Kinds kLiving = kPerson | kAnimal;
inline constexpr Kinds kThing = kObject | kText | kFurniture;

struct Noun {
  std::string_view english, english_plural;  // no plural: a mass noun
  std::string_view italian, italian_plural;
  Gender gender = Gender::masculine;
  Kinds kinds = 0;
};

struct Verb {
  std::string_view english, past, participle, progressive;
  std::string_view infinitive, present_singular, present_plural, gerund, italian_participle;
  Kinds subject = 0;
  Kinds object = 0;  // 0: takes none
  // How its past is made: with "avere", where the participle stays as it is; likewise, but also in
  // the passive and after pronouns, where the participle agrees; or with "essere".
  enum class Participle : uint8_t { plain, agrees, with_essere } kind = Participle::plain;
  std::string_view future = {};      // up to the ending: "comprer"; empty: never in the future
  std::string_view imperative = {};  // second person singular; empty: never an imperative
};

struct Adjective {
  std::string_view english;
  std::string_view italian;      // masculine singular; the rest follows from its ending
  Kinds kinds = 0;               // of what it is said
  bool before = false;           // stands before the noun in Italian
  std::string_view comparative;  // English; empty: not compared
};

// An ambiguous English noun and one of its meanings, with the words that give it away.
struct Sense {
  std::string_view word;
  Noun noun;
  std::span<const std::string_view> subjects;  // who deals with it in this sense
  std::span<const std::string_view> owners;    // "the bank of the river"
  struct Purpose {
    std::string_view verb, object;  // "to light the candle"
  };
  std::span<const Purpose> purposes;
  std::span<const std::string_view> verbs;  // the same for all senses of the word
};

std::span<const Noun> nouns();
std::span<const Verb> verbs();
std::span<const Adjective> adjectives();
std::span<const Sense> senses();

// By English singular, infinitive or positive; an unknown one is an Error.
const Noun& noun(std::string_view english);
const Verb& verb(std::string_view english);
const Adjective& adjective(std::string_view english);

}  // namespace heed::demo
