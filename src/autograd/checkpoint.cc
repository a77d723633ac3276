#include "autograd/checkpoint.h"

namespace heed {

const OpName kCheckpoint{"checkpoint"};

namespace {

thread_local CheckpointScope* current_checkpoints = nullptr;

}  // namespace

CheckpointScope::CheckpointScope(bool wanted) : outer_(current_checkpoints), wanted_(wanted) {
  current_checkpoints = this;
}

CheckpointScope::~CheckpointScope() { current_checkpoints = outer_; }

bool CheckpointScope::asks() {
  const Tape* tape = Tape::current();
  if (current_checkpoints == nullptr || !current_checkpoints->wanted_ || tape == nullptr ||
      tape->paused()) {
    return false;
  }
  ++current_checkpoints->blocks_;
  return true;
}

namespace checkpoint_detail {
namespace {

// A parameter's gradient is a place in an array that is its own; others can be moved.
bool moves(const GradSlot* slot) { return slot != nullptr && slot->tape != 0; }

}  // namespace

std::vector<Tensor> lend_inputs(const std::vector<Tensor>& inputs, Tape& tape) {
  std::vector<Tensor> lent;
  for (const Tensor& input : inputs) {
    Tensor& copy = lent.emplace_back(input.detached());
    if (!needs_grad(input)) {
      continue;
    }
    tape.watch(copy);
    if (moves(input.slot())) {
      copy.slot()->shape = input.slot()->shape;
      copy.slot()->grad = std::exchange(input.slot()->grad, Tensor());
      copy.slot()->written = std::exchange(input.slot()->written, false);
    }
  }
  return lent;
}

void return_gradients(const std::vector<Tensor>& inputs, const std::vector<Tensor>& lent) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    GradSlot* slot = inputs[i].slot();
    if (slot == nullptr || !lent[i].slot()->written) {
      continue;
    }
    if (moves(slot) && !slot->written) {
      slot->grad = std::exchange(lent[i].slot()->grad, Tensor());
      slot->written = true;
    } else {
      add_grad(inputs[i], lent[i].slot()->grad.reshape(inputs[i].shape()));
    }
  }
}

void run_backward(Tape& tape, const std::vector<Tensor>& outputs, GradSlot* const* gradients) {
  const Tensor* last = nullptr;
  Tensor last_gradient;
  for (const Tensor& output : outputs) {
    if (!output.defined()) {
      continue;
    }
    GradSlot* from = *gradients++;
    if (!from->written || !needs_grad(output)) {
      continue;
    }
    if (last != nullptr) {
      add_grad(*last, last_gradient);
    }
    last = &output;
    last_gradient = std::exchange(from->grad, Tensor());
  }
  if (last != nullptr) {
    tape.backward(*last, last_gradient.reshape(last->shape()));
  }
}

}  // namespace checkpoint_detail
}  // namespace heed
