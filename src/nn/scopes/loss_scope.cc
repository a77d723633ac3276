#include "nn/scopes/loss_scope.h"

#include "base/error.h"
#include "ops/pointwise.h"
#include "ops/shape/cast.h"

namespace heed {
namespace {

thread_local LossScope* current_costs = nullptr;

}  // namespace

LossScope::LossScope() : outer_(current_costs) { current_costs = this; }
LossScope::~LossScope() { current_costs = outer_; }

Tensor LossScope::added_to(const Tensor& loss) const {
  Tensor total = loss;
  for (const Tensor& cost : costs_) {
    total = add(total, cast(cost.reshape(total.shape()), total.dtype()));
  }
  return total;
}

bool LossScope::open() { return current_costs != nullptr; }

void LossScope::report(const Tensor& cost) {
  check(cost.size() == 1, "[loss scope] a cost is {}, expected one element", cost.shape());
  if (current_costs != nullptr) {
    current_costs->costs_.push_back(cost);
  }
}

}  // namespace heed
