// What a text encoder's heads say: classes or a score of texts, and the words behind masks.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "decode/embed.h"

namespace heed {

struct ClassifyText {
  std::string text;
  std::string pair = {};  // empty: only one text
};

// Probabilities of the classes of each text, in the order of config.labels; of a model that gives
// scores, the one score.
std::vector<std::vector<float>> classify(const LoadedEncoder& model,
                                         std::span<const ClassifyText> texts, int64_t batch_tokens);

struct FilledWord {
  std::string word;
  float probability = 0.0F;
};
// The k likeliest words for each [MASK] of the text, in the order of the masks.
std::vector<std::vector<FilledWord>> fill_masks(const LoadedEncoder& model, const std::string& text,
                                                int64_t k);

}  // namespace heed
