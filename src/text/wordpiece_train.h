// Learns a WordPiece vocabulary from text.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "text/wordpiece.h"

namespace heed {

// First come [PAD] [UNK] [CLS] [SEP] [MASK], then the most frequent characters, at most 1,000, each
// also as a "##" piece where it continues a word, then joined pieces, the most frequent pair of
// neighbours first, as long as it occurs at least twice. At most `vocabulary` pieces in all, fewer
// if the text has no more. The same lines give the same pieces.
std::shared_ptr<const WordPiece> train_wordpiece(const std::vector<std::string>& lines,
                                                 int32_t vocabulary,
                                                 const WordPieceOptions& options);

}  // namespace heed
