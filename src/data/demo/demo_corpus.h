// The built-in English-Italian corpus: made by a small grammar, so that everything can be tried
// without a download, and so that what a translation needs to look at is known for every sentence.
//
// Many sentences hold a word that means two things ("bank": riva or banca) or a pronoun whose
// Italian gender is its antecedent's; other words of the sentence decide. Every English sentence
// has exactly one translation. Sentences of valid and test are never in train; besides, some
// combinations of words, such as certain objects of certain verbs, are in valid and test only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace heed {

struct DemoPair {
  std::string source, target;  // English, Italian
  std::string ambiguous;       // the English word that needs its context, or empty
  std::string expected;        // the Italian form that is right here
  bool reserved = false;       // holds a combination that training never shows
};

struct DemoCorpus {
  std::vector<DemoPair> train, valid, test;
};

struct DemoOptions {
  size_t train = 24000;
  size_t valid = 400;
  size_t test = 1000;
  uint64_t seed = 1;
};

// A pure function of its options. More sentences than the grammar can make are an Error.
DemoCorpus make_demo_corpus(const DemoOptions& options = {});

// Whether a text holds a word, as a whole and whatever the case: "orso" is in "L'orso dorme.".
bool holds_word(const std::string& text, const std::string& word);

}  // namespace heed
