#include "text/sentences.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "text/unicode.h"
#include "text/unicode_class.h"

namespace heed {
namespace {

// What is known of a language. Words are in lower case, without the last full stop, and separated
// by spaces. Abbreviations that consist of single letters ("z.B.", "U.S.") need not be listed, and
// those that often end a sentence ("etc.", "usw.") must not be.
struct LanguageWords {
  std::string_view codes;           // of ISO 639, with two letters and three
  std::string_view before_all;      // never end a sentence: titles and the like
  std::string_view before_numbers;  // not when a number follows
  // Determiners, pronouns and numerals: in upper case they begin a sentence or are part of a name.
  std::string_view beginnings = {};
  std::string_view before_names = {};  // what names follow, and no sentence ends with
};

constexpr std::array kLanguageWords = {
    LanguageWords{
        "en eng",
        "mr mrs ms messrs dr prof st sgt capt cpt lt col gen maj cmdr adm rev hon pres "
        "gov sen rep supt mt ft vs cf approx viz ca al dept univ",
        "no nos nr p pp vol vols fig figs ch chap sec art eq op jan feb mar apr jun jul "
        "aug sep sept oct nov dec",
        "a an the this that these those there he she it they we you his her its their our "
        "my your some several many most all each every both another one two three four "
        "five six seven eight nine ten",
        "a an the of in on at to from by for with and or but as than into onto over under "
        "near between like is are was were be called named titled reads says"},
    LanguageWords{
        "de deu ger",
        "dr prof hr hrn fr frl dipl ing mag med phil jur rer nat st hl bzw ca vgl sog "
        "inkl exkl zzgl abzgl evtl ggf geb gest verh mio mrd tsd bspw gem lt div resp "
        "max min allg insb insbes einschl vorm ehem zw betr bzgl chr urspr eigtl",
        "nr abs art bd bde kap abb tab ziff tel jan feb mär apr jun jul aug sep sept okt "
        "nov dez",
        "ein eine der die das dieser diese dieses es er wir ihr einige mehrere viele alle "
        "jeder jede jedes zwei drei vier fünf sechs sieben acht neun zehn",
        "ein eine einen einem einer eines der die das den dem des von in im an am auf zu "
        "zum zur aus bei mit nach für und oder aber als wie über unter ist sind war "
        "waren namens heißt"},
    LanguageWords{"fr fra fre",
                  "mm mme mmes mlle mlles dr drs pr prof me mes mgr st ste cf env ex av bd boul "
                  "fg apr",
                  "art chap fig no nos num pp vol éd tél janv févr avr juil sept oct nov déc"},
    LanguageWords{"it ita",
                  "sig sigg sig.ra sig.na sig.re dott dott.ssa dr dr.ssa prof prof.ssa proff ing "
                  "avv arch geom rag on mons ss spett spett.le egr gent gent.mo gent.ma cfr es "
                  "ca circa gen col cap.no ten",
                  "nn pag pagg art artt vol cap fig tel gen feb mar apr mag giu lug ago sett ott "
                  "nov dic"},
    LanguageWords{"es spa",
                  "sr sra srta sres sras srs dr dra dres dña prof profa lic ing arq gral cnel tte "
                  "cap sto sta fr mons ej avda av ee uu aprox cf vs ud uds vd vds ma mª",
                  "núm num nº pág págs pag art arts vol fig tel ene feb mar abr jun jul ago sept "
                  "oct nov dic"},
    LanguageWords{"nl nld dut",
                  "dhr mevr mw mej dr drs prof ir ing mr bijv ca cf vgl m.b.t st resp incl excl",
                  "nr nrs blz art hfdst afb tel jan feb mrt apr jun jul aug sept okt nov dec"},
    LanguageWords{"pt por",
                  "sr sra srs sras srta dr dra drs prof profa eng arq exmo exma av ex cf gen cel "
                  "cap ten sto sta",
                  "núm nº pág págs art arts vol fig tel jan fev mar abr jun jul ago set out nov "
                  "dez"},
};

// Languages that write "3." for "third".
constexpr std::string_view kOrdinals =
    "de deu ger da dan no nb nn nor fi fin cs ces cze sk slk sl slv hr hrv sr srp bs bos hu hun "
    "et est lv lav lt lit is isl tr tur";

using WordSet = std::unordered_set<std::string_view>;

WordSet words_of(std::string_view list) {
  WordSet words;
  while (!list.empty()) {
    const std::string_view word = list.substr(0, list.find(' '));
    words.insert(word);
    list.remove_prefix(std::min(word.size() + 1, list.size()));
  }
  return words;
}

struct Language {
  WordSet before_all = {};
  WordSet before_numbers = {};
  WordSet beginnings = {};
  WordSet before_names = {};
  bool english = false;
  bool ordinals = false;
};

std::unordered_map<std::string, Language> known_languages() {
  std::unordered_map<std::string, Language> languages;
  for (const LanguageWords& known : kLanguageWords) {
    for (const std::string_view code : words_of(known.codes)) {
      languages[std::string(code)] = {.before_all = words_of(known.before_all),
                                      .before_numbers = words_of(known.before_numbers),
                                      .beginnings = words_of(known.beginnings),
                                      .before_names = words_of(known.before_names),
                                      .english = code.starts_with("en")};
    }
  }
  for (const std::string_view code : words_of(kOrdinals)) {
    languages[std::string(code)].ordinals = true;
  }
  return languages;
}

const Language& language_of(std::string_view name) {
  static const std::unordered_map<std::string, Language> kLanguages = known_languages();
  static const Language kUnknown;
  std::string code;
  for (const char c : name.substr(0, name.find_first_of("-_"))) {
    code += static_cast<char>(lower_case(static_cast<unsigned char>(c)));
  }
  const auto found = kLanguages.find(code);
  return found == kLanguages.end() ? kUnknown : found->second;
}

enum class Mark {
  none,
  full_stop,
  end,       // ! ? … and those of scripts that put a space behind
  wide_end,  // Chinese and Japanese: no space follows
  closing,   // quotes and brackets
  either,    // quotes that close in one language and open in the next
};

bool among(char32_t c, std::u32string_view list) {
  return list.find(c) != std::u32string_view::npos;
}

Mark mark_of(char32_t c) {
  if (c < 0x80) {
    switch (c) {
      case '.':
        return Mark::full_stop;
      case '!':
      case '?':
        return Mark::end;
      case ')':
      case ']':
      case '}':
        return Mark::closing;
      case '"':
      case '\'':
        return Mark::either;
      default:
        return Mark::none;
    }
  }
  if (among(c, U"。！？｡")) {
    return Mark::wide_end;
  }
  // Arabic, Urdu, Armenian, Devanagari, Tibetan, Burmese, Ethiopic, Khmer.
  if (among(c, U"…‥‼‽⁇⁈⁉؟۔։।॥།။።፧។៕")) {
    return Mark::end;
  }
  if (among(c, U"’”»›」』】〕》〉）］｝｣〞〟")) {
    return Mark::closing;
  }
  return among(c, U"“‘«‹") ? Mark::either : Mark::none;
}

bool is_ideograph_or_kana(char32_t c) {
  return (c >= 0x3040 && c <= 0x30FF) || (c >= 0x3400 && c <= 0x9FFF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x20000 && c <= 0x3FFFF);
}

bool is_digit(char32_t c) { return is_letter(c) && !is_alphabetic(c); }

bool has_upper_case(std::string_view text) {
  for (const CodePoint& c : CodePoints(text)) {
    if (lower_case(c.value) != c.value) {
      return true;
    }
  }
  return false;
}

// The word that a full stop follows: without what opens before it, and of "Karl-Heinz-Str." or
// "l'av." only the last part.
std::u32string last_word(std::string_view text) {
  std::u32string word;
  for (const CodePoint& c : CodePoints(text)) {
    if (among(c.value, U"-‐–/'’") || (word.empty() && !is_letter(c.value))) {
      word.clear();
    } else {
      word += c.value;
    }
  }
  return word;
}

std::string lower_cased(std::u32string_view word) {
  std::string text;
  for (const char32_t c : word) {
    text += to_utf8(lower_case(c));
  }
  return text;
}

// "z.B", "U.S", "Ph.D": parts of one or two letters with full stops between them.
bool is_acronym(std::u32string_view word) {
  constexpr size_t kLongestPart = 2;
  size_t part = 0;
  size_t stops = 0;
  for (const char32_t c : word) {
    part = c == '.' ? 0 : part + 1;
    stops += c == '.' ? 1 : 0;
    if (part > kLongestPart || (c != '.' && !is_alphabetic(c))) {
      return false;
    }
  }
  return stops > 0;
}

class SentenceSplitter {
 public:
  SentenceSplitter(std::string_view text, std::string_view language)
      : text_(text), language_(language_of(language)), cased_(has_upper_case(text)) {}

