// An Image Transformer that also proposes the levels behind the next one (Stern, Shazeer and
// Uszkoreit 2018). Without its heads it is the Image Transformer that it was trained from, name by
// name.
#pragma once

#include "models/images/image_transformer.h"
#include "nn/proposal_heads.h"

namespace heed {

struct BlockwiseImageTransformerConfig : ImageTransformerConfig {
  int64_t proposals = 4;
  int64_t proposals_hidden = 0;

  template <typename Visitor>
  void fields(Visitor& v) {
    ImageTransformerConfig::fields(v);
    v("proposals", proposals, "samples that are proposed together, the next one included",
      {.least = 2, .most = 64});
    v("proposals_hidden", proposals_hidden,
      "hidden units of each further proposal; 0: as in the layers", {.least = 0, .most = 1 << 20});
  }
};

class BlockwiseImageTransformer : public ImageTransformer, public BlockwiseModel {
 public:
  static constexpr const char* kWhat = "an image model with blockwise proposals";

  BlockwiseImageTransformer(const Scope& s, const BlockwiseImageTransformerConfig& config);

  int64_t block() const override { return heads_.block(); }
  Tensor propose(const Tensor& hidden) const override;
  Tensor propose(const Tensor& hidden, int64_t head) const override;

 private:
  ProposalHeads heads_;
};

}  // namespace heed
