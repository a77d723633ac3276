#include "autograd/tape.h"

#include <algorithm>
#include <atomic>

#include "base/error.h"
#include "kernels/copy.h"

namespace heed {
namespace {

constexpr size_t kChunk = size_t{256} << 10;

thread_local Tape* current_tape = nullptr;

std::vector<const OpName*>& op_names() {
  static auto* names = new std::vector<const OpName*>;
  return *names;
}

uint64_t next_generation() {
  static std::atomic<uint64_t> generation{0};
  return ++generation;
}

}  // namespace

OpName::OpName(const char* name) : name_(name) { op_names().push_back(this); }

const std::vector<const OpName*>& OpName::all() { return op_names(); }

Tape::Tape(uint64_t seed) : generation_(next_generation()), seed_(seed) {}

Tape::~Tape() { clear(); }

Tape* Tape::current() { return current_tape; }

Tape* Tape::recording(std::initializer_list<const Tensor*> inputs) {
  Tape* tape = current_tape;
  if (tape != nullptr && tape->after_node_) {
    tape->note_uses(inputs);
  }
  if (tape == nullptr || tape->paused_) {
    return nullptr;
  }
  const bool wanted = std::any_of(inputs.begin(), inputs.end(), [tape](const Tensor* input) {
    const GradSlot* slot = input->slot();
    return slot != nullptr && (slot->tape == 0 || slot->tape == tape->generation_);
  });
  return wanted ? tape : nullptr;
}

// The node of the op that asks is the next one, also if it is only a part of an op that pauses the
// tape and records itself as a whole.
void Tape::note_uses(std::initializer_list<const Tensor*> inputs) const {
  for (const Tensor* input : inputs) {
    GradSlot* slot = input->slot();
    if (slot != nullptr && slot->tape == 0 && slot->used_by != generation_) {
      slot->used_by = generation_;
      slot->first_use = nodes_.size();
    }
  }
}

void Tape::watch(Tensor& leaf) {
  check(leaf.dtype() == DType::f32 || leaf.dtype() == DType::bf16,
        "[watch] dtype is {}, expected f32 or bf16", name_of(leaf.dtype()));
  leaf.set_slot(new_slot(leaf.shape()));
}

void* Tape::allocate(size_t bytes, size_t align) {
  check(bytes + align <= kChunk, "[tape] a closure of {} bytes, expected at most {}", bytes,
        kChunk - align);
  if (chunks_.empty()) {
    chunks_.push_back(std::make_unique<std::byte[]>(kChunk));
  }
  size_t start = (chunk_used_ + align - 1) / align * align;
  if (start + bytes > kChunk) {
    ++chunk_;
    start = 0;
    if (chunk_ == chunks_.size()) {
      chunks_.push_back(std::make_unique<std::byte[]>(kChunk));
    }
  }
  chunk_used_ = start + bytes;
  return chunks_[chunk_].get() + start;
}

GradSlot* Tape::new_slot(const Shape& shape) {
  if (slots_used_ == slots_.size()) {
    slots_.emplace_back();
  }
  GradSlot* slot = &slots_[slots_used_++];
  *slot = GradSlot{.grad = {}, .shape = shape, .written = false, .tape = generation_};
  return slot;
}

void Tape::run_node(const Node& node) {
  GradSlot* const* slots = outputs_.data() + node.first_slot;
  const bool reached =
      std::any_of(slots, slots + node.slots, [](const GradSlot* slot) { return slot->written; });
  if (reached) {
    node.run(node.closure, slots);
  }
  node.destroy(node.closure);
  for (size_t i = 0; i < node.slots; ++i) {
    slots[i]->grad = Tensor();
    slots[i]->written = false;
  }
}

void Tape::backward(const Tensor& loss) {
  check(loss.size() == 1, "[backward] loss is {}, expected one element", loss.shape());
  backward(loss, Tensor::full(loss.shape(), 1.0F, loss.dtype()));
}

void Tape::backward(const Tensor& output, const Tensor& gradient) {
  check(output.slot() != nullptr && output.slot()->tape == generation_,
        "[backward] the tensor {} was not recorded on this tape", output.shape());
  check(output.shape() == gradient.shape() && output.dtype() == gradient.dtype(),
        "[backward] gradient is {}, expected {}", gradient, output);
  const PauseScope pause(this);
  add_grad(output, gradient);
  while (!nodes_.empty()) {
    const Node node = nodes_.back();
    run_node(node);
    nodes_.pop_back();
    if (after_node_) {
      after_node_();
    }
  }
  outputs_.clear();
  chunk_ = 0;
  chunk_used_ = 0;
}

void Tape::clear() {
  for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
    node->destroy(node->closure);
  }
  nodes_.clear();
  outputs_.clear();
  for (size_t i = 0; i < slots_used_; ++i) {
    slots_[i].grad = Tensor();
  }
  slots_used_ = 0;
  chunk_ = 0;
  chunk_used_ = 0;
  generation_ = next_generation();
}

TapeScope::TapeScope(Tape& tape) : outer_(current_tape) { current_tape = &tape; }

TapeScope::~TapeScope() { current_tape = outer_; }

InferenceScope::InferenceScope() : outer_(std::exchange(current_tape, nullptr)) {}

InferenceScope::~InferenceScope() { current_tape = outer_; }

PauseScope::PauseScope(Tape* tape) : tape_(tape), before_(tape != nullptr && tape->paused_) {
  if (tape_ != nullptr) {
    tape_->paused_ = true;
  }
}

PauseScope::~PauseScope() {
  if (tape_ != nullptr) {
    tape_->paused_ = before_;
  }
}

bool needs_grad(const Tensor& tensor) { return tensor.slot() != nullptr; }

GradTarget grad_target(const Tensor& tensor) {
  GradSlot* slot = tensor.slot();
  assert(slot != nullptr);
  if (!slot->grad.defined()) {
    slot->grad = Tensor::empty(slot->shape, tensor.dtype());
  } else if (slot->written && slot->tape != 0 && !slot->grad.unique()) {
    slot->grad = slot->grad.clone();  // shared with another gradient by add_grad
  }
  const bool accumulate = std::exchange(slot->written, true);
  return {slot->grad.reshape(tensor.shape()), accumulate};
}

void add_grad(const Tensor& tensor, const Tensor& gradient) {
  GradSlot* slot = tensor.slot();
  assert(slot != nullptr);
  if (!slot->grad.defined() && gradient.dtype() == tensor.dtype()) {
    slot->grad = gradient.detached().reshape(slot->shape);
    slot->written = true;
    return;
  }
  const GradTarget target = grad_target(tensor);
  kernels::copy({.n = gradient.size(),
                 .from = {gradient.raw(), gradient.dtype()},
                 .to = {target.grad.raw(), target.grad.dtype()},
                 .accumulate = target.accumulate});
}

}  // namespace heed
