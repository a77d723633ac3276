#include "models/language/blockwise_gpt.h"

#include "kernels/matmul/matmul.h"

namespace heed {

BlockwiseGpt::BlockwiseGpt(const Scope& s, const BlockwiseGptConfig& config)
    : Gpt(s, config),
      heads_(
          s / "blockwise",
          {.block = config.proposals.block,
           .width = config.width,
           .hidden = config.proposals.hidden(config.hidden > 0 ? config.hidden : 4 * config.width),
           .activation = activation_of(config.activation),
           .dropout = config.dropout}) {}

Tensor BlockwiseGpt::propose(const Tensor& hidden) const {
  const kernels::RoughProducts rough;  // the model itself verifies what is proposed
  return project(heads_(hidden));      // [N,k-1,V]
}

Tensor BlockwiseGpt::propose(const Tensor& hidden, int64_t head) const {
  return project(heads_(hidden, head));  // [..., V]
}

}  // namespace heed
