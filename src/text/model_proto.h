// A look into a SentencePiece model file before the library sees it.
//
// The file is a protocol buffer that the library's public headers do not describe. Two things are
// read from it here: the kind of the model, which the library does not report, and whether the
// tables for normalising text keep to their bounds, which the library takes on trust.
#pragma once

#include <string>
#include <string_view>

namespace heed {

// "unigram", "bpe", "word" or "char". Throws an Error that begins with [where] if the bytes are not
// a valid model.
std::string inspect_sentencepiece(std::string_view bytes, std::string_view where);

}  // namespace heed
