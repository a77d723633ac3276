#include "data/demo/demo_corpus.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <sstream>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "base/random.h"
#include "data/demo/demo_sentences.h"

namespace heed {
namespace {

using demo::Draw;
using demo::Family;
using demo::Sentence;

constexpr uint64_t kReservedOneIn = 8;  // combinations held out of training
constexpr std::ptrdiff_t kMostWords = 20;
constexpr int kCandidates = 4;          // drawn for each sentence of training
constexpr size_t kOften = 50;           // a word in use this often is no longer rare
constexpr uint64_t kHeldOutOneIn = 16;  // held-out sentences among the others

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

// ASCII letters in lower case, and a space for everything that is not a letter. Bytes of accented
// letters stay.
std::string plain_words(const std::string& text) {
  std::string words = " ";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = byte < 0x80;
    words += !plain ? c : std::isalnum(byte) != 0 ? static_cast<char>(std::tolower(byte)) : ' ';
  }
  return words + " ";
}

// The words of both sides; English ones begin with a mark, since some look the same.
template <typename Visit>
void for_each_word(const DemoPair& pair, const Visit& visit) {
  std::istringstream source(plain_words(pair.source));
  for (std::string word; source >> word;) {
    visit(fmt::format("<{}", word));
  }
  std::istringstream target(plain_words(pair.target));
  for (std::string word; target >> word;) {
    visit(word);
  }
}

// Draws sentences and sorts them into parts.
class Maker {
 public:
  explicit Maker(const DemoOptions& options)
      : options_(options), draw_({options.seed, stream_of("demo_corpus")}) {
    for (const auto families : {demo::plain_families(), demo::ambiguous_families()}) {
      families_.insert(families_.end(), families.begin(), families.end());
    }
    for (const Family& family : families_) {
      total_weight_ += static_cast<size_t>(family.weight);
    }
  }

  DemoCorpus run() {
    const size_t wanted = options_.train + options_.valid + options_.test;
    const size_t most_rounds = 1000 + 20 * wanted;
    for (size_t round = 0; made_ < wanted; ++round) {
      check(round < most_rounds,
            "[demo_corpus] {} sentences are wanted, but {} rounds of draws gave only {}", wanted,
            round, made_);
      draw_round();
    }
    return std::move(corpus_);
  }

 private:
  // Among a few candidates for training the one with the rarest word is kept, as long as there are
  // rare words; the others may be drawn again. Held-out sentences are taken as they come.
  void draw_round() {
    std::optional<DemoPair> best;
    size_t fewest = 0;
    for (int i = 0; i < kCandidates; ++i) {
      DemoPair pair = draw_pair();
      const auto spaces = std::count(pair.source.begin(), pair.source.end(), ' ');
      if (spaces >= kMostWords || used_.contains(pair.source)) {
        continue;
      }
      if (pair.reserved || one_in(kHeldOutOneIn, pair.source)) {
        const bool full = corpus_.test.size() >= options_.test;
        add(std::move(pair), full ? corpus_.valid : corpus_.test,
            full ? options_.valid : options_.test);
        continue;
      }
      const size_t count = count_of_rarest(pair);
      if (!best || count < fewest) {
        fewest = count;
        best = std::move(pair);
      }
    }
    if (best && corpus_.train.size() < options_.train) {
      for_each_word(*best, [&](const std::string& word) { ++counts_[word]; });
      add(std::move(*best), corpus_.train, options_.train);
    }
  }

  DemoPair draw_pair() {
    DemoPair pair = finished(draw_sentence());
    const auto [entry, added] = translations_.try_emplace(pair.source, pair.target);
    check(added || entry->second == pair.target, "[demo_corpus] \"{}\" is \"{}\" and \"{}\"",
          pair.source, entry->second, pair.target);
    return pair;
  }

  Sentence draw_sentence() {
    size_t number = draw_.below(total_weight_);
    for (const Family& family : families_) {
      const auto weight = static_cast<size_t>(family.weight);
      if (number < weight) {
        return family.draw(draw_);
      }
      number -= weight;
    }
    fail("[demo_corpus] a family of number {} is wanted, of {}", number, total_weight_);
  }

  size_t count_of_rarest(const DemoPair& pair) const {
    size_t fewest = kOften;
    for_each_word(pair, [&](const std::string& word) {
      const auto entry = counts_.find(word);
      fewest = std::min(fewest, entry == counts_.end() ? 0 : entry->second);
    });
    return fewest;
  }

  void add(DemoPair pair, std::vector<DemoPair>& part, size_t room) {
    if (part.size() < room) {
      used_.insert(pair.source);
      part.push_back(std::move(pair));
      ++made_;
    }
  }

  DemoOptions options_;
  Draw draw_;
  std::vector<Family> families_;
  size_t total_weight_ = 0;
  DemoCorpus corpus_;
  size_t made_ = 0;
  std::unordered_set<std::string> used_;
  std::unordered_map<std::string, std::string> translations_;  // of everything ever drawn
  std::unordered_map<std::string, size_t> counts_;             // of words in training
};

}  // namespace

DemoCorpus make_demo_corpus(const DemoOptions& options) { return Maker(options).run(); }

bool holds_word(const std::string& text, const std::string& word) {
  return plain_words(text).find(plain_words(word)) != std::string::npos;
}

}  // namespace heed
