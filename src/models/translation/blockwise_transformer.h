// A Transformer that also proposes the tokens behind the next one (Stern, Shazeer and Uszkoreit
// 2018, Blockwise Parallel Decoding for Deep Autoregressive Models). Without its heads it is the
// Transformer that it was trained from, name by name.
#pragma once

#include "models/translation/transformer.h"
#include "nn/proposal_heads.h"

namespace heed {

struct BlockwiseTransformerConfig : TransformerConfig {
  BlockConfig proposals;

  template <typename Visitor>
  void fields(Visitor& v) {
    TransformerConfig::fields(v);
    proposals.fields(v);
  }
};

class BlockwiseTransformer : public Transformer, public BlockwiseModel {
 public:
  static constexpr const char* kWhat = "a Transformer with blockwise proposals";

  BlockwiseTransformer(const Scope& s, const BlockwiseTransformerConfig& config);

  int64_t block() const override { return heads_.block(); }
  Tensor propose(const Tensor& hidden) const override;
  Tensor propose(const Tensor& hidden, int64_t head) const override;

 private:
  ProposalHeads heads_;
};

}  // namespace heed
