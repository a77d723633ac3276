// Sentences whose translation depends on words elsewhere in them: nouns of two meanings, "bear" and
// "light" as different parts of speech, and pronouns whose gender is their antecedent's.
#include <fmt/core.h>

#include "data/demo/demo_sentences.h"

namespace heed::demo {
namespace {

void mark(Sentence& sentence, std::string_view word, std::string_view expected) {
  sentence.ambiguous = word;
  sentence.expected = expected;
}

void append(NounPhrase& phrase, const NounPhrase& owner) {
  phrase.english += fmt::format(" of {}", owner.english);
  phrase.parts.back().italian += fmt::format(" {}", italian(owner, "di"));
}

Clause deal_with(Draw& draw, const Sense& sense, const NounPhrase& subject,
                 const NounPhrase& object) {
  Clause clause;
  clause.subject = subject;
  clause.verb = &verb(draw.pick(sense.verbs));
  clause.object = object;
  clause.tense = draw_tense(draw, *clause.verb, subject.agreement);
  clause.negative = draw.chance(10);
  return clause;
}

// "the fisherman reached the bank"
Sentence with_telling_subject(Draw& draw, const Sense& sense, const NounPhrase& object) {
  const NounPhrase subject = draw_phrase(draw, noun(draw.pick(sense.subjects)), {.plain = true});
  Clause clause = deal_with(draw, sense, subject, object);
  Sentence sentence;
  if (clause.verb->kind == Verb::Participle::agrees && draw.chance(40)) {
    clause.tense = Tense::past;
    sentence.english = english_passive(clause);
    sentence.italian = italian_passive(clause);
  } else if (draw.chance(15)) {
    sentence.english = english_question(clause);
    clause.negative = false;
    sentence.italian = italian(clause);
    sentence.mark = '?';
  } else {
    add_time(draw, clause, 25);
    sentence = sentence_of(clause);
  }
  sentence.combinations = {
      fmt::format("{} {} {}", subject.head, clause.verb->english, sense.noun.italian)};
  return sentence;
}

// "the boy reached the bank to wash the horse"; the telling words also come first.
Sentence with_purpose(Draw& draw, const Sense& sense, const NounPhrase& object) {
  const NounPhrase subject = draw_subject(draw, kPerson);
  Clause clause = deal_with(draw, sense, subject, object);
  clause.tense = Tense::past;
  const Sense::Purpose& purpose = draw.pick(sense.purposes);
  const Verb& aim = verb(purpose.verb);
  const NounPhrase aimed =
      draw_phrase(draw, noun(purpose.object), {.plain = true, .adjectives = 0, .plural = 0});
  const std::string english_aim = fmt::format("{} {}", aim.english, aimed.english);
  const std::string italian_aim = fmt::format("{} {}", aim.infinitive, italian(aimed));
  Sentence sentence = sentence_of(clause);
  const size_t form = draw.below(3);
  if (form == 0) {
    sentence.english += fmt::format(" to {}", english_aim);
    sentence.italian += fmt::format(" per {}", italian_aim);
  } else if (form == 1) {
    sentence.english = fmt::format("to {}, {}", english_aim, sentence.english);
    sentence.italian = fmt::format("per {}, {}", italian_aim, sentence.italian);
  } else {
    sentence.english +=
        fmt::format(" because {} wanted to {}", subject_pronoun(subject), english_aim);
    sentence.italian +=
        fmt::format(" perché {} {}", subject.agreement.plural ? "volevano" : "voleva", italian_aim);
  }
  sentence.combinations = {fmt::format("{} {} {} {}", clause.verb->english, sense.noun.italian,
                                       purpose.verb, purpose.object)};
  return sentence;
}

// "the woman saw the bank of the river", "the bank of the river is old"
Sentence with_owner(Draw& draw, const Sense& sense, NounPhrase object) {
  const std::string_view owner = draw.pick(sense.owners);
  append(object, draw_phrase(draw, noun(owner), {.definite = true, .adjectives = 0, .plural = 0}));
  Sentence sentence;
  if (draw.chance(35)) {
    constexpr std::string_view kNeutral[] = {"old", "small", "big", "new"};
    const Adjective& said = adjective(draw.pick(kNeutral));
    const bool past = draw.chance(40);
    sentence.english =
        fmt::format("{} {} {}", object.english, be(object.agreement, past), said.english);
    sentence.italian = fmt::format("{} {} {}", italian(object), essere(object.agreement, past),
                                   inflect(said.italian, object.agreement));
    sentence.combinations = {fmt::format("{} {} {}", said.english, sense.noun.italian, owner)};
    return sentence;
  }
  const Clause clause = deal_with(draw, sense, draw_subject(draw, kPerson), object);
  sentence = sentence_of(clause);
  sentence.combinations = {
      fmt::format("{} {} {}", clause.verb->english, sense.noun.italian, owner)};
  return sentence;
}

Sentence two_meanings(Draw& draw) {
  const Sense& sense = draw.pick(senses());
  const bool plain = draw.chance(70);
  const NounPhrase object = draw_phrase(draw, sense.noun, {.plain = plain, .adjectives = 0});
  const std::string expected(object.agreement.plural ? sense.noun.italian_plural
                                                     : sense.noun.italian);
  const size_t form = draw.below(100);
  Sentence sentence = form < 40   ? with_telling_subject(draw, sense, object)
                      : form < 70 ? with_purpose(draw, sense, object)
                                  : with_owner(draw, sense, object);
  mark(sentence, sense.word, expected);
  return sentence;
}

Sentence in_spring(Draw& draw) {
  Clause clause = draw_transitive(draw);
  Sentence sentence = sentence_of(clause);
  if (draw.chance(50)) {
    sentence.english = fmt::format("in spring {}", sentence.english);
    sentence.italian = fmt::format("in primavera {}", sentence.italian);
  } else {
    sentence.english += " in spring";
    sentence.italian += " in primavera";
  }
  mark(sentence, "spring", "primavera");
  return sentence;
}

Sentence bear_the_animal(Draw& draw) {
  const Noun& bear = noun("bear");
  Clause clause;
  if (draw.chance(50)) {
    clause.verb = &draw_verb(draw, kAnimal, ~Kinds{0});
    clause.subject = draw_phrase(draw, bear);
    clause.object = draw_phrase(draw, draw_noun(draw, clause.verb->object, "bear"));
  } else {
    clause.verb = &draw_verb(draw, kLiving, kAnimal);
    clause.object = draw_phrase(draw, bear);
    do {
      clause.subject = draw_subject(draw, clause.verb->subject);
    } while (!clause.subject.ambiguous.empty());
  }
  clause.tense = draw_tense(draw, *clause.verb, clause.subject.agreement);
  clause.negative = draw.chance(15);
  return sentence_of(clause);
}

Sentence bear_the_verb(Draw& draw) {
  constexpr Tense kTenses[] = {Tense::can, Tense::can, Tense::could, Tense::must, Tense::had_to};
  Clause clause;
  clause.verb = &verb("bear");
  clause.tense = draw.pick(kTenses);
  clause.negative = clause.tense == Tense::can || clause.tense == Tense::could;
  if (draw.chance(25) && (clause.tense == Tense::can || clause.tense == Tense::must)) {
    clause.subject = pronoun(draw.pick(kPronouns));
  } else {
    clause.subject = draw_subject(draw, kLiving);
  }
  clause.object = draw_phrase(draw, draw_noun(draw, kHardship), {.adjectives = 0});
  add_tail(draw, clause, 30);
  Sentence sentence = sentence_of(clause);
  sentence.combinations = {fmt::format("{} bear {}", clause.subject.head, clause.object->head)};
  mark(sentence, "bear", clause.verb->infinitive);
  return sentence;
}

// "the light of the lamp", "turned off the light"
Sentence light_the_noun(Draw& draw) {
  static constexpr Noun kLight = {"light", "lights", "luce", "luci", Gender::feminine, kCue};
  NounPhrase light = draw_phrase(draw, kLight, {.adjectives = 0});
  Sentence sentence;
  if (draw.chance(40)) {
    const Noun& lamp = draw_noun(draw, kLamp);
    append(light, draw_phrase(draw, lamp, {.definite = true, .adjectives = 0, .plural = 0}));
    constexpr std::string_view kSaid[] = {"white", "green", "warm", "strong", "cold", "red"};
    const Adjective& said = adjective(draw.pick(kSaid));
    const bool past = draw.chance(40);
    const bool negative = draw.chance(15);
    sentence.english = fmt::format("{} {} {}{}", light.english, be(light.agreement, past),
                                   negative ? "not " : "", said.english);
    sentence.italian =
        fmt::format("{} {}{} {}", italian(light), negative ? "non " : "",
                    essere(light.agreement, past), inflect(said.italian, light.agreement));
    sentence.combinations = {fmt::format("{} light {}", said.english, lamp.english)};
  } else {
    constexpr std::string_view kVerbs[] = {"turn on", "turn off", "turn on", "turn off", "see"};
    Clause clause;
    clause.subject = draw_subject(draw, kPerson);
    clause.verb = &verb(draw.pick(kVerbs));
    clause.object = light;
    clause.tense = draw_tense(draw, *clause.verb, clause.subject.agreement);
    clause.negative = draw.chance(10);
    add_tail(draw, clause, 40);
    sentence = sentence_of(clause);
    sentence.combinations = {fmt::format("{} {} light", clause.subject.head, clause.verb->english)};
  }
  mark(sentence, "light", light.agreement.plural ? "luci" : "luce");
  return sentence;
}

Sentence light_the_adjective(Draw& draw) {
  Clause clause;
  clause.verb = &draw_verb(draw, kPerson, kObject | kFurniture);
  clause.subject = draw_subject(draw, clause.verb->subject);
  const Noun& thing = draw_noun(draw, clause.verb->object & (kObject | kFurniture));
  clause.object = draw_phrase(draw, thing, {.adjective = &adjective("light")});
  clause.tense = draw_tense(draw, *clause.verb, clause.subject.agreement);
  Sentence sentence = sentence_of(clause);
  mark(sentence, "light", clause.object->expected);
  return sentence;
}

struct Reasons {
  std::string_view verb;
  Kinds objects;
  std::string_view of_subject[3];
  std::string_view of_object[3];
};
constexpr Reasons kReasons[] = {
    {"cross", kCrossable, {"tired", "scared", "sick"}, {"wide", "dangerous", "muddy"}},
    {"reach", kBuilding, {"tired", "scared", "sick"}, {"distant", "high", "dangerous"}},
    {"eat", kFood, {"tired", "scared", "sick"}, {"salty", "bitter", "cold"}}};

// Appends "because it was too wide", where only the adjective tells what "it" is.
void because(Sentence& sentence, const NounPhrase& meant, const Adjective& reason, bool past) {
  const Agreement& agreement = meant.agreement;
  const std::string it = agreement.plural ? "they" : "it";
  const std::string inflected = inflect(reason.italian, agreement);
  sentence.english += fmt::format(" because {} {} too {}", it, be(agreement, past), reason.english);
  sentence.italian += fmt::format(" perché {} troppo {}", essere(agreement, past), inflected);
  mark(sentence, it, inflected);
}

// "the animal did not cross the street because it was too tired"
Sentence it_was_too(Draw& draw) {
  const Reasons& reasons = draw.pick(kReasons);
  const int plural = draw.chance(30) ? 1 : 0;
  const int other_number = draw.chance(80) ? plural : 1 - plural;
  Clause clause;
  clause.verb = &verb(reasons.verb);
  clause.subject = draw_phrase(draw, draw_noun(draw, kAnimal),
                               {.plain = true, .adjectives = 10, .plural = plural});
  clause.object = draw_phrase(draw, draw_noun(draw, reasons.objects),
                              {.plain = true, .adjectives = 0, .plural = other_number});
  constexpr Tense kTenses[] = {Tense::past, Tense::past, Tense::could, Tense::wanted};
  clause.tense = draw.pick(kTenses);
  clause.negative = true;
  Sentence sentence = sentence_of(clause);
  if (draw.chance(60)) {
    because(sentence, clause.subject, adjective(draw.pick(reasons.of_subject)), true);
  } else {
    because(sentence, *clause.object, adjective(draw.pick(reasons.of_object)), true);
  }
  return sentence;
}

// "the table does not pass through the door because it is too narrow"
Sentence does_not_pass(Draw& draw) {
  static constexpr Verb kPass = {"pass through",    "passed through", "passed through",
                                 "passing through", "passare per",    "passa per",
                                 "passano per",     "passando per",   "passato per"};
  constexpr std::string_view kThings[] = {"table", "chair", "bed", "box", "mirror", "bicycle"};
  constexpr std::string_view kOpenings[] = {"door", "window", "gate"};
  constexpr std::string_view kOfThings[] = {"wide", "high"};
  constexpr std::string_view kOfOpenings[] = {"narrow", "low"};
  const int plural = draw.chance(30) ? 1 : 0;
  const int other_number = draw.chance(80) ? plural : 1 - plural;
  Clause clause;
  clause.verb = &kPass;
  clause.subject =
      draw_phrase(draw, noun(draw.pick(kThings)), {.adjectives = 15, .plural = plural});
  clause.object = draw_phrase(draw, noun(draw.pick(kOpenings)),
                              {.definite = true, .adjectives = 0, .plural = other_number});
  clause.tense = draw.chance(60) ? Tense::present : Tense::could;
  clause.negative = true;
  const bool past = clause.tense == Tense::could;
  Sentence sentence = sentence_of(clause);
  if (draw.chance(50)) {
    because(sentence, clause.subject, adjective(draw.pick(kOfThings)), past);
  } else {
    because(sentence, *clause.object, adjective(draw.pick(kOfOpenings)), past);
  }
  sentence.combinations = {fmt::format("{} {}", clause.subject.head, clause.object->head)};
  return sentence;
}

// Says the object again as a pronoun: "and washed it", "e l'ha lavata".
void again(Sentence& sentence, const Clause& clause, bool with_subject) {
  const NounPhrase& object = clause.object.value();
  const Clitic clitic = object_clitic(object.agreement);
  const std::string it = object_pronoun(object);
  const std::string verb_text = italian_verb(clause, clitic);
  sentence.english += fmt::format(
      "{} {}{}", joined(with_subject ? clause.subject.english : "", english_verb(clause)), it,
      clause.english_tail);
  sentence.italian +=
      joined(with_subject ? italian(clause.subject) : "", verb_text) + clause.italian_tail;
  if (clause.tense == Tense::past) {
    mark(sentence, it, inflect(clause.verb->italian_participle, object.agreement));
  } else if (!verb_text.starts_with("l'")) {
    mark(sentence, it, clitic.text);
  }
  sentence.combinations.push_back(fmt::format("{} {}", clause.verb->english, object.head));
}

// "the boy bought the apples and ate them"
Sentence and_then(Draw& draw) {
  Clause second = draw_agreeing(draw);
  Clause first = second;
  const Kinds subject = noun(first.subject.head).kinds;
  const Kinds object = noun(first.object->head).kinds;
  do {
    first.verb = &draw_verb(draw, subject, object);
  } while (first.verb == second.verb);
  if (draw.chance(25) && first.verb->english != first.verb->past) {
    first.tense = second.tense = Tense::present;
  }
  add_tail(draw, second, 15);
  Sentence sentence = sentence_of(first);
  sentence.english += " and ";
  sentence.italian += " e ";
  again(sentence, second, false);
  return sentence;
}

// "where is the book? the boy lost it"; "the umbrella is new. my uncle bought it"
Sentence answer(Draw& draw) {
  Clause clause = draw_agreeing(draw);
  const NounPhrase object =
      draw_phrase(draw, noun(clause.object->head), {.definite = true, .adjectives = 15});
  clause.object = object;
  add_tail(draw, clause, 20);
  Sentence sentence;
  if (draw.chance(50)) {
    const bool plural = object.agreement.plural;
    sentence.english = fmt::format("where {} {}? ", plural ? "are" : "is", object.english);
    sentence.italian = fmt::format("{}{}? ", plural ? "dove sono " : "dov'è ", italian(object));
  } else {
    const Adjective& said = draw_adjective(draw, noun(object.head).kinds & ~kCue);
    sentence.english =
        fmt::format("{} {} {}. ", object.english, be(object.agreement, false), said.english);
    sentence.italian = fmt::format("{} {} {}. ", italian(object), essere(object.agreement, false),
                                   inflect(said.italian, object.agreement));
  }
  again(sentence, clause, true);
  return sentence;
}

constexpr Family kAmbiguousFamilies[] = {{340, two_meanings},   {20, in_spring},
                                         {15, bear_the_animal}, {40, bear_the_verb},
                                         {55, light_the_noun},  {20, light_the_adjective},
                                         {170, it_was_too},     {45, does_not_pass},
                                         {60, and_then},        {45, answer}};

}  // namespace

std::span<const Family> ambiguous_families() { return kAmbiguousFamilies; }

}  // namespace heed::demo
