#include "data/demo/demo_sentences.h"

#include <fmt/core.h>

namespace heed::demo {
namespace {

Sentence transitive(Draw& draw) {
  Clause clause = draw_transitive(draw);
  clause.negative = draw.chance(15);
  add_tail(draw, clause, 30);
  return sentence_of(clause);
}

// Each person has verb forms of its own, so pronouns need many sentences.
Sentence with_pronoun(Draw& draw) {
  constexpr Tense kTenses[] = {Tense::past,  Tense::progressive, Tense::past_progressive,
                               Tense::can,   Tense::must,        Tense::want,
                               Tense::wanted};
  Clause clause;
  do {
    clause = draw_transitive(draw);
  } while ((clause.verb->subject & kPerson) == 0);
  clause.subject = pronoun(draw.pick(kPronouns));
  clause.tense = draw.pick(kTenses);
  const bool progressive =
      clause.tense == Tense::progressive || clause.tense == Tense::past_progressive;
  if (progressive && !has_progressive(*clause.verb)) {
    clause.tense = Tense::past;
  }
  clause.negative = draw.chance(20);
  add_tail(draw, clause, 15);
  Sentence sentence = sentence_of(clause);
  if (draw.chance(15)) {
    sentence.english = english_question(clause);
    sentence.mark = '?';
    if (clause.negative) {  // "did he not" would be stilted
      clause.negative = false;
      sentence.italian = italian(clause);
    }
  }
  return sentence;
}

Sentence passive(Draw& draw) {
  Clause clause = draw_agreeing(draw);
  clause.negative = draw.chance(15);
  add_tail(draw, clause, 15);
  Sentence sentence;
  sentence.english = english_passive(clause);
  sentence.italian = italian_passive(clause);
  note(sentence, clause);
  return sentence;
}

Clause draw_intransitive_clause(Draw& draw) {
  Clause clause;
  const Kinds kind = draw.chance(65) ? kPerson : kAnimal;
  clause.subject = draw_subject(draw, kind);
  clause.verb = &draw_intransitive(draw, kind);
  clause.tense = draw_tense(draw, *clause.verb, clause.subject.agreement);
  return clause;
}

Sentence intransitive(Draw& draw) {
  Clause clause = draw_intransitive_clause(draw);
  if (draw.chance(25)) {
    clause.subject = pronoun(draw.pick(kPronouns));
    clause.tense = draw.chance(60) ? Tense::past : Tense::progressive;
    clause.verb = &draw_intransitive(draw, kPerson);
  }
  clause.negative = draw.chance(15);
  add_tail(draw, clause, clause.subject.parts.empty() ? 100 : 55);  // "he slept" is too short
  return sentence_of(clause);
}

Sentence copula(Draw& draw) {
  constexpr Kinds kSubjects[] = {kPerson,    kPerson,  kPerson,    kPerson, kAnimal,
                                 kAnimal,    kFood,    kDrink,     kText,   kObject,
                                 kFurniture, kOpening, kCrossable, kPlace,  kBuilding};
  const Kinds kind = draw.pick(kSubjects);
  const NounPhrase subject = kind == kPerson && draw.chance(75) ? pronoun(draw.pick(kPronouns))
                             : draw.chance(20)
                                 ? draw_subject(draw, kind, 0)
                                 : draw_phrase(draw, draw_noun(draw, kind), {.adjectives = 0});
  const Adjective& adjective = draw_adjective(draw, kind);
  constexpr Pair kDegrees[] = {{"", ""}, {"", ""}, {"very ", "molto "}, {"too ", "troppo "}};
  const Pair& degree = draw.pick(kDegrees);
  const bool past = draw.chance(50);
  const bool negative = degree.english.empty() && draw.chance(25);
  const bool question = draw.chance(15);
  const std::string italian_adjective = inflect(adjective.italian, subject.agreement);
  Sentence sentence;
  const std::string is = be(subject.agreement, past);
  sentence.english =
      question ? fmt::format("{} {} {}{}", is, subject.english, degree.english, adjective.english)
               : fmt::format("{} {} {}{}{}", subject.english, is, negative ? "not " : "",
                             degree.english, adjective.english);
  sentence.italian =
      joined(italian(subject),
             fmt::format("{}{} {}{}", negative && !question ? "non " : "",
                         essere(subject.agreement, past), degree.italian, italian_adjective));
  sentence.mark = question ? '?' : '.';
  note(sentence, subject);
  if (adjective.english == "light") {
    sentence.ambiguous = "light";
    sentence.expected = italian_adjective;
  }
  return sentence;
}

// "the lion that chased the zebra is tired", "the zebra that the lion chased is tired"
Sentence relative(Draw& draw) {
  Clause clause = draw_transitive(draw, 0);
  clause.tense =
      draw.chance(70) ? Tense::past : draw_tense(draw, *clause.verb, clause.subject.agreement);
  const bool object_is_head = draw.chance(50);
  const NounPhrase head = object_is_head ? *clause.object : clause.subject;
  const Adjective& adjective = draw_adjective(draw, noun(head.head).kinds & ~kCue);
  const bool past = draw.chance(30);
  Sentence sentence;
  sentence.english = object_is_head ? fmt::format("{} that {} {}", head.english,
                                                  clause.subject.english, english_verb(clause))
                                    : fmt::format("{} that {} {}", head.english,
                                                  english_verb(clause), clause.object->english);
  sentence.italian = object_is_head ? fmt::format("{} che {} {}", italian(head),
                                                  italian(clause.subject), italian_verb(clause))
                                    : fmt::format("{} che {} {}", italian(head),
                                                  italian_verb(clause), italian(*clause.object));
  sentence.english += fmt::format(" {} {}", be(head.agreement, past), adjective.english);
  const std::string italian_adjective = inflect(adjective.italian, head.agreement);
  sentence.italian += fmt::format(" {} {}", essere(head.agreement, past), italian_adjective);
  note(sentence, clause);
  if (adjective.english == "light") {
    sentence.ambiguous = "light";
    sentence.expected = italian_adjective;
  }
  return sentence;
}

Sentence yes_or_no(Draw& draw) {
  Clause clause = draw_transitive(draw);
  add_tail(draw, clause, 20);
  Sentence sentence = sentence_of(clause);
  sentence.english = english_question(clause);
  sentence.mark = '?';
  return sentence;
}

Sentence with_question_word(Draw& draw) {
  Clause clause = draw_transitive(draw);
  clause.tense = Tense::past;
  Sentence sentence;
  sentence.mark = '?';
  const std::string who = italian(clause.subject);
  switch (draw.below(5)) {
    case 0:
      clause.subject = {.english = "who",
                        .parts = {},
                        .agreement = {},
                        .head = "who",
                        .ambiguous = {},
                        .expected = {}};
      sentence.english = english(clause);
      sentence.italian = fmt::format("chi {}", italian(clause));
      break;
    case 1:
      sentence.english = fmt::format("why {}", english_question(clause));
      sentence.italian = fmt::format("perché {}", italian(clause));
      break;
    case 2:
      sentence.english = fmt::format("when {}", english_question(clause));
      sentence.italian = fmt::format("quando {}", italian(clause));
      break;
    case 3: {
      const Noun& counted = noun(clause.object->head);
      if (counted.english_plural.empty()) {
        return yes_or_no(draw);
      }
      const Agreement many{.person = 3, .plural = true, .gender = counted.gender};
      Clause asked = clause;
      asked.object.reset();
      sentence.english =
          fmt::format("how many {} {}", counted.english_plural, english_question(asked));
      sentence.italian = fmt::format("{} {} {} {}", inflect("quanto", many), counted.italian_plural,
                                     italian_verb(asked), who);
      note(sentence, clause);
      sentence.ambiguous.clear();
      sentence.expected.clear();
      return sentence;
    }
    default: {
      Clause asked = draw_intransitive_clause(draw);
      sentence.english = fmt::format("where {}", english_question(asked));
      sentence.italian = fmt::format("dove {} {}", italian_verb(asked), italian(asked.subject));
      note(sentence, asked);
      return sentence;
    }
  }
  note(sentence, clause);
  return sentence;
}

Sentence there_is(Draw& draw) {
  const Kinds kinds = draw.chance(50) ? kLiving : kObject | kText | kFood;
  const Noun* thing = nullptr;
  do {
    thing = &draw_noun(draw, kinds);
  } while (thing->english_plural.empty());
  const bool plural = draw.chance(55);
  const Pair& number = draw.pick(number_words());
  const bool many = plural && draw.chance(25);
  const Agreement agreement{.person = 3, .plural = plural, .gender = thing->gender};
  NounPhrase phrase;
  const std::string core(plural ? thing->italian_plural : thing->italian);
  phrase.english =
      !plural ? with_a(std::string(thing->english))
              : fmt::format("{} {}", many ? "many" : number.english, thing->english_plural);
  phrase.parts = {{many     ? Determiner::many
                   : plural ? Determiner::bare
                            : Determiner::a,
                   plural && !many ? fmt::format("{} {}", number.italian, core) : core, agreement}};
  const Text place = draw_place(draw);
  const bool question = draw.chance(20);
  const std::string is = plural ? "are" : "is";
  Sentence sentence;
  sentence.english = fmt::format("{} {} {}", question ? is + " there" : "there " + is,
                                 phrase.english, place.english);
  sentence.italian =
      fmt::format("{} {} {}", plural ? "ci sono" : "c'è", italian(phrase), place.italian);
  sentence.mark = question ? '?' : '.';
  if (thing->english == "bear") {
    sentence.ambiguous = "bear";
    sentence.expected = core;
  }
  return sentence;
}

// "gave the book to the girl", "gave the girl the book", "gave her the book"
Sentence giving(Draw& draw) {
  static constexpr Verb kGiving[] = {
      {"give", "gave", "given", "giving", "dare", "dà", "danno", "dando", "dato"},
      {"show", "showed", "shown", "showing", "mostrare", "mostra", "mostrano", "mostrando",
       "mostrato"},
      {"send", "sent", "sent", "sending", "mandare", "manda", "mandano", "mandando", "mandato"}};
  constexpr Pair kReceivers[] = {
      {"me", "mi"}, {"you", "ti"}, {"him", "gli"}, {"her", "le"}, {"us", "ci"}};
  Clause clause;
  clause.subject = draw_subject(draw, kPerson);
  clause.verb = &draw.pick(kGiving);
  constexpr Tense kTenses[] = {Tense::past, Tense::past, Tense::progressive, Tense::present};
  clause.tense = draw.pick(kTenses);
  clause.negative = draw.chance(12);
  const NounPhrase gift = draw_phrase(draw, draw_noun(draw, kObject | kText | kFood));
  Sentence sentence;
  if (draw.chance(45)) {
    const Pair& receiver = draw.pick(kReceivers);
    sentence.english = fmt::format("{} {} {} {}", clause.subject.english, english_verb(clause),
                                   receiver.english, gift.english);
    sentence.italian =
        fmt::format("{} {} {}", italian(clause.subject),
                    italian_verb(clause, {std::string(receiver.italian), {}}), italian(gift));
  } else {
    const NounPhrase receiver =
        draw_phrase(draw, draw_noun(draw, kPerson, clause.subject.head), {.plain = true});
    const std::string does = english_verb(clause);
    sentence.english = draw.chance(50) ? fmt::format("{} {} {} to {}", clause.subject.english, does,
                                                     gift.english, receiver.english)
                                       : fmt::format("{} {} {} {}", clause.subject.english, does,
                                                     receiver.english, gift.english);
    sentence.italian = fmt::format("{} {} {} {}", italian(clause.subject), italian_verb(clause),
                                   italian(gift), italian(receiver, "a"));
  }
  note(sentence, gift);
  sentence.combinations.push_back(fmt::format("{} {}", clause.verb->english, gift.head));
  return sentence;
}

Sentence comparison(Draw& draw) {
  constexpr Kinds kCompared[] = {kPerson, kAnimal, kFood, kDrink, kObject, kCrossable, kPlace};
  const Kinds kind = draw.pick(kCompared);
  const Adjective* adjective = nullptr;
  do {
    adjective = &draw_adjective(draw, kind);
  } while (adjective->comparative.empty());
  const Noun& first = draw_noun(draw, kind);
  const NounPhrase a = draw_phrase(draw, first, {.adjectives = 0});
  const NounPhrase b =
      draw_phrase(draw, draw_noun(draw, kind, first.english), {.plain = true, .adjectives = 0});
  const bool past = draw.chance(25);
  Sentence sentence;
  sentence.english = fmt::format("{} {} {} than {}", a.english, be(a.agreement, past),
                                 adjective->comparative, b.english);
  sentence.italian = fmt::format("{} {} più {} {}", italian(a), essere(a.agreement, past),
                                 inflect(adjective->italian, a.agreement), italian(b, "di"));
  note(sentence, a);
  note(sentence, b);
  return sentence;
}

// What is liked is the Italian subject: "alla ragazza piacciono le mele".
Sentence liking(Draw& draw) {
  constexpr Pair kWhom[] = {{"I", "mi"}, {"you", "ti"}, {"he", "gli"}, {"she", "le"}, {"we", "ci"}};
  const NounPhrase liked =
      draw_phrase(draw, draw_noun(draw, kFood | kDrink | kThing | kPlace | kAnimal));
  const std::string likes = liked.agreement.plural ? "piacciono" : "piace";
  const bool negative = draw.chance(25);
  Sentence sentence;
  if (draw.chance(40)) {
    const Pair& whom = draw.pick(kWhom);
    const bool third = whom.english == "he" || whom.english == "she";
    const std::string like =
        negative ? (third ? "does not like" : "do not like") : (third ? "likes" : "like");
    sentence.english = fmt::format("{} {} {}", whom.english, like, liked.english);
    sentence.italian =
        fmt::format("{}{} {} {}", negative ? "non " : "", whom.italian, likes, italian(liked));
  } else {
    const NounPhrase whom = draw_subject(draw, kLiving);
    const bool plural = whom.agreement.plural;
    const std::string like =
        negative ? (plural ? "do not like" : "does not like") : (plural ? "like" : "likes");
    sentence.english = fmt::format("{} {} {}", whom.english, like, liked.english);
    sentence.italian = fmt::format("{} {}{} {}", italian(whom, "a"), negative ? "non " : "", likes,
                                   italian(liked));
    note(sentence, whom);
  }
  note(sentence, liked);
  return sentence;
}

Sentence saying(Draw& draw) {
  struct Says {
    std::string_view one, many, uno, molti;
  };
  constexpr Says kSays[] = {{"says", "say", "dice", "dicono"},
                            {"said", "said", "ha detto", "hanno detto"},
                            {"knows", "know", "sa", "sanno"}};
  const Says& says = draw.pick(kSays);
  const NounPhrase who = draw_subject(draw, kPerson);
  const bool many = who.agreement.plural;
  Clause clause = draw.chance(70) ? draw_transitive(draw) : draw_intransitive_clause(draw);
  clause.negative = draw.chance(15);
  add_tail(draw, clause, 30);
  Sentence sentence = sentence_of(clause);
  sentence.english =
      fmt::format("{} {} that {}", who.english, many ? says.many : says.one, sentence.english);
  sentence.italian =
      fmt::format("{} {} che {}", italian(who), many ? says.molti : says.uno, sentence.italian);
  return sentence;
}

// "while the girl was sleeping, the dog ate the cake"; also two clauses joined by "and" or "but".
Sentence two_clauses(Draw& draw) {
  Clause first = draw_intransitive_clause(draw);
  Clause second = draw_transitive(draw);
  second.tense = Tense::past;
  add_tail(draw, second, 30);
  Sentence sentence;
  note(sentence, first);
  note(sentence, second);
  switch (draw.below(4)) {
    case 0:
      first.tense = Tense::past_progressive;
      sentence.english = fmt::format("while {}, {}", english(first), english(second));
      sentence.italian = fmt::format("mentre {}, {}", italian(first), italian(second));
      break;
    case 1:
      first.tense = Tense::past;
      sentence.english = fmt::format("when {}, {}", english(first), english(second));
      sentence.italian = fmt::format("quando {}, {}", italian(first), italian(second));
      break;
    case 2:
      first.tense = Tense::past;
      sentence.english = fmt::format("{} and {}", english(first), english(second));
      sentence.italian = fmt::format("{} e {}", italian(first), italian(second));
      break;
    default:
      second.negative = draw.chance(70);
      first.tense = Tense::past;
      sentence.english = fmt::format("{}, but {}", english(first), english(second));
      sentence.italian = fmt::format("{}, ma {}", italian(first), italian(second));
      break;
  }
  return sentence;
}

Sentence command(Draw& draw) {
  Clause clause;
  do {
    clause = draw_transitive(draw);
  } while (clause.verb->imperative.empty());
  const bool negative = draw.chance(30);
  Sentence sentence;
  sentence.mark = '!';
  sentence.english = fmt::format("{}{} {}", negative ? "do not " : "", clause.verb->english,
                                 clause.object->english);
  sentence.italian = fmt::format("{} {}",
                                 negative ? fmt::format("non {}", clause.verb->infinitive)
                                          : std::string(clause.verb->imperative),
                                 italian(*clause.object));
  note(sentence, *clause.object);
  sentence.combinations.push_back(fmt::format("{} {}", clause.verb->english, clause.object->head));
  return sentence;
}

// "the dog never sleeps", "il cane non dorme mai"
Sentence never(Draw& draw) {
  Clause clause = draw_transitive(draw);
  const Agreement& who = clause.subject.agreement;
  Sentence sentence;
  note(sentence, clause);
  clause.tense = who.plural ? Tense::past : draw.chance(50) ? Tense::past : Tense::present;
  sentence.english = fmt::format("{} never {} {}", clause.subject.english, english_verb(clause),
                                 clause.object->english);
  std::string verb_text = italian_verb(clause);
  if (clause.tense == Tense::past) {
    verb_text.insert(verb_text.find(' '), " mai");
  } else {
    verb_text += " mai";
  }
  sentence.italian =
      fmt::format("{} non {} {}", italian(clause.subject), verb_text, italian(*clause.object));
  return sentence;
}

constexpr Family kPlainFamilies[] = {
    {160, transitive}, {130, with_pronoun}, {130, passive},   {130, intransitive},
    {110, copula},     {70, relative},      {25, yes_or_no},  {45, with_question_word},
    {40, there_is},    {55, giving},        {45, comparison}, {35, liking},
    {45, saying},      {55, two_clauses},   {30, command},    {20, never}};

}  // namespace

std::span<const Family> plain_families() { return kPlainFamilies; }

}  // namespace heed::demo
