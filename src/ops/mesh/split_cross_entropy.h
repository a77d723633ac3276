// Cross-entropy over a vocabulary that is split over a mesh: each process has the logits of some
// tokens, and three numbers for each position travel instead of the logits.
#pragma once

#include <functional>
#include <optional>

#include "mesh/mesh.h"
#include "ops/loss/cross_entropy.h"

namespace heed {

// logits [..., part], targets i32 [...] over the whole vocabulary -> the mean over the targets that
// count, the same on all processes. Takes label smoothing and ignored targets, no weights.
Tensor split_cross_entropy(const Tensor& logits, const Tensor& targets, const Part& part,
                           const CrossEntropyOptions& options = {});

// While it lives on a thread, an output projection may give the logits of this process's tokens
// only, and says which they are. Whoever opens it passes them to split_cross_entropy().
class SplitLogits {
 public:
  SplitLogits();
  ~SplitLogits();
  SplitLogits(const SplitLogits&) = delete;
  SplitLogits& operator=(const SplitLogits&) = delete;

  // For output projections: the innermost scope of this thread, or null.
  static SplitLogits* open();

  std::optional<Part> part;  // set by the projection

 private:
  SplitLogits* outer_;
};

// Cross-entropy of what logits() gives: without gathering it, if it is split.
Tensor cross_entropy_of(const std::function<Tensor()>& logits, const Tensor& targets,
                        const CrossEntropyOptions& options = {});

}  // namespace heed
