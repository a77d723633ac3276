#include "decode/speculation/proposing_heads.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "ops/shape/shape.h"

namespace heed {
namespace {

class ProposingHeads final : public Proposer {
 public:
  ProposingHeads(const BlockwiseModel& model, const Tokenizer& tokenizer)
      : model_(model), known_(static_cast<size_t>(tokenizer.size())) {}

  void show(const Tensor& /*tokens*/, std::span<const int64_t> /*lengths*/,
            std::unique_ptr<DecodeState>& /*state*/) const override {}
  // Nothing is known of a row before its first token was judged.
  void join(std::unique_ptr<DecodeState> /*state*/, size_t count) override {
    hidden_.resize(hidden_.size() + count);
  }
  void select(std::span<const int64_t> rows) override {
    const std::vector<Tensor> old = std::exchange(hidden_, {});
    for (const int64_t row : rows) {
      hidden_.push_back(old[static_cast<size_t>(row)]);
    }
  }
  void clear() override { hidden_.clear(); }

  std::vector<std::vector<Proposal>> propose(std::span<const ProposalRow> rows) override;
  void tell(std::span<const int64_t> taken, const Tensor& hidden) override {
    for (int64_t row = 0; row < std::ssize(taken); ++row) {
      hidden_[static_cast<size_t>(row)] = hidden.rows(row, row + 1);
    }
  }

 private:
  const BlockwiseModel& model_;
  size_t known_;
  std::vector<Tensor> hidden_;  // [1,C]: of each row's last token that was judged, or undefined
};

std::vector<std::vector<Proposal>> ProposingHeads::propose(std::span<const ProposalRow> rows) {
  std::vector<std::vector<Proposal>> all(rows.size());
  std::vector<size_t> asking;
  std::vector<Tensor> hidden;
  for (size_t r = 0; r < rows.size(); ++r) {
    if (hidden_[r].defined() && rows[r].most > 0) {
      asking.push_back(r);
      hidden.push_back(hidden_[r]);
    }
  }
  if (asking.empty()) {
    return all;
  }
  const Tensor logits = model_.propose(concat(hidden, 0)).to(DType::f32);  // [R,k-1,V]
  const float* next = logits.data<float>();
  for (const size_t r : asking) {
    for (int64_t head = 0; head < logits.dim(1); ++head, next += logits.dim(2)) {
      if (head < rows[r].most) {
        const float* best = std::max_element(next, next + known_);
        all[r].push_back({.id = static_cast<int32_t>(best - next)});
      }
    }
  }
  return all;
}

}  // namespace

bool has_proposing_heads(const LanguageModel& model) {
  return dynamic_cast<const BlockwiseModel*>(&model) != nullptr &&
         dynamic_cast<const VerifyingModel*>(&model) != nullptr;
}

std::unique_ptr<Proposer> make_proposing_heads(const LanguageModel& model,
                                               const Tokenizer& tokenizer) {
  check(has_proposing_heads(model),
        "[generate] this model proposes nothing; one that does is trained with task = "
        "\"language_blockwise\", such as recipes/language/shakespeare-blockwise.toml");
  return std::make_unique<ProposingHeads>(dynamic_cast<const BlockwiseModel&>(model), tokenizer);
}

}  // namespace heed
