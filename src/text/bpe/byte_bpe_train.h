// Learns GPT-2's kind of tokenizer from texts (Sennrich et al., 2016; Radford et al., 2019):
// starting from the 256 bytes, the most frequent pair of neighbours inside words becomes the next
// piece.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "text/bpe/byte_bpe.h"

namespace heed {

// `vocabulary` counts all ids, the last of which is "<|endoftext|>"; there are fewer if no pair
// occurs twice any more. The same texts give the same tokenizer, in any order: among equally
// frequent pairs the one with the lower ids comes first. The time grows with the number of
// different words.
std::shared_ptr<const ByteBpe> train_byte_bpe(const std::vector<std::string>& texts,
                                              int32_t vocabulary);

}  // namespace heed
