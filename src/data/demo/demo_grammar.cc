#include "data/demo/demo_grammar.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/error.h"

namespace heed::demo {
namespace {

constexpr std::string_view kVowels = "aeiou";

bool begins_with_vowel(std::string_view word) {
  return !word.empty() && kVowels.find(word[0]) != std::string_view::npos;
}

// Words that take "lo", "gli" and "uno": z, gn, ps, and s before a consonant.
bool takes_lo(std::string_view word) {
  if (word.starts_with("z") || word.starts_with("gn") || word.starts_with("ps")) {
    return true;
  }
  return word.size() > 1 && word[0] == 's' && kVowels.find(word[1]) == std::string_view::npos;
}

// "de" + "il" = "del", "que" + "gli" = "quegli".
std::string contract(std::string_view stem, const Agreement& agreement, std::string_view next) {
  const std::string article = definite(agreement, next);
  if (article == "il ") {
    return std::string(stem) + "l ";
  }
  const bool doubled = article[0] == 'l';  // lo, la, l', le
  return fmt::format("{}{}{}", stem, doubled ? "l" : "", article);
}

std::string indefinite(const Agreement& agreement, std::string_view next) {
  if (agreement.gender == Gender::feminine) {
    return begins_with_vowel(next) ? "un'" : "una ";
  }
  return takes_lo(next) ? "uno " : "un ";
}

std::string possessive(Determiner determiner, const Agreement& agreement) {
  const bool masculine_plural = agreement.plural && agreement.gender == Gender::masculine;
  switch (determiner) {
    case Determiner::my:
      return masculine_plural ? "miei" : inflect("mio", agreement);
    case Determiner::your:
      return masculine_plural ? "tuoi" : inflect("tuo", agreement);
    default:
      return inflect("nostro", agreement);
  }
}

struct Contraction {
  std::string_view preposition, stem;
};
constexpr Contraction kContractions[] = {
    {"di", "de"}, {"a", "a"}, {"da", "da"}, {"in", "ne"}, {"su", "su"}};

// The preposition and the definite article before `next`: "vicino a" + "il" = "vicino al ".
std::string preposition_and_article(std::string_view preposition, const Agreement& agreement,
                                    std::string_view next) {
  const size_t space = preposition.rfind(' ');
  const size_t begin = space == std::string_view::npos ? 0 : space + 1;
  for (const auto& [plain, stem] : kContractions) {
    if (preposition.substr(begin) == plain) {
      return std::string(preposition.substr(0, begin)) + contract(stem, agreement, next);
    }
  }
  return joined(preposition, definite(agreement, next));
}

std::string italian_part(const NounPart& part, std::string_view preposition) {
  const Agreement& agreement = part.agreement;
  const std::string& core = part.italian;
  switch (part.determiner) {
    case Determiner::the:
      return preposition_and_article(preposition, agreement, core) + core;
    case Determiner::my:
    case Determiner::your:
    case Determiner::our: {
      const std::string owned = joined(possessive(part.determiner, agreement), core);
      return preposition_and_article(preposition, agreement, owned) + owned;
    }
    case Determiner::a:
      return joined(preposition, indefinite(agreement, core) + core);
    case Determiner::many:
      return joined(preposition, joined(inflect("molto", agreement), core));
    case Determiner::this_:
      return joined(preposition, joined(inflect("questo", agreement), core));
    case Determiner::that:
      return joined(preposition, contract("que", agreement, core) + core);
    case Determiner::bare:
      break;
  }
  return joined(preposition, core);
}

using Persons = std::array<std::string_view, 5>;  // I, you, he, we, they
constexpr Persons kAvere = {"ho", "hai", "ha", "abbiamo", "hanno"};
constexpr Persons kEsserePresent = {"sono", "sei", "è", "siamo", "sono"};
constexpr Persons kEssereImperfect = {"ero", "eri", "era", "eravamo", "erano"};
constexpr Persons kStare = {"sto", "stai", "sta", "stiamo", "stanno"};
constexpr Persons kStareThen = {"stavo", "stavi", "stava", "stavamo", "stavano"};
constexpr Persons kPotere = {"posso", "puoi", "può", "possiamo", "possono"};
constexpr Persons kDovere = {"devo", "devi", "deve", "dobbiamo", "devono"};
constexpr Persons kVolere = {"voglio", "vuoi", "vuole", "vogliamo", "vogliono"};
constexpr Persons kPotereThen = {"potevo", "potevi", "poteva", "potevamo", "potevano"};
constexpr Persons kDovereThen = {"dovevo", "dovevi", "doveva", "dovevamo", "dovevano"};
constexpr Persons kVolereThen = {"volevo", "volevi", "voleva", "volevamo", "volevano"};

std::string_view of(const Persons& forms, const Agreement& agreement) {
  if (agreement.plural) {
    return forms[agreement.person == 1 ? 3 : 4];
  }
  return forms[static_cast<size_t>(agreement.person - 1)];
}

bool third_singular(const Agreement& agreement) {
  return agreement.person == 3 && !agreement.plural;
}

// An English verb group: the parts before and after "not" or the subject of a question.
struct EnglishGroup {
  std::string auxiliary, rest;
};

// With `support`, present and past are made with "do", as negations and questions need it.
EnglishGroup english_group(const Clause& clause, bool support) {
  const Agreement& agreement = clause.subject.agreement;
  const std::string base(clause.verb->english);
  const std::string does = third_singular(agreement) ? "does" : "do";
  const auto lexical = [&](std::string_view plain, std::string_view past_form, bool past,
                           const std::string& tail) -> EnglishGroup {
    if (support) {
      return {past ? "did" : does, std::string(plain) + tail};
    }
    const std::string present =
        third_singular(agreement) ? english_third_person(plain) : std::string(plain);
    return {"", (past ? std::string(past_form) : present) + tail};
  };
  switch (clause.tense) {
    case Tense::present:
      return lexical(base, clause.verb->past, false, "");
    case Tense::past:
      return lexical(base, clause.verb->past, true, "");
    case Tense::progressive:
      return {be(agreement, false), std::string(clause.verb->progressive)};
    case Tense::past_progressive:
      return {be(agreement, true), std::string(clause.verb->progressive)};
    case Tense::future:
      return {"will", base};
    case Tense::can:
      return {"can", base};
    case Tense::could:
      return {"could", base};
    case Tense::must:
      return {"must", base};
    case Tense::want:
      return lexical("want", "wanted", false, fmt::format(" to {}", base));
    case Tense::wanted:
      return lexical("want", "wanted", true, fmt::format(" to {}", base));
    case Tense::had_to:
      return lexical("have", "had", true, fmt::format(" to {}", base));
  }
  return {};
}

std::string present(const Verb& verb, const Agreement& agreement) {
  check(agreement.person == 3, "[demo_corpus] \"{}\" is present in person {}, expected 3",
        verb.english, agreement.person);
  return std::string(agreement.plural ? verb.present_plural : verb.present_singular);
}

std::string past(const Verb& verb, const Agreement& subject, const Clitic& clitic) {
  if (verb.kind == Verb::Participle::with_essere) {
    return fmt::format("{} {}", of(kEsserePresent, subject),
                       inflect(verb.italian_participle, subject));
  }
  const Agreement agreement = clitic.agree.value_or(Agreement{});
  return fmt::format("{} {}", of(kAvere, subject), inflect(verb.italian_participle, agreement));
}

// What follows "non" and clitics.
std::string italian_group(const Clause& clause, const Clitic& clitic) {
  const Agreement& subject = clause.subject.agreement;
  const Verb& verb = *clause.verb;
  const auto modal = [&](const Persons& forms) {
    return fmt::format("{} {}", of(forms, subject), verb.infinitive);
  };
  switch (clause.tense) {
    case Tense::present:
      return present(verb, subject);
    case Tense::past:
      return past(verb, subject, clitic);
    case Tense::progressive:
      return fmt::format("{} {}", of(kStare, subject), verb.gerund);
    case Tense::past_progressive:
      return fmt::format("{} {}", of(kStareThen, subject), verb.gerund);
    case Tense::future:
      return fmt::format("{}{}", verb.future, subject.plural ? "anno" : "à");
    case Tense::can:
      return modal(kPotere);
    case Tense::must:
      return modal(kDovere);
    case Tense::want:
      return modal(kVolere);
    case Tense::could:
      return modal(kPotereThen);
    case Tense::had_to:
      return modal(kDovereThen);
    case Tense::wanted:
      return modal(kVolereThen);
  }
  return {};
}

}  // namespace

std::string english_third_person(std::string_view base) {
  if (base == "have") {
    return "has";
  }
  const size_t space = base.find(' ');  // "look for"
  std::string word(base.substr(0, space));
  const std::string rest(space == std::string_view::npos ? "" : base.substr(space));
  if (word.ends_with("ch") || word.ends_with("sh") || word.ends_with("s")) {
    return word + "es" + rest;
  }
  if (word.ends_with("y") && kVowels.find(word[word.size() - 2]) == std::string_view::npos) {
    word.back() = 'i';
    return word + "es" + rest;
  }
  return word + "s" + rest;
}

std::string with_a(const std::string& english) {
  return (begins_with_vowel(english) ? "an " : "a ") + english;
}

std::string inflect(std::string_view masculine_singular, const Agreement& agreement) {
  std::string word(masculine_singular);
  const bool plural = agreement.plural;
  if (word.ends_with("e")) {
    word.back() = plural ? 'i' : 'e';
    return word;
  }
  const bool masculine = agreement.gender == Gender::masculine;
  if (masculine && !plural) {
    return word;
  }
  const bool hard = word.ends_with("co") || word.ends_with("go");  // stanchi, larghe
  const bool i_stem = word.ends_with("io");                        // vecchi, not vecchii
  word.pop_back();
  if (!plural) {
    return word + "a";
  }
  if (masculine) {
    return i_stem ? word : word + (hard ? "hi" : "i");
  }
  return word + (hard ? "he" : "e");
}

std::string definite(const Agreement& agreement, std::string_view next) {
  const bool vowel = begins_with_vowel(next);
  if (agreement.gender == Gender::feminine) {
    return agreement.plural ? "le " : vowel ? "l'" : "la ";
  }
  const bool lo = takes_lo(next);
  if (agreement.plural) {
    return vowel || lo ? "gli " : "i ";
  }
  return vowel ? "l'" : lo ? "lo " : "il ";
}

std::string joined(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty() || a.ends_with("'")) {
    return std::string(a) + std::string(b);
  }
  return fmt::format("{} {}", a, b);
}