  std::vector<Sentence> run() {
    size_t at = 0;
    while (at < text_.size()) {
      const CodePoint c = first_code_point(text_.substr(at));
      if (is_space(c.value)) {
        end_token(at);
        if (c.value == '\n') {
          end_ = PossibleEnd{.end = last_end_, .certain = true};
        }
      } else {
        add(c.value, at, at + c.bytes.size());
      }
      at += c.bytes.size();
    }
    end_token(at);
    if (begin_ < text_.size()) {
      cut(std::max(last_end_, begin_), text_.size());
    }
    return std::move(sentences_);
  }

 private:
  // The characters between white space that are being read.
  struct Token {
    size_t begin = 0;
    size_t core_end = 0;  // behind the last one that is neither an end mark nor closes; 0: none
    bool letters = false;
    // The marks behind the core.
    int full_stops = 0;
    bool end = false;
    bool wide_end = false;
    bool closed = false;
    bool either = false;
  };
  // Where a sentence may have ended. What follows tells.
  struct PossibleEnd {
    size_t end = 0;
    std::optional<size_t> next = {};  // begin of what follows
    bool certain = false;
    bool number_goes_on = false;  // not if a digit follows
  };

  void add(char32_t c, size_t at, size_t next) {
    if (!token_) {
      begin_token(at);
    }
    switch (mark_of(c)) {
      case Mark::full_stop:
        ++token_->full_stops;
        return;
      case Mark::wide_end:
        token_->wide_end = true;
        [[fallthrough]];
      case Mark::end:
        token_->end = true;
        return;
      case Mark::either:
        token_->either = true;
        [[fallthrough]];
      case Mark::closing:
        token_->closed = true;
        return;
      case Mark::none:
        break;
    }
    if (letters_ && ends_without_space(c)) {
      cut(at, at);
      token_ = Token{.begin = at};
    }
    token_ = Token{.begin = token_->begin, .core_end = next, .letters = token_->letters};
    if (is_letter(c)) {
      decide(c);
      letters_ = true;
      token_->letters = true;
    }
  }

