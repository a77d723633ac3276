// What a text encoder's heads say: classes or a score of texts, and the words behind masks.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "decode/text/embed.h"

namespace heed {

struct ClassifyText {
  std::string text;
  std::string pair = {};  // empty: only one text
};

// As the model reads it.
EncodedText encode(const LoadedEncoder& model, const ClassifyText& text);

// Probabilities of the classes of each text, in the order of config.labels; of a model that gives
// scores, the one score.
std::vector<std::vector<float>> classify(const LoadedEncoder& model,
                                         std::span<const ClassifyText> texts, int64_t batch_tokens);
std::vector<std::vector<float>> classify_encoded(const LoadedEncoder& model,
                                                 std::span<const EncodedText> texts,
                                                 int64_t batch_tokens);
void check_has_classes(const LoadedEncoder& model);

struct FilledWord {
  std::string word;
  float probability = 0.0F;
};
// The k likeliest words for each [MASK] of the text, in the order of the masks.
std::vector<std::vector<FilledWord>> fill_masks(const LoadedEncoder& model, const std::string& text,
                                                int64_t k);
// Those of several texts, in batches.
std::vector<std::vector<std::vector<FilledWord>>> fill_encoded(const LoadedEncoder& model,
                                                               std::span<const EncodedText> texts,
                                                               int64_t k, int64_t batch_tokens);
bool has_masked_head(const LoadedEncoder& model);
// An Error unless the model can tell masked words.
void check_fills_masks(const LoadedEncoder& model);
int64_t count_masks(const LoadedEncoder& model, const EncodedText& text);

}  // namespace heed
