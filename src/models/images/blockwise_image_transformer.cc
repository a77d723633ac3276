#include "models/images/blockwise_image_transformer.h"

#include "base/error.h"
#include "kernels/matmul/matmul.h"

namespace heed {

BlockwiseImageTransformer::BlockwiseImageTransformer(const Scope& s,
                                                     const BlockwiseImageTransformerConfig& config)
    : ImageTransformer(s, config),
      heads_(s / "blockwise",
             {.block = config.proposals,
              .width = config.width,
              .hidden = config.proposals_hidden > 0 ? config.proposals_hidden : config.hidden,
              .dropout = config.dropout}) {
  check(config.output == "categorical",
        "[blockwise_image_transformer] output is {}, expected categorical: proposals are levels",
        config.output);
}

Tensor BlockwiseImageTransformer::propose(const Tensor& hidden) const {
  const kernels::RoughProducts rough;  // the model itself verifies what is proposed
  return project(heads_(hidden));      // [N,k-1,O]
}

Tensor BlockwiseImageTransformer::propose(const Tensor& hidden, int64_t head) const {
  return project(heads_(hidden, head));  // [..., O]
}

}  // namespace heed
