// The tape: what was computed, in order, so that gradients can be computed in the reverse order.
//
// While a TapeScope lives on a thread, ops record themselves on its tape; without one the same code
// is inference, keeps nothing, and dropout does nothing. backward() is one loop from the last node
// to the first. A node's closure holds the tensors its formula needs; it is destroyed as soon as it
// has run, so the memory of activations comes back while the pass goes on.
//
// Gradients always accumulate. The first contribution to a gradient writes, the later ones add, so
// nothing has to be zeroed first; kernels get an `accumulate` flag for that.
//
// Nodes, closures and slots live in chunks that the tape keeps: after the first steps recording
// allocates nothing. A tape belongs to one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"
#include "tensor/tensor.h"

namespace heed {

// The gradient of one tensor. Parameters own a slot for life; other slots belong to the tape.
struct GradSlot {
  Tensor grad = {};      // undefined until the first contribution, unless the owner provides it
  Shape shape = {};      // of grad: that of the tensor as it was made, not of a reshaped handle
  bool written = false;  // grad holds a contribution
  uint64_t tape = 0;     // the recording it belongs to; 0 for a parameter's slot
  // A parameter's, on a tape whose progress somebody watches: the first node that uses it.
  uint64_t used_by = 0;  // the recording
  size_t first_use = 0;
};

// An op's name, registered when the program starts, so that the tests can tell which ops lack a
// case. Define one per op at namespace scope: `const OpName kSoftmax{"softmax"};`
class OpName {
 public:
  explicit OpName(const char* name);
  const char* name() const { return name_; }
  static const std::vector<const OpName*>& all();

 private:
  const char* name_;
};

// Where a kernel writes a gradient: into `grad`, adding to what is there if `accumulate`.
struct GradTarget {
  Tensor grad;
  bool accumulate = false;
};

class Tape {
 public:
  explicit Tape(uint64_t seed = 0);
  ~Tape();
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  // The tape of this thread's innermost TapeScope, or null: then this is inference.
  static Tape* current();
  // The current tape if it records and one of the inputs wants a gradient; else null.
  static Tape* recording(std::initializer_list<const Tensor*> inputs);

  // Makes a leaf whose gradient is kept after backward(): x.slot()->grad.
  void watch(Tensor& leaf);

  // Records `outputs` as computed by op `name`. backward(dy...) gets one gradient per output, in
  // order; a gradient nobody contributed to is an undefined tensor (never all of them).
  template <typename Backward>
  void record(const OpName& name, Tensor& output, Backward backward) {
    record_outputs(name, {&output}, [backward = std::move(backward)](GradSlot* const* slots) {
      backward(static_cast<const Tensor&>(slots[0]->grad));
    });
  }
  template <typename Backward>
  void record(const OpName& name, Tensor& first, Tensor& second, Backward backward) {
    record_outputs(name, {&first, &second},
                   [backward = std::move(backward)](GradSlot* const* slots) {
                     backward(static_cast<const Tensor&>(slots[0]->grad),
                              static_cast<const Tensor&>(slots[1]->grad));
                   });
  }
  // For any number of outputs: backward(slots) finds the gradients in slots[i]->grad.
  template <typename Backward>
  void record_outputs(const OpName& name, std::initializer_list<Tensor*> outputs,
                      Backward backward) {
    record_outputs(name, std::span<Tensor* const>(outputs.begin(), outputs.size()),
                   std::move(backward));
  }
  template <typename Backward>
  void record_outputs(const OpName& name, std::span<Tensor* const> outputs, Backward backward);

  // From a loss of one element, or from any tensor with a given gradient. Runs and removes the
  // nodes; gradients of leaves stay until clear(), which is due before the next step.
  void backward(const Tensor& loss);
  void backward(const Tensor& output, const Tensor& gradient);
  void clear();

  size_t nodes() const { return nodes_.size(); }

