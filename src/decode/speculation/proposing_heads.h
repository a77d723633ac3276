// A language model's own heads as the proposer of its tokens (Stern, Shazeer and Uszkoreit 2018).
#pragma once

#include <memory>

#include "decode/speculation/proposer.h"
#include "text/tokenizer.h"

namespace heed {

// Whether the model has heads that propose.
bool has_proposing_heads(const LanguageModel& model);
// An Error if it has none.
std::unique_ptr<Proposer> make_proposing_heads(const LanguageModel& model,
                                               const Tokenizer& tokenizer);

}  // namespace heed
