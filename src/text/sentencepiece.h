// SentencePiece vocabularies: unigram and BPE, trained here or elsewhere.
//
// Text is put into a normal form first (NFKC: "…" becomes "...", no-break spaces become spaces;
// runs of spaces become one), so decode(encode(x)) is x for text in that form whose characters the
// vocabulary has.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace heed {

// From the bytes of a model file; errors begin with [where].
std::shared_ptr<const Tokenizer> load_sentencepiece(std::string bytes, std::string_view where);

std::shared_ptr<const Tokenizer> train_sentencepiece(const std::vector<std::string>& lines,
                                                     const TokenizerTraining& options);

}  // namespace heed
