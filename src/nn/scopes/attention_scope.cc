#include "nn/scopes/attention_scope.h"

namespace heed {
namespace {

thread_local AttentionScope* current_scope = nullptr;

}  // namespace

AttentionScope::AttentionScope() : outer_(current_scope) { current_scope = this; }

AttentionScope::~AttentionScope() { current_scope = outer_; }

bool AttentionScope::open() { return current_scope != nullptr; }

void AttentionScope::report(const AttentionLabel& label, const Tensor& weights) {
  if (current_scope != nullptr && weights.defined()) {
    current_scope->layers_.push_back(
        {label.kind, label.layer, weights.to(DType::f32).detached()});  // [B,H,queries,keys]
  }
}

void AttentionScope::report(Pondering pondering) {
  if (current_scope != nullptr) {
    current_scope->pondering_.push_back(std::move(pondering));
  }
}

}  // namespace heed
