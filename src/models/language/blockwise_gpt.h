// GPT-2 that also proposes the tokens behind the next one (Stern, Shazeer and Uszkoreit 2018).
// Without its heads it is the GPT-2 that it was trained from, name by name.
#pragma once

#include "models/language/gpt.h"
#include "nn/proposal_heads.h"

namespace heed {

struct BlockwiseGptConfig : GptConfig {
  BlockConfig proposals;

  template <typename Visitor>
  void fields(Visitor& v) {
    GptConfig::fields(v);
    proposals.fields(v);
  }
};

class BlockwiseGpt : public Gpt, public BlockwiseModel {
 public:
  static constexpr const char* kWhat = "a language model with blockwise proposals";

  BlockwiseGpt(const Scope& s, const BlockwiseGptConfig& config);

  int64_t block() const override { return heads_.block(); }
  Tensor propose(const Tensor& hidden) const override;
  Tensor propose(const Tensor& hidden, int64_t head) const override;

 private:
  ProposalHeads heads_;
};

}  // namespace heed
