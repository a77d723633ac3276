// The heads of blockwise parallel decoding (Stern, Shazeer and Uszkoreit 2018): beside the vector
// from which a model tells the next token, k - 1 others, from which the same output projection
// tells the tokens behind it. Together they are one feed-forward layer with k * h hidden units and
// k * C outputs, each output with a residual connection to the input.
//
// The first output is the input itself, so that the model's own prediction stays what it was to the
// bit; and each output sees its own h hidden units alone, so that training computes only the head
// that it trains.
#pragma once

#include <vector>

#include "base/config.h"
#include "nn/layers.h"

namespace heed {

// What configurations of models say about their heads.
struct BlockConfig {
  int64_t block = 4;
  int64_t block_hidden = 0;

  int64_t hidden(int64_t otherwise) const { return block_hidden > 0 ? block_hidden : otherwise; }

  template <typename Visitor>
  void fields(Visitor& v) {
    v("block", block, "tokens that are proposed together, the next one included",
      {.least = 2, .most = 64});
    v("block_hidden", block_hidden, "hidden units of each further proposal; 0: as in the layers",
      {.least = 0, .most = 1 << 20});
  }
};

struct ProposalHeadsConfig {
  int64_t block = 4;  // k
  int64_t width = 512;
  int64_t hidden = 2048;  // h
  Activation activation = Activation::relu;
  float dropout = 0.0F;  // of hidden units, and of what is added to the input
};

class ProposalHeads {
 public:
  ProposalHeads(const Scope& s, const ProposalHeadsConfig& config);

  int64_t block() const { return config_.block; }
  // Heads 2 to k: [N,C] -> [N,k-1,C]
  Tensor operator()(const Tensor& x) const;
  // One of them, or the first, which is x: [..., C] -> [..., C]
  Tensor operator()(const Tensor& x, int64_t head) const;

 private:
  ProposalHeadsConfig config_;
  std::vector<FeedForward> heads_;  // from the second on
};

}  // namespace heed
