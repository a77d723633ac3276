// How many words of a translation come from each word of its source, as a translator's attention
// tells it. Models that say all words at once can learn from these counts how long a translation is
// and which source word stands behind each of its words (Gu et al. 2018).
//
// Every function may be called from any thread; a model belongs to one at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/text/pairs.h"
#include "models/folder.h"

namespace heed {

// Whether fertilities() can look at a pair: its source has tokens, and neither side is longer than
// the model can be shown, or than 1,024 tokens, since attention grows with the square of the
// length.
bool fits_fertilities(const LoadedFolder& model, const EncodedPair& pair);

// For each pair a count for each source token, END included if the model's sources have it: of the
// target tokens, END not among them, that attend most to it. So the counts of a pair add up to the
// length of its target. The attention is that of the last decoder layer, averaged over its heads;
// of equal weights the first counts. An Error for a model without attention to its source. The
// same alone and in any batch.
// `batch_tokens` limits the padded tokens of a side of a batch.
std::vector<std::vector<int64_t>> fertilities(const LoadedFolder& model,
                                              std::span<const EncodedPair> pairs,
                                              int64_t batch_tokens);

}  // namespace heed
