// A sentence as one vector: the sum of its words' vectors, each times a weight of its place, column
// by column.
//
//   bag        every word counts the same (Sukhbaatar et al. 2015, section 4.1, BoW)
//   positions  fixed weights by the word's place and the sentence's length (the same, PE)
//   learned    a learned weight for each place (the recurrent entity network of Henaff et al. 2016,
//              and the Universal Transformer of Dehghani et al. 2018)
#pragma once

#include <cstdint>
#include <string>

#include "nn/parameters.h"
#include "tensor/tensor.h"

namespace heed {

struct SentenceConfig {
  std::string order = "learned";  // bag, positions or learned
  int64_t longest = 16;           // words of a sentence
  int64_t width = 128;
};

class SentenceEncoder {
 public:
  // The learned weights are s / "weights".
  SentenceEncoder(const Scope& s, const SentenceConfig& config);

  // How much each word counts: words i32 [S,W], 0 behind the last one -> [S,W,C], 0 for those.
  Tensor weights(const Tensor& words) const;

 private:
  SentenceConfig config_;
  Parameter learned_;  // [longest, C]: the weights less 1
};

// The words of sentences as vectors and their weights, both [S,W,C] -> [S,C]
Tensor encode_sentences(const Tensor& words, const Tensor& weights);

}  // namespace heed