NounPhrase pronoun(std::string_view english) {
  const bool first = english == "I" || english == "we";
  return {.english = std::string(english),
          .parts = {},
          .agreement = {.person = first              ? 1
                                  : english == "you" ? 2
                                                     : 3,
                        .plural = english == "we" || english == "they",
                        .gender = english == "she" ? Gender::feminine : Gender::masculine},
          .head = std::string(english),
          .ambiguous = {},
          .expected = {}};
}

NounPhrase both(const NounPhrase& a, const NounPhrase& b) {
  NounPhrase phrase = a;
  phrase.english += " and " + b.english;
  phrase.parts.insert(phrase.parts.end(), b.parts.begin(), b.parts.end());
  phrase.agreement.plural = true;
  if (b.agreement.gender == Gender::masculine) {
    phrase.agreement.gender = Gender::masculine;
  }
  if (phrase.ambiguous.empty()) {
    phrase.ambiguous = b.ambiguous;
    phrase.expected = b.expected;
  }
  return phrase;
}

std::string italian(const NounPhrase& phrase, std::string_view preposition) {
  std::string text;
  for (const NounPart& part : phrase.parts) {
    text += (text.empty() ? "" : " e ") + italian_part(part, preposition);
  }
  return text;
}

std::string subject_pronoun(const NounPhrase& phrase) {
  if (phrase.agreement.plural) {
    return "they";
  }
  if ((noun(phrase.head).kinds & kPerson) == 0) {
    return "it";
  }
  return phrase.agreement.gender == Gender::feminine ? "she" : "he";
}

