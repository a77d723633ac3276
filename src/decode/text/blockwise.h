// Blockwise parallel decoding (Stern, Shazeer and Uszkoreit 2018): in one pass the model judges the
// tokens that its heads proposed in the pass before, keeps those that it would have said itself,
// and proposes the next ones from where it stands. Tokens that do not stand are taken back in
// place.
//
// With exact acceptance the translations are those of greedy decoding, to the bit, in whatever
// batch.
#pragma once

#include <span>
#include <vector>

#include "decode/text/decoding.h"

namespace heed {

// Whether the model has proposals.
bool can_decode_blockwise(const TranslationModel& model);

// Throws if the model does not propose that many tokens, or if they cannot be accepted that way.
void check_blockwise(const TranslationModel& model, const DecodeOptions& options);

// The hypothesis of each request.
std::vector<std::vector<Hypothesis>> decode_blockwise(const Seq2SeqModel& model,
                                                      std::span<const DecodeRequest> requests,
                                                      const DecodeOptions& options);

}  // namespace heed
