#include "decode/images/blockwise_images.h"

#include <algorithm>

#include "base/error.h"
#include "models/images/blockwise_image_transformer.h"
#include "ops/shape/gather.h"

namespace heed {
namespace {

// One image on its way.
class BlockwiseImage {
 public:
  BlockwiseImage(const BlockwiseImageTransformer& model, const ImageBatch& conditions,
                 const Acceptance& acceptance)
      : model_(model), acceptance_(acceptance), state_(model.start(1, conditions)) {}

  // Its levels in the order of the steps.
  std::vector<int32_t> run() {
    while (!pass()) {
      ++passes_;
    }
    ++passes_;
    return std::move(said_);
  }
  int64_t passes() const { return passes_; }

 private:
  // Predict, verify and accept; true when all levels are said.
  bool pass() {
    const int64_t shown = std::ssize(block_);
    const std::vector<int64_t> lengths{shown};
    const Verified verified =
        model_.verify(Tensor::from_ints(block_, {1, shown}), lengths, *state_);
    const Tensor scores = verified.logits.to(DType::f32);  // [N,O]
    const Tensor likeliest = top_k(scores, 1).indices;     // [N,1]
    const int64_t taken = accepted(acceptance_, shown, 1, [&](int64_t i) {
      return accepts(acceptance_, scores.rows(i - 1, i).span<float>(),
                     likeliest.data<int32_t>()[i - 1], block_[static_cast<size_t>(i)]);
    });
    const bool first = passes_ == 0;  // nothing was shown but a place for the first level
    said_.insert(said_.end(), block_.begin() + (first ? 1 : 0), block_.begin() + taken);
    block_ = {likeliest.data<int32_t>()[taken - 1]};
    const int64_t left = model_.layout().samples() - std::ssize(said_);
    if (left == 1) {
      said_.push_back(block_.front());
      return true;
    }
    const std::vector<int64_t> dropped{shown - taken};
    model_.roll_back(*state_, dropped);
    propose(verified.hidden.rows(taken - 1, taken), std::min(left, model_.room(*state_)));
    return false;
  }

  // The rest of a block of at most `most` levels.
  void propose(const Tensor& hidden, int64_t most) {
    if (most < 2) {
      return;
    }
    const Tensor logits = model_.propose(hidden).to(DType::f32);  // [1,k-1,O]
    const Tensor next = top_k(logits.reshape({logits.dim(1), logits.dim(2)}), 1).indices;
    for (int64_t i = 0; i < next.dim(0) && std::ssize(block_) < most; ++i) {
      block_.push_back(next.data<int32_t>()[i]);
    }
  }

  const BlockwiseImageTransformer& model_;
  const Acceptance& acceptance_;
  std::unique_ptr<DecodeState> state_;
  std::vector<int32_t> block_{0};
  std::vector<int32_t> said_;
  int64_t passes_ = 0;
};

// Row i of what all images have, if there is something.
Tensor row_of(const Tensor& all, int64_t i) { return all.defined() ? all.rows(i, i + 1) : all; }

}  // namespace

BlockwiseImages draw_blockwise(const ImageModel& model, const SampleOptions& options,
                               const Acceptance& acceptance) {
  const auto* blockwise = dynamic_cast<const BlockwiseImageTransformer*>(&model);
  check(blockwise != nullptr,
        "[image] this model proposes nothing; one that does is trained with task = "
        "\"image_blockwise\", such as recipes/images/mnist-enlarge-blockwise.toml");
  const int64_t samples = model.layout().samples();
  BlockwiseImages result;
  result.levels.resize(static_cast<size_t>(options.images * samples));
  for (int64_t i = 0; i < options.images; ++i) {
    const ImageBatch conditions{.values = {},
                                .classes = row_of(options.conditions.classes, i),
                                .source = row_of(options.conditions.source, i)};
    BlockwiseImage image(*blockwise, conditions, acceptance);
    const std::vector<int32_t> said = image.run();
    for (int64_t step = 0; step < samples; ++step) {
      const int64_t at = i * samples + model.order()[static_cast<size_t>(step)];
      result.levels[static_cast<size_t>(at)] = said[static_cast<size_t>(step)];
    }
    result.passes += image.passes();
  }
  return result;
}

}  // namespace heed
