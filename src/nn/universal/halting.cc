#include "nn/universal/halting.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "base/error.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"

namespace heed {
namespace {

std::span<float> values(const Tensor& x) {
  return {x.data<float>(), static_cast<size_t>(x.size())};
}

}  // namespace

Halting::Halting(const HaltingConfig& config, int64_t batch, int64_t positions,
                 const Tensor& lengths)
    : config_(config),
      total_(static_cast<size_t>(batch * positions)),
      spent_(Tensor::zeros({batch, positions, 1})),
      running_(Tensor::zeros({batch, positions, 1})),
      steps_(Tensor::zeros({batch, positions})),
      left_(Tensor::zeros({1})) {
  for (int64_t row = 0; row < batch; ++row) {
    const int64_t length = lengths.defined() ? lengths.data<int32_t>()[row] : positions;
    std::fill_n(running_.data<float>() + row * positions, length, 1.0F);
    counted_ += length;
  }
}

Tensor Halting::weigh(const Tensor& probability, bool is_last) {
  check(probability.shape() == running_.shape(), "[halting] probabilities are {}, expected {}",
        probability.shape(), running_.shape());
  const Tensor goes_on = Tensor::zeros(running_.shape());  // [B,T,1]
  const Tensor halts = Tensor::zeros(running_.shape());    // [B,T,1]
  for (size_t i = 0; i < total_.size(); ++i) {
    if (values(running_)[i] == 0.0F) {
      continue;
    }
    values(steps_)[i] += 1.0F;
    total_[i] += values(probability)[i];
    const bool is_done = is_last || total_[i] >= config_.threshold;
    values(is_done ? halts : goes_on)[i] = 1.0F;
  }
  running_ = goes_on;
  const Tensor left = mul(add_scalar(neg(spent_), 1.0F), halts);  // [B,T,1]
  const Tensor counted = mul(probability, goes_on);               // [B,T,1]
  spent_ = add(spent_, counted);
  left_ = add(left_, sum(left).reshape({1}));
  return add(counted, left);  // [B,T,1]
}

Tensor Halting::halted() const { return add_scalar(neg(running_), 1.0F); }

bool Halting::all_halted() const {
  return std::ranges::all_of(values(running_), [](float runs) { return runs == 0.0F; });
}

Tensor Halting::cost() const {
  const float taken = std::reduce(values(steps_).begin(), values(steps_).end());
  const float scale_of_one = config_.cost / static_cast<float>(std::max<int64_t>(counted_, 1));
  return scale(add_scalar(left_, taken), scale_of_one);
}

}  // namespace heed
