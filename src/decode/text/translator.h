// Texts in, translations out: tokenizer, search and the awkward texts (empty, long, of several
// lines) around a model. Owns nothing but its options; the model must outlive it. One thread at a
// time.
//
// A model trained on single sentences translates the first one or two of a paragraph and leaves out
// the rest. So a text unlike the lines that the model learned from (FolderConfig::training_lines)
// is cut into sentences, short neighbours stay together, and the translations are joined. A text of
// one sentence is never cut, unless it is longer than the model can take.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "decode/text/decoding.h"
#include "models/folder.h"
#include "text/sentences.h"

namespace heed {

struct TranslatorOptions {
  DecodeOptions decode = {};
  int64_t batch_tokens = 4096;  // padded source tokens times the beam
  // Sentences with more tokens are cut; 0: more than 256, unless the model learned from longer
  // ones.
  int64_t longest = 0;
  OnDecoded on_decoded = {};  // hears how far a call of translate() is
};

struct TranslatedText {
  std::string text;
  double score = 0.0;
  // What stood there after each pass of the decoder, piece by piece, if the options ask for it; an
  // empty piece is a place without a token. Parts of a text fill in one after the other.
  std::vector<std::vector<std::string>> trace = {};
};

// A text to translate and what its translation must begin with.
struct SourceText {
  std::string text;
  std::string prefix = {};
};

class Translator {
 public:
  Translator(const LoadedTranslator& model, const TranslatorOptions& options);

  // How many tokens were translated into how few.
  struct Shortfall {
    int64_t source_tokens = 0;
    int64_t target_tokens = 0;
    std::string text() const;  // says so
  };
  struct Result {
    // n_best of them at most, best first; never empty. Of a text in several parts, the k-th has
    // the k-th best translation of each part, and its score is the sum of theirs.
    std::vector<TranslatedText> best;
    int64_t pieces = 1;     // that were translated one by one; 0: the text is blank
    int64_t tokens = 0;     // of the best translation, each END included
    int64_t steps = 0;      // passes of the decoder that it took
    bool cut = false;       // a sentence was too long for the model
    PassCount passes = {};  // of the best
    // The first piece whose translation is so short that something is probably missing.
    std::optional<Shortfall> shortfall = {};
  };
  // One result for each text, in order. An empty text has an empty translation. Line breaks stay.
  std::vector<Result> translate(std::span<const SourceText> texts) const;

 private:
  // A part of a text and what stands between its translation and the next one.
  struct Part {
    std::string text;
    std::string joint = {};
  };
  struct Parts {
    std::string before;  // line breaks that the text begins with
    std::vector<Part> parts;
    bool cut = false;
  };

  Parts parts_of(const std::string& text) const;
  std::vector<Part> parts_of_line(std::span<const Sentence> marked) const;
  void cut_long_parts(Parts& parts) const;
  std::vector<std::string> pieces_of(const std::string& text) const;
  void add_passes(std::vector<std::vector<std::string>>& trace, const Hypothesis& part) const;
  std::string joint(std::string_view space) const;
  bool fits(const std::string& text) const;
  int64_t source_tokens(std::string_view text) const;
  DecodeRequest request_for(const std::string& part, const std::string& prefix) const;
  Result joined(const Parts& parts, std::span<const std::vector<Hypothesis>> decoded) const;
  bool improbably_short(const Shortfall& lengths) const;

  const LoadedTranslator& model_;
  TranslatorOptions options_;
  TrainingLines lines_;
};

}  // namespace heed
