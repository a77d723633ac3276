#include "data/demo_corpus.h"

#include <algorithm>
#include <cctype>
#include <unordered_map>

#include "base/error.h"
#include "base/random.h"
#include "data/demo_sentences.h"

namespace heed {
namespace {

using demo::Draw;
using demo::Family;
using demo::Sentence;

constexpr uint64_t kReservedOneIn = 8;  // combinations kept away from training
constexpr uint64_t kHeldOutOneIn = 16;  // sentences kept away, of those without such combinations

// FNV's high bits are the better mixed ones.
bool one_in(uint64_t n, const std::string& text) { return (stream_of(text) >> 32) % n == 0; }

bool is_reserved(const Sentence& sentence) {
  return std::any_of(sentence.combinations.begin(), sentence.combinations.end(),
                     [](const std::string& words) { return one_in(kReservedOneIn, words); });
}

// A capital at the start and after a mark inside.
std::string capitalised(std::string text) {
  bool begin = true;
  for (size_t i = 0; i < text.size(); ++i) {
    if (begin && text.compare(i, 2, "è") == 0) {
      text.replace(i, 2, "È");
    } else if (begin) {
      text[i] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[i])));
    }
    begin = i > 0 && text[i] == ' ' && (text[i - 1] == '?' || text[i - 1] == '.');
  }
  return text;
}

DemoPair finished(const Sentence& sentence) {
  return {capitalised(sentence.english) + sentence.mark,
          capitalised(sentence.italian) + sentence.mark, sentence.ambiguous, sentence.expected,
          is_reserved(sentence)};
}

Sentence draw_sentence(Draw& draw, const std::vector<Family>& families, size_t total) {
  auto number = static_cast<int>(draw.below(total));
  for (const Family& family : families) {
    number -= family.weight;
    if (number < 0) {
      return family.draw(draw);
    }
  }
  return families.back().draw(draw);
}

// ASCII letters in lower case, and everything that is no letter as a space. Bytes of accented
// letters stay.
std::string plain_words(const std::string& text) {
  std::string words = " ";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    words += byte >= 0x80              ? c
             : std::isalnum(byte) != 0 ? static_cast<char>(std::tolower(byte))
                                       : ' ';
  }
  return words + " ";
}

}  // namespace

DemoCorpus make_demo_corpus(const DemoOptions& options) {
  std::vector<Family> families;
  families.insert(families.end(), demo::plain_families().begin(), demo::plain_families().end());
  families.insert(families.end(), demo::ambiguous_families().begin(),
                  demo::ambiguous_families().end());
  size_t total = 0;
  for (const Family& family : families) {
    total += static_cast<size_t>(family.weight);
  }
  const size_t wanted = options.train + options.valid + options.test;
  const size_t most_draws = 1000 + 40 * wanted;

  Draw draw({options.seed, stream_of("demo_corpus")});
  std::unordered_map<std::string, std::string> translations;
  DemoCorpus corpus;
  size_t made = 0;
  for (size_t draws = 0; made < wanted; ++draws) {
    check(draws < most_draws,
          "[demo_corpus] {} sentences are wanted, but {} draws gave only {} of them", wanted, draws,
          made);
    DemoPair pair = finished(draw_sentence(draw, families, total));
    const auto [entry, added] = translations.try_emplace(pair.source, pair.target);
    check(entry->second == pair.target, "[demo_corpus] \"{}\" is \"{}\" and \"{}\"", pair.source,
          entry->second, pair.target);
    const bool held_out = pair.reserved || one_in(kHeldOutOneIn, pair.source);
    std::vector<DemoPair>& part = !held_out                           ? corpus.train
                                  : corpus.test.size() < options.test ? corpus.test
                                                                      : corpus.valid;
    const size_t room = !held_out               ? options.train
                        : &part == &corpus.test ? options.test
                                                : options.valid;
    if (added && part.size() < room) {
      part.push_back(std::move(pair));
      ++made;
    }
  }
  return corpus;
}

bool holds_word(const std::string& text, const std::string& word) {
  return plain_words(text).find(plain_words(word)) != std::string::npos;
}

}  // namespace heed