  // Called after each node of backward(); empty: nobody watches. Set before the forward pass, so
  // that it can be told which gradients are complete.
  void watch_progress(std::function<void()> after_node) { after_node_ = std::move(after_node); }
  // Whether backward() will contribute nothing more to a parameter's gradient.
  bool complete(const GradSlot& parameter) const {
    return parameter.used_by != generation_ || parameter.first_use >= nodes_.size();
  }
  bool paused() const { return paused_; }

  // A stream of random numbers nobody else has: for dropout. Processes that split a tensor each
  // draw for their own part.
  RandomStream draw(uint64_t part = 0) { return {seed_ ^ (part << 32), draws_++}; }
  uint64_t draws() const { return draws_; }
  void set_draws(uint64_t draws) { draws_ = draws; }
  uint64_t seed() const { return seed_; }

 private:
  friend class TapeScope;
  friend class PauseScope;

  struct Node {
    const OpName* name;
    void* closure;
    void (*run)(void* closure, GradSlot* const* outputs);
    void (*destroy)(void* closure);
    size_t first_slot;  // index into outputs_
    size_t slots;
  };

  void note_uses(std::initializer_list<const Tensor*> inputs) const;
  void* allocate(size_t bytes, size_t align);
  GradSlot* new_slot(const Shape& shape);
  void run_node(const Node& node);

  std::function<void()> after_node_;
  std::vector<Node> nodes_;
  std::vector<GradSlot*> outputs_;
  std::deque<GradSlot> slots_;
  size_t slots_used_ = 0;
  std::vector<std::unique_ptr<std::byte[]>> chunks_;
  size_t chunk_ = 0;
  size_t chunk_used_ = 0;
  uint64_t generation_;
  uint64_t seed_;
  uint64_t draws_ = 0;
  bool paused_ = false;
};

// Records on `tape` while it lives. Scopes nest; the innermost counts.
class TapeScope {
 public:
  explicit TapeScope(Tape& tape);
  ~TapeScope();
  TapeScope(const TapeScope&) = delete;
  TapeScope& operator=(const TapeScope&) = delete;

 private:
  Tape* outer_;
};

// Still training (dropout draws), but nothing is recorded: for checkpoint().
class PauseScope {
 public:
  explicit PauseScope(Tape* tape);
  ~PauseScope();
  PauseScope(const PauseScope&) = delete;
  PauseScope& operator=(const PauseScope&) = delete;

 private:
  Tape* tape_;
  bool before_;
};

// Inference in the middle of a training step: as if there were no tape, so that nothing is recorded
// and dropout does nothing.
class InferenceScope {
 public:
  InferenceScope();
  ~InferenceScope();
  InferenceScope(const InferenceScope&) = delete;
  InferenceScope& operator=(const InferenceScope&) = delete;

 private:
  Tape* outer_;
};

// For use inside backward closures -------------------------------------------------------------

bool needs_grad(const Tensor& tensor);
// Room for a contribution to the gradient of `tensor`, which must need one. The caller writes it.
GradTarget grad_target(const Tensor& tensor);
// Contributes a finished gradient without copying where possible.
void add_grad(const Tensor& tensor, const Tensor& gradient);

// -----------------------------------------------------------------------------------------------

template <typename Backward>
void Tape::record_outputs(const OpName& name, std::span<Tensor* const> outputs, Backward backward) {
  void* place = allocate(sizeof(Backward), alignof(Backward));
  new (place) Backward(std::move(backward));
  nodes_.push_back(Node{
      .name = &name,
      .closure = place,
      .run = [](void* closure,
                GradSlot* const* slots) { (*static_cast<Backward*>(closure))(slots); },
      .destroy = [](void* closure) { static_cast<Backward*>(closure)->~Backward(); },
      .first_slot = outputs_.size(),
      .slots = outputs.size(),
  });
  for (Tensor* output : outputs) {
    output->set_slot(new_slot(output->shape()));
    outputs_.push_back(output->slot());
  }
}

}  // namespace heed
