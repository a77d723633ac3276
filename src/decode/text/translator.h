// Texts in, translations out: tokenizer, search and the awkward lines (empty, over-long) around a
// model. Owns nothing but its options; the model must outlive it. One thread at a time.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "decode/text/beam_search.h"
#include "models/folder.h"

namespace heed {

struct TranslatorOptions {
  DecodeOptions decode = {};
  int64_t batch_tokens = 4096;  // padded source tokens times the beam
  int64_t longest = 256;        // sources with more tokens are translated in pieces
};

struct TranslatedText {
  std::string text;
  double score = 0.0;
};

// A text to translate and what its translation must begin with.
struct SourceText {
  std::string text;
  std::string prefix = {};
};

class Translator {
 public:
  Translator(const LoadedModel& model, const TranslatorOptions& options);

  struct Result {
    std::vector<TranslatedText> best;  // n_best of them at most, best first; never empty
    int64_t pieces = 1;                // more than 1: the source was over-long
  };
  // One result for each text, in order. An empty text has an empty translation.
  std::vector<Result> translate(std::span<const SourceText> texts) const;

 private:
  std::vector<std::string> pieces_of(const std::string& text) const;
  bool fits(const std::string& text) const;

  const LoadedModel& model_;
  TranslatorOptions options_;
};

}  // namespace heed
