// Looking at attention, as a scope.
//
// While an AttentionScope lives on a thread, layers report to it what they attend to; without one
// nobody computes the weights. Forward passes do not mention it:
//
//   AttentionScope scope;
//   model.logits(batch);
//   draw(scope.layers());
//
// Scopes nest; the innermost counts. A model without attention leaves its scope empty. A scope
// belongs to one thread.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tensor/tensor.h"

namespace heed {

// Which attention of a model this is. A layer gets its label when it is made.
struct AttentionLabel {
  // "encoder" or "decoder" (self-attention), "cross", or "hops", whose queries are no tokens
  std::string kind = "encoder";
  int64_t layer = 0;
};

// What one layer attended to.
struct LayerAttention {
  std::string kind;
  int64_t layer = 0;
  // f32 [B,H,queries,keys]. With a cache the keys are the positions that it holds. Hypotheses about
  // one source are queries of one attention to it.
  Tensor weights;
};

// How many steps each position was thought about, where positions halt by themselves.
struct Pondering {
  std::string kind;  // "encoder" or "decoder"
  Tensor steps;      // f32 [B,T]; 0 for padding
};

class AttentionScope {
 public:
  AttentionScope();
  ~AttentionScope();
  AttentionScope(const AttentionScope&) = delete;
  AttentionScope& operator=(const AttentionScope&) = delete;

  // In the order in which the layers ran.
  const std::vector<LayerAttention>& layers() const { return layers_; }
  std::vector<LayerAttention> take() { return std::exchange(layers_, {}); }

  // In the order in which the stacks ran.
  const std::vector<Pondering>& pondering() const { return pondering_; }

  // For layers: whether somebody looks on this thread, and what there is to see. Undefined weights
  // are none.
  static bool open();
  static void report(const AttentionLabel& label, const Tensor& weights);
  static void report(Pondering pondering);

 private:
  AttentionScope* outer_;
  std::vector<LayerAttention> layers_;
  std::vector<Pondering> pondering_;
};

}  // namespace heed
