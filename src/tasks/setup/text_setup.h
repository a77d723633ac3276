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
    v("kind", kind,
      "kind of tokenizer: unigram and bpe are SentencePiece's, byte_bpe is GPT-2's, wordpiece is "
      "BERT's; token splits at spaces only",
      {.choices = tokenizer_kinds()});
    v("vocabulary", vocabulary, "largest number of tokens, special ones included",
      {.least = 5, .most = 1 << 20});
    v("lower_case", lower_case, "lowercase all text");
    v("character_coverage", character_coverage, "share of characters that get a piece",
      {.least = 0.9, .most = 1});
    v("sample", sample, "largest number of lines of each side to train the tokenizer on",
      {.least = 1});
    v("folder", folder, "folder to take the tokenizer from, instead of training one",
      {.path = true});
  }
};

// For pairs of languages.
struct PairTextConfig : TextConfig {
  bool joint = true;

  template <typename Visitor>
  void fields(Visitor& v) {
    TextConfig::fields(v);
    v("joint", joint, "use one vocabulary for both languages");
  }
};

struct TextSetup {
  const Recipe& recipe;
  const TextConfig& text;
  const TaskSetup& task;
};

// One tokenizer: from the run folder of a resumed run, from the model that the training begins
// with, from the folder that the recipe names, or trained on what `lines` reads.
using ReadLines = std::function<std::vector<std::string>()>;
Tokenizers prepare_text_tokenizer(const TextSetup& setup, const ReadLines& lines);
// The same for two languages, one tokenizer for both or one for each.
Tokenizers prepare_pair_tokenizers(const TextSetup& setup, bool joint,
                                   const std::vector<PairFiles>& files);

// The model that the recipe asks for, with the tokenizers' vocabularies. If the training begins
// with another model, everything but dropout is as that one has it.
Json model_to_train(const Recipe& recipe, const Tokenizers& tokenizers);
// The same before a tokenizer is trained: with vocabularies as large as the recipe allows.
Json planned_model(const Recipe& recipe, const TextConfig& text, bool joint = true);

}  // namespace heed
