#include "tasks/blockwise/proposal_loss.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "autograd/tape.h"
#include "base/error.h"
#include "base/ignore.h"
#include "ops/pointwise.h"

namespace heed {
namespace {

// What head h learns to say at each position: the token h - 1 positions after the next one.
Tensor targets_of_head(const Tensor& targets, int64_t head) {
  const int64_t width = targets.dim(1);
  Tensor shifted = Tensor::empty(targets.shape(), DType::i32);
  for (int64_t i = 0; i < targets.size(); ++i) {
    const bool there = i % width + head - 1 < width;
    shifted.data<int32_t>()[i] = there ? targets.data<int32_t>()[i + head - 1] : kIgnore;
  }
  return shifted;
}

}  // namespace

void BlockwiseHeadsConfig::check_recipe(const Recipe& recipe, std::string_view where) const {
  check(
      !frozen || !recipe.train.from.empty(),
      "[{}] blockwise.frozen keeps a model as it is, and train.from names none: set train.from to "
      "a trained model, or blockwise.frozen = false",
      where);
}

Tensor ProposalLoss::of_drawn(int64_t heads, const LossConfig& config) const {
  const auto of_head = [&](int64_t head) {
    return sequence_loss(model.propose(hidden, head), targets_of_head(targets, head), config);
  };
  std::vector<int64_t> proposals(static_cast<size_t>(model.block() - 1));
  std::iota(proposals.begin(), proposals.end(), 2);
  const size_t drawn = std::min(static_cast<size_t>(heads), proposals.size());
  const RandomStream random = Tape::current()->draw();
  Tensor sum;
  for (size_t i = 0; i < drawn; ++i) {
    std::swap(proposals[i], proposals[i + random.bits(i) % (proposals.size() - i)]);
    const Tensor loss = of_head(proposals[i]);
    sum = i == 0 ? loss : add(sum, loss);
  }
  const float share = 1.0F / static_cast<float>(drawn);
  if (first == 1) {
    return scale(add(of_head(1), drawn == 1 ? sum : scale(sum, share)), 0.5F);
  }
  return drawn == 1 ? sum : scale(sum, share);
}

double ProposalLoss::of_all() const {
  double total = 0.0;
  for (int64_t head = first; head <= model.block(); ++head) {
    total += sequence_loss(model.propose(hidden, head), targets_of_head(targets, head), {}).item();
  }
  return total / static_cast<double>(model.block() - first + 1);
}

}  // namespace heed
