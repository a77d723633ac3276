#include "nn/layers.h"

#include <vector>

#include "ops/mesh/split_cross_entropy.h"
#include "ops/shape/shape.h"

namespace heed {
namespace {

// Smaller tables, such as those of token types, are not worth a message.
constexpr int64_t kLeastTokens = 4;  // for each process

}  // namespace

Part Embedding::part_of(const Scope& s, int64_t vocabulary) {
  const Part part = s.part("vocabulary", vocabulary, true);
  const bool small = !part.whole() && vocabulary < kLeastTokens * part.group->size();
  return small ? Part{.begin = 0, .end = vocabulary, .total = vocabulary} : part;
}

// Each process contributes the vectors that it has, and zeros for the others.
Tensor Embedding::gathered(const Tensor& ids, float scale) const {
  std::vector<int32_t> local(static_cast<size_t>(ids.size()));
  std::vector<int8_t> here(local.size());
  const int32_t* id = ids.data<int32_t>();
  for (size_t i = 0; i < local.size(); ++i) {
    check(id[i] >= 0 && id[i] < tokens_.total,
          "[embedding] index {} at position {}, expected 0 to {}", id[i], i, tokens_.total - 1);
    here[i] = id[i] >= tokens_.begin && id[i] < tokens_.end ? 1 : 0;
    local[i] = here[i] != 0 ? id[i] - static_cast<int32_t>(tokens_.begin) : 0;
  }
  const Tensor rows = embedding(Tensor::from_ints(local, ids.shape()), weight_, scale);
  const int64_t count = ids.size();
  const Tensor mask = expand(Tensor::from_bytes(here, {count, 1}), {count, width()});
  const Tensor zeros = Tensor::zeros({count, width()}, rows.dtype());
  const Tensor own = where(mask, rows.reshape({count, width()}), zeros);  // [N,C]
  return sum_over(own, *tokens_.group).reshape(rows.shape());             // [..., C]
}

Tensor Embedding::gathered_logits(const Tensor& x, const Tensor& bias) const {
  const Group& group = *tokens_.group;
  const Tensor own_bias =
      bias.defined() ? slice(enter(bias, group), 0, tokens_.begin, tokens_.end) : bias;
  Tensor own = linear(enter(x, group), weight_, own_bias);  // [..., part of V]
  if (SplitLogits* scope = SplitLogits::open()) {
    scope->part = tokens_;
    return own;
  }
  return gather_columns(own, group, equal_bounds(tokens_.total, group.size()));  // [..., V]
}

}  // namespace heed
