#include "models/translation/blockwise_transformer.h"

#include "kernels/matmul/matmul.h"

namespace heed {
namespace {

ProposalHeadsConfig heads_config(const BlockwiseTransformerConfig& config) {
  return {.block = config.proposals.block,
          .width = config.width,
          .hidden = config.proposals.hidden(config.hidden),
          .activation = activation_of(config.activation),
          .dropout = config.hidden_dropout};
}

}  // namespace

BlockwiseTransformer::BlockwiseTransformer(const Scope& s, const BlockwiseTransformerConfig& config)
    : Transformer(s, config), heads_(s / "blockwise", heads_config(config)) {}

Tensor BlockwiseTransformer::propose(const Tensor& hidden) const {
  const kernels::RoughProducts rough;  // the model itself verifies what is proposed
  return project(heads_(hidden));      // [N,k-1,V]
}

Tensor BlockwiseTransformer::propose(const Tensor& hidden, int64_t head) const {
  return project(heads_(hidden, head));  // [..., V]
}

}  // namespace heed