  // 「行く！」と言った goes on behind its quote; 行く！と does not.
  bool ends_without_space(char32_t next) const {
    if (token_->wide_end) {
      return !token_->closed || !is_letter(next);
    }
    return token_->end && !token_->closed && token_->core_end > 0 && is_ideograph_or_kana(next);
  }

  void begin_token(size_t at) {
    token_ = Token{.begin = at};
    if (sentences_.empty() && begin_ == 0 && last_end_ == 0 && at > 0) {
      cut(0, at);  // white space at the very beginning
    } else if (end_ && end_->certain) {
      cut(end_->end, at);
    } else if (end_ && !end_->next) {
      end_->next = at;
    }
  }

  void end_token(size_t at) {
    if (!token_) {
      return;
    }
    const bool marks_only = token_->core_end == 0;
    if (marks_only && end_ && !token_->either) {
      end_->end = at;  // marks that belong to the sentence before
      end_->next.reset();
    } else if (!end_ && letters_) {
      end_ = possible_end(*token_, at);
    }
    words_ += token_->letters ? 1 : 0;
    last_end_ = at;
    token_.reset();
  }

  std::optional<PossibleEnd> possible_end(const Token& token, size_t at) const {
    const PossibleEnd found{.end = at};
    if (token.end || token.full_stops > 1) {
      return found;
    }
    if (token.full_stops == 0) {
      return std::nullopt;
    }
    constexpr size_t kLongestAbbreviation = 24;  // bytes, with what opens before it
    if (token.core_end == 0 || token.core_end - token.begin > kLongestAbbreviation) {
      return found;
    }
    return behind_word(last_word(text_.substr(token.begin, token.core_end - token.begin)), found);
  }