std::string object_pronoun(const NounPhrase& phrase) {
  return phrase.agreement.plural ? "them" : "it";
}

std::string be(const Agreement& agreement, bool past) {
  const bool many = agreement.plural || agreement.person == 2;
  if (past) {
    return many ? "were" : "was";
  }
  return many ? "are" : agreement.person == 1 ? "am" : "is";
}

std::string essere(const Agreement& agreement, bool past) {
  return std::string(of(past ? kEssereImperfect : kEsserePresent, agreement));
}

Clitic object_clitic(const Agreement& agreement) {
  const bool masculine = agreement.gender == Gender::masculine;
  return {agreement.plural ? (masculine ? "li" : "le") : (masculine ? "lo" : "la"), agreement};
}

std::string english_verb(const Clause& clause) {
  const EnglishGroup group = english_group(clause, clause.negative);
  if (!clause.negative) {
    return joined(group.auxiliary, group.rest);
  }
  return group.auxiliary + (group.auxiliary == "can" ? "not " : " not ") + group.rest;
}

std::string italian_verb(const Clause& clause, const Clitic& clitic) {
  std::string group = italian_group(clause, clitic);
  const bool silent = begins_with_vowel(group) || group.starts_with("h");  // l'ha, l'attacca
  if (silent && (clitic.text == "lo" || clitic.text == "la")) {
    group = fmt::format("l'{}", group);
  } else {
    group = joined(clitic.text, group);
  }
  return joined(clause.negative ? "non" : "", group);
}

std::string english(const Clause& clause) {
  return joined(joined(clause.subject.english, english_verb(clause)),
                clause.object ? clause.object->english : "") +
         clause.english_tail;
}

std::string italian(const Clause& clause) {
  return joined(joined(italian(clause.subject), italian_verb(clause)),
                clause.object ? italian(*clause.object) : "") +
         clause.italian_tail;
}

std::string english_question(const Clause& clause) {
  const EnglishGroup group = english_group(clause, true);
  return joined(fmt::format("{} {} {}", group.auxiliary, clause.subject.english, group.rest),
                clause.object ? clause.object->english : "") +
         clause.english_tail;
}

std::string english_passive(const Clause& clause) {
  const NounPhrase& patient = clause.object.value();
  return fmt::format("{} {}{} {} by {}{}", patient.english, be(patient.agreement, true),
                     clause.negative ? " not" : "", clause.verb->participle, clause.subject.english,
                     clause.english_tail);
}

std::string italian_passive(const Clause& clause) {
  const NounPhrase& patient = clause.object.value();
  return fmt::format("{} {}{} {} {} {}{}", italian(patient), clause.negative ? "non " : "",
                     essere(patient.agreement, false), inflect("stato", patient.agreement),
                     inflect(clause.verb->italian_participle, patient.agreement),
                     italian(clause.subject, "da"), clause.italian_tail);
}

}  // namespace heed::demo
