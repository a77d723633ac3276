// What tasks that read text share: the section `text` of their recipes, the tokenizers made by it,
// and the model with their vocabularies.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "data/text/pairs.h"
#include "models/folder.h"
#include "text/tokenizer.h"
#include "train/task.h"

namespace heed {

struct TextConfig {
  std::string kind = "unigram";
  int64_t vocabulary = 8000;
  bool lower_case = false;
  float character_coverage = 1.0F;
  int64_t sample = 1000000;
  std::string folder;

  template <typename Visitor>
  void fields(Visitor& v) {
    v("kind", kind, "pieces of words, bytes, words, characters, or tokens with spaces between",
      {.choices = tokenizer_kinds()});
    v("vocabulary", vocabulary, "at most this many tokens, special ones included",
      {.least = 5, .most = 1 << 20});
    v("lower_case", lower_case, "all text is lower-cased first");
    v("character_coverage", character_coverage, "share of characters that get a piece",
      {.least = 0.9, .most = 1});
    v("sample", sample, "lines of each side that the vocabulary is made from", {.least = 1});
    v("folder", folder, "take the tokenizer from this folder instead of making one",
      {.path = true});
  }
};

// For pairs of languages.
struct PairTextConfig : TextConfig {
  bool joint = true;

  template <typename Visitor>
  void fields(Visitor& v) {
    TextConfig::fields(v);
    v("joint", joint, "one vocabulary for both languages");
  }
};

struct TextSetup {
  const Recipe& recipe;
  const TextConfig& text;
  const TaskSetup& task;
};

// One tokenizer: from the run folder if it has one, from the model that the training begins with,
// from the folder that the recipe names, or trained on what `lines` reads; kept in the run folder.
using ReadLines = std::function<std::vector<std::string>()>;
Tokenizers prepare_text_tokenizer(const TextSetup& setup, const ReadLines& lines);
// The same for two languages, one tokenizer for both or one for each.
Tokenizers prepare_pair_tokenizers(const TextSetup& setup, bool joint,
                                   const std::vector<PairFiles>& files);

// The model that the recipe asks for, with the tokenizers' vocabularies. If the training begins
// with another model, everything but dropout is as that one has it.
Json model_to_train(const Recipe& recipe, const Tokenizers& tokenizers);

}  // namespace heed
