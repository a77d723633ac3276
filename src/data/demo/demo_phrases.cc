#include "data/demo/demo_phrases.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"

namespace heed::demo {
namespace {

constexpr Pair kPastTimes[] = {{"yesterday", "ieri"},
                               {"this morning", "questa mattina"},
                               {"last week", "la settimana scorsa"}};
constexpr Pair kPresentTimes[] = {{"every day", "ogni giorno"}, {"today", "oggi"}};
constexpr Pair kNowTimes[] = {{"now", "adesso"}, {"today", "oggi"}};
constexpr Pair kFutureTimes[] = {{"tomorrow", "domani"}, {"next week", "la settimana prossima"}};
constexpr Pair kBeside[] = {{"under", "sotto"},   {"on", "su"},
                            {"on", "su"},         {"behind", "dietro"},
                            {"near", "vicino a"}, {"in front of", "davanti a"}};

Determiner draw_determiner(Draw& draw, const Noun& noun, bool plural, bool plain) {
  if (noun.english_plural.empty()) {
    return Determiner::the;
  }
  const size_t number = draw.below(100);
  if (plain || number < 60) {
    return plural || number < 40 ? Determiner::the : Determiner::a;
  }
  constexpr Determiner kOthers[] = {Determiner::this_, Determiner::that, Determiner::my,
                                    Determiner::your, Determiner::our};
  if (plural && number < 80) {
    return number < 70 ? Determiner::bare : Determiner::many;
  }
  return draw.pick(kOthers);
}

std::string english_determiner(Determiner determiner, bool plural) {
  switch (determiner) {
    case Determiner::many:
      return "many";
    case Determiner::this_:
      return plural ? "these" : "this";
    case Determiner::that:
      return plural ? "those" : "that";
    case Determiner::my:
      return "my";
    case Determiner::your:
      return "your";
    case Determiner::our:
      return "our";
    default:
      return "the";
  }
}

std::span<const Pair> times_of(Tense tense) {
  switch (tense) {
    case Tense::present:
      return kPresentTimes;
    case Tense::future:
      return kFutureTimes;
    case Tense::progressive:
    case Tense::can:
    case Tense::must:
    case Tense::want:
      return kNowTimes;
    default:
      return kPastTimes;
  }
}

}  // namespace

constexpr Pair kNumberWords[] = {{"two", "due"},     {"three", "tre"}, {"four", "quattro"},
                                 {"five", "cinque"}, {"six", "sei"},   {"ten", "dieci"}};

std::span<const Pair> number_words() { return kNumberWords; }

bool has_progressive(const Verb& verb) {
  constexpr std::string_view kStates[] = {"see", "find", "lose", "reach"};
  return std::find(std::begin(kStates), std::end(kStates), verb.english) == std::end(kStates);
}

const Adjective& draw_adjective(Draw& draw, Kinds kinds) {
  std::vector<const Adjective*> fitting;
  for (const Adjective& adjective : adjectives()) {
    if ((adjective.kinds & kinds) != 0) {
      fitting.push_back(&adjective);
    }
  }
  check(!fitting.empty(), "[demo_corpus] no adjective goes with kinds {:#x}", kinds);
  return *draw.pick(fitting);
}

// "in the garden", "under the table".
Text draw_place(Draw& draw) {
  const PhraseOptions options{.plain = true, .adjectives = 15};
  if (draw.chance(45)) {
    const NounPhrase place = draw_phrase(draw, draw_noun(draw, kPlace), options);
    return {fmt::format("in {}", place.english), italian(place, "in")};
  }
  const Pair& beside = draw.pick(kBeside);
  const NounPhrase place = draw_phrase(draw, draw_noun(draw, kFurniture), options);
  return {fmt::format("{} {}", beside.english, place.english), italian(place, beside.italian)};
}

const Noun& draw_noun(Draw& draw, Kinds kinds, std::string_view except) {
  std::vector<const Noun*> fitting;
  for (const Noun& noun : nouns()) {
    if ((noun.kinds & kinds) != 0 && noun.english != except) {
      fitting.push_back(&noun);
    }
  }
  check(!fitting.empty(), "[demo_corpus] no noun is of kinds {:#x}", kinds);
  return *draw.pick(fitting);
}

NounPhrase draw_phrase(Draw& draw, const Noun& noun, const PhraseOptions& options) {
  const bool plural =
      !noun.english_plural.empty() && (options.plural >= 0 ? options.plural == 1 : draw.chance(40));
  const Determiner determiner =
      options.definite ? Determiner::the : draw_determiner(draw, noun, plural, options.plain);
  const Adjective* adjective = options.adjective;
  if (adjective == nullptr && (noun.kinds & ~kCue) != 0 && draw.chance(options.adjectives)) {
    adjective = &draw_adjective(draw, noun.kinds & ~kCue);
  }
  const Agreement agreement{.person = 3, .plural = plural, .gender = noun.gender};
  std::string english(plural ? noun.english_plural : noun.english);
  std::string core(plural ? noun.italian_plural : noun.italian);
  NounPhrase phrase{.english = {},
                    .parts = {},
                    .agreement = agreement,
                    .head = std::string(noun.english),
                    .ambiguous = {},
                    .expected = {}};
  if (noun.english == "bear") {
    phrase.ambiguous = noun.english;
    phrase.expected = core;
  }
  if (adjective != nullptr) {
    const std::string inflected = inflect(adjective->italian, agreement);
    english = fmt::format("{} {}", adjective->english, english);
    core = adjective->before ? joined(inflected, core) : joined(core, inflected);
    if (adjective->english == "light") {
      phrase.ambiguous = "light";
      phrase.expected = inflected;
    }
  }
  if (determiner == Determiner::bare) {
    const Pair& number = draw.pick(number_words());
    english = fmt::format("{} {}", number.english, english);
    core = fmt::format("{} {}", number.italian, core);
    phrase.english = english;
  } else {
    phrase.english = determiner == Determiner::a
                         ? with_a(english)
                         : fmt::format("{} {}", english_determiner(determiner, plural), english);
  }
  if (determiner == Determiner::the && !options.plain && !options.definite && draw.chance(15)) {
    const NounPhrase owner = draw_phrase(draw, draw_noun(draw, kPerson, noun.english),
                                         {.definite = true, .adjectives = 0, .plural = 0});
    phrase.english = fmt::format("{}'s {}", owner.english, english);
    core += fmt::format(" {}", italian(owner, "di"));
  }
  phrase.parts = {{determiner, core, agreement}};
  return phrase;
}

NounPhrase draw_subject(Draw& draw, Kinds kinds, size_t adjectives) {
  const Noun& noun = draw_noun(draw, kinds);
  NounPhrase phrase = draw_phrase(draw, noun, {.adjectives = adjectives});
  if (!draw.chance(8)) {
    return phrase;
  }
  return both(phrase,
              draw_phrase(draw, draw_noun(draw, kinds, noun.english), {.adjectives = adjectives}));
}

Tense draw_tense(Draw& draw, const Verb& verb, const Agreement& subject) {
  const bool state = !has_progressive(verb);
  const bool third = subject.person == 3;
  const bool same_past = subject.plural && verb.past == verb.english;  // "they read"
  struct Choice {
    Tense tense;
    size_t weight;
  };
  const Choice choices[] = {{Tense::past, 26},
                            {Tense::present, third && !same_past ? 34U : 0U},
                            {Tense::progressive, state ? 0U : 12U},
                            {Tense::past_progressive, state ? 0U : 6U},
                            {Tense::future, third && !verb.future.empty() ? 45U : 0U},
                            {Tense::can, 4},
                            {Tense::must, 4},
                            {Tense::want, 4},
                            {Tense::could, third ? 3U : 0U},
                            {Tense::had_to, third ? 3U : 0U},
                            {Tense::wanted, 3}};
  size_t total = 0;
  for (const Choice& choice : choices) {
    total += choice.weight;
  }
  size_t number = draw.below(total);
  for (const Choice& choice : choices) {
    if (number < choice.weight) {
      return choice.tense;
    }
    number -= choice.weight;
  }
  return Tense::past;
}

const Verb& draw_verb(Draw& draw, Kinds subject, Kinds object) {
  std::vector<const Verb*> fitting;
  for (const Verb& verb : verbs()) {
    if ((verb.object & object) != 0 && (verb.subject & subject) != 0) {
      fitting.push_back(&verb);
    }
  }
  check(!fitting.empty(), "[demo_corpus] no verb goes with kinds {:#x} and {:#x}", subject, object);
  return *draw.pick(fitting);
}

Clause draw_transitive(Draw& draw, size_t adjectives) {
  Clause clause;
  constexpr Kinds kAny = ~Kinds{0};
  clause.verb = &draw_verb(draw, kLiving, kAny);
  clause.subject = draw_subject(draw, clause.verb->subject, adjectives);
  clause.object = draw_phrase(draw, draw_noun(draw, clause.verb->object, clause.subject.head),
                              {.adjectives = adjectives});
  clause.tense = draw_tense(draw, *clause.verb, clause.subject.agreement);
  return clause;
}

Clause draw_agreeing(Draw& draw, size_t adjectives) {
  Clause clause;
  do {
    clause = draw_transitive(draw, adjectives);
  } while (clause.verb->kind != Verb::Participle::agrees);
  clause.tense = Tense::past;
  return clause;
}

void add_time(Draw& draw, Clause& clause, size_t percent) {
  if (draw.chance(percent)) {
    const Pair& time = draw.pick(times_of(clause.tense));
    clause.english_tail = fmt::format(" {}", time.english);
    clause.italian_tail = fmt::format(" {}", time.italian);
  }
}

void add_tail(Draw& draw, Clause& clause, size_t percent) {
  if (!draw.chance(percent)) {
    return;
  }
  // One does not reach a river "in the kitchen".
  constexpr std::string_view kMoving[] = {"reach", "cross", "arrive", "leave"};
  const bool moving =
      std::find(std::begin(kMoving), std::end(kMoving), clause.verb->english) != std::end(kMoving);
  if (moving || draw.chance(45)) {
    add_time(draw, clause, 100);
    return;
  }
  const Text place = draw_place(draw);
  clause.english_tail = fmt::format(" {}", place.english);
  clause.italian_tail = fmt::format(" {}", place.italian);
}

void note(Sentence& sentence, const NounPhrase& phrase) {
  if (sentence.ambiguous.empty()) {
    sentence.ambiguous = phrase.ambiguous;
    sentence.expected = phrase.expected;
  }
}

void note(Sentence& sentence, const Clause& clause) {
  note(sentence, clause.subject);
  if (clause.object) {
    note(sentence, *clause.object);
    sentence.combinations.push_back(
        fmt::format("{} {}", clause.verb->english, clause.object->head));
  } else {
    sentence.combinations.push_back(
        fmt::format("{} {}", clause.subject.head, clause.verb->english));
  }
}

Sentence sentence_of(const Clause& clause) {
  Sentence sentence;
  sentence.english = english(clause);
  sentence.italian = italian(clause);
  note(sentence, clause);
  return sentence;
}

const Verb& draw_intransitive(Draw& draw, Kinds subject) {
  std::vector<const Verb*> fitting;
  for (const Verb& verb : verbs()) {
    if (verb.object == 0 && (verb.subject & subject) != 0) {
      fitting.push_back(&verb);
    }
  }
  return *draw.pick(fitting);
}

}  // namespace heed::demo