  // Whether a full stop behind this word ends the sentence.
  std::optional<PossibleEnd> behind_word(const std::u32string& word, PossibleEnd found) const {
    const std::string lower = lower_cased(word);
    const bool number = !word.empty() && std::all_of(word.begin(), word.end(), is_digit);
    if (language_.before_all.contains(lower) || (words_ == 0 && number && word.size() <= 3)) {
      return std::nullopt;  // an abbreviation, or the number of an item in a list
    }
    if (language_.ordinals && ((number && word.size() <= 2) || is_roman(word))) {
      return std::nullopt;
    }
    if (word.size() == 1 && is_cased(word[0]) && !(language_.english && word[0] == 'I')) {
      return std::nullopt;  // an initial
    }
    const bool time_of_day = language_.english && (lower == "a.m" || lower == "p.m");
    if (is_acronym(word) && !time_of_day) {
      return std::nullopt;
    }
    found.number_goes_on = language_.before_numbers.contains(lower);
    return found;
  }

  static bool is_roman(std::u32string_view word) {
    return word.size() > 1 && word.find_first_not_of(U"IVXLC") == std::u32string_view::npos;
  }

  // The first letter or digit behind a possible end.
  void decide(char32_t c) {
    if (!end_) {
      return;
    }
    const bool goes_on =
        (cased_ && is_lower_case(c)) || (end_->number_goes_on && is_digit(c)) || !end_->next;
    if (goes_on) {
      end_.reset();
    } else {
      cut(end_->end, *end_->next);
    }
  }

  void cut(size_t end, size_t next) {
    sentences_.push_back({text_.substr(begin_, end - begin_), text_.substr(end, next - end)});
    begin_ = next;
    words_ = 0;
    letters_ = false;
    end_.reset();
  }

  std::string_view text_;
  const Language& language_;
  bool cased_;  // the text has upper-case letters, so lower-case ones begin no sentence
  std::vector<Sentence> sentences_;
  size_t begin_ = 0;      // of the sentence
  size_t last_end_ = 0;   // of the last token
  int64_t words_ = 0;     // tokens with letters or digits of the sentence
  bool letters_ = false;  // the sentence has letters or digits
  std::optional<Token> token_;
  std::optional<PossibleEnd> end_;
};

// The words of a text, which white space separates.
std::vector<std::string_view> words_between_spaces(std::string_view text) {
  std::vector<std::string_view> words;
  bool inside = false;
  for (const CodePoint& c : CodePoints(text)) {
    if (is_space(c.value)) {
      inside = false;
    } else if (inside) {
      const char* const begin = words.back().data();
      words.back() = {begin, static_cast<size_t>(c.bytes.data() + c.bytes.size() - begin)};
    } else {
      words.push_back(c.bytes);
      inside = true;
    }
  }
  return words;
}

// Whether a word in lower case, without marks, can be the last one of a sentence.
bool may_end(std::string_view word, const Language& language) {
  for (const CodePoint& c : CodePoints(word)) {
    if (!is_letter(c.value) || lower_case(c.value) != c.value) {
      return false;
    }
  }
  return !language.before_names.contains(word);
}

bool begins_sentence(std::string_view word, const Language& language) {
  const char32_t first = first_code_point(word).value;
  return lower_case(first) != first &&
         language.beginnings.contains(lower_cased(to_code_points(word)));
}

}  // namespace

std::vector<Sentence> split_unmarked(const Sentence& sentence, std::string_view language) {
  const Language& known = language_of(language);
  const std::vector<std::string_view> words = words_between_spaces(sentence.text);
  std::vector<Sentence> parts;
  const char* begin = sentence.text.data();
  for (size_t i = 1; i + 1 < words.size(); ++i) {
    if (begins_sentence(words[i], known) && may_end(words[i - 1], known)) {
      const char* const end = words[i - 1].data() + words[i - 1].size();
      parts.push_back({{begin, static_cast<size_t>(end - begin)},
                       {end, static_cast<size_t>(words[i].data() - end)}});
      begin = words[i].data();
    }
  }
  const char* const end = sentence.text.data() + sentence.text.size();
  parts.push_back({{begin, static_cast<size_t>(end - begin)}, sentence.space});
  return parts;
}

std::vector<Sentence> split_sentences(std::string_view text, std::string_view language) {
  return SentenceSplitter(text, language).run();
}

}  // namespace heed
