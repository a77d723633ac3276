// Hugging Face's tokenizer.json, both ways, for the two kinds of models that use it here:
// byte-level BPE as GPT-2 has it, and WordPiece as BERT has it.
//
// A file that asks for anything else, be it another normalizer or a token that swallows spaces, is
// refused by an Error that names the field: other ids than Hugging Face's would be worse than none.
// Parts that only frame, truncate or pad sequences are ignored, since whoever builds a batch does
// that.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "text/tokenizer.h"

namespace heed {

class ByteBpe;
class WordPiece;

// Whether this is JSON with a "model" in it, which other vocabularies do not have.
bool is_tokenizer_json(std::string_view json);

// Errors begin with [where].
std::shared_ptr<const Tokenizer> read_tokenizer_json(std::string_view json, std::string_view where);

std::string write_tokenizer_json(const ByteBpe& tokenizer);
std::string write_tokenizer_json(const WordPiece& tokenizer);

}  // namespace heed
