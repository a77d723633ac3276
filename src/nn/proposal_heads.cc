#include "nn/proposal_heads.h"

#include "base/error.h"
#include "ops/shape/shape.h"

namespace heed {

ProposalHeads::ProposalHeads(const Scope& s, const ProposalHeadsConfig& config) : config_(config) {
  check(config.block >= 2, "[proposals] a block has {} tokens, expected 2 or more", config.block);
  for (int64_t head = 2; head <= config.block; ++head) {
    heads_.emplace_back(s / head, FeedForwardConfig{.width = config.width,
                                                    .hidden = config.hidden,
                                                    .activation = config.activation,
                                                    .dropout = config.dropout});
  }
}

Tensor ProposalHeads::operator()(const Tensor& x, int64_t head) const {
  check(1 <= head && head <= config_.block, "[proposals] head {}, expected 1 to {}", head,
        config_.block);
  if (head == 1) {
    return x;  // [..., C]
  }
  const FeedForward& feed_forward = heads_[static_cast<size_t>(head - 2)];
  return add(x, dropout(feed_forward(x), config_.dropout));  // [..., C]
}

Tensor ProposalHeads::operator()(const Tensor& x) const {
  std::vector<Tensor> outputs;
  for (int64_t head = 2; head <= config_.block; ++head) {
    outputs.push_back((*this)(x, head).reshape({x.dim(0), 1, x.dim(1)}));  // [N,1,C]
  }
  return concat(outputs, 1);  // [N,k-1,C]
}

}  // namespace heed
