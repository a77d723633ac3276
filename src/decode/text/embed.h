// Texts as vectors: a text encoder's output, pooled over the tokens.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/text/texts.h"
#include "models/folder.h"

namespace heed {

using LoadedEncoder = Loaded<TextEncoder>;

enum class Pooling { first, mean, max, summary };  // of the tokens; summary: BERT's pooler

// mean, cls, max or pooler.
Pooling pooling_of(std::string_view name);

struct EmbedOptions {
  Pooling pooling = Pooling::mean;
  bool normalize = false;  // to length 1
  int64_t batch_tokens = 4096;
  int64_t longest = 0;  // tokens of a text that are read; 0: as many as the model can
};

// Where a batch of the data pipeline meets the encoder.
TextBatch to_tensors(const HostTexts& texts);

// One vector a text, f32 [B,C]. Padding does not count.
Tensor pool(const TextEncoder& model, const TextBatch& batch, Pooling pooling);

// One vector for each text, in order; the same whatever else is in the list, of a recurrent encoder
// up to rounding.
std::vector<std::vector<float>> embed(const LoadedEncoder& model,
                                      std::span<const std::string> texts,
                                      const EmbedOptions& options);
// The same of texts with their special tokens, none longer than the model can read.
std::vector<std::vector<float>> embed_encoded(const LoadedEncoder& model,
                                              std::span<const EncodedText> texts,
                                              const EmbedOptions& options);

}  // namespace heed
