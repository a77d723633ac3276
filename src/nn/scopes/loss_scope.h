// What layers add to the loss, as a scope.
//
// While a LossScope lives on a thread, layers report to it what their work costs besides the loss
// of the model's answer: the steps that positions ponder, for example. Forward passes do not
// mention it:
//
//   LossScope costs;
//   const Tensor loss = costs.added_to(task.loss(batch));
//
// Scopes nest; the innermost counts. A scope belongs to one thread.
#pragma once

#include <vector>

#include "tensor/tensor.h"

namespace heed {

class LossScope {
 public:
  LossScope();
  ~LossScope();
  LossScope(const LossScope&) = delete;
  LossScope& operator=(const LossScope&) = delete;

  // The loss, one element, and all that was reported so far.
  Tensor added_to(const Tensor& loss) const;

  // For layers: whether somebody learns on this thread, and what is to be added, one element.
  static bool open();
  static void report(const Tensor& cost);

 private:
  LossScope* outer_;
  std::vector<Tensor> costs_;
};

}  // namespace heed
