#include "ops/loss/agreement.h"

#include <algorithm>

#include "autograd/tape.h"
#include "kernels/reduction/agreement.h"
#include "ops/check.h"

namespace heed {
namespace {

const OpName kAgreement{"agreement"};

void check_pairs(const Tensor& logits, const Tensor& targets) {
  check_float("agreement", "logits", logits);
  check_dtype("agreement", "targets", targets, DType::i32);
  check(logits.rank() >= 1 && logits.dim(-1) > 0 &&
            logits.size() / logits.dim(-1) == 2 * targets.size(),
        "[agreement] logits is {}, targets is {}: expected two rows of logits for each target",
        logits.shape(), targets.shape());
}

}  // namespace

Tensor agreement(const Tensor& logits, const Tensor& targets, int32_t ignore) {
  check_pairs(logits, targets);
  const int64_t pairs = targets.size();
  const Tensor values = Tensor::empty({pairs});
  const Tensor lse = Tensor::empty({2 * pairs});
  const Tensor means = Tensor::empty({2 * pairs});
  const kernels::Agreement args{.pairs = pairs,
                                .classes = logits.dim(-1),
                                .dtype = logits.dtype(),
                                .logits = logits.raw(),
                                .targets = targets.data<int32_t>(),
                                .ignore = ignore,
                                .values = values.data<float>(),
                                .lse = lse.data<float>(),
                                .means = means.data<float>()};
  kernels::agreement(args);
  double total = 0.0;
  for (int64_t i = 0; i < pairs; ++i) {
    total += values.data<float>()[i];
  }
  const int64_t ignored = std::count(args.targets, args.targets + pairs, ignore);
  const auto counted = static_cast<float>(std::max<int64_t>(pairs - ignored, 1));
  Tensor result = Tensor::full({}, static_cast<float>(total) / counted);
  if (Tape* tape = Tape::recording({&logits})) {
    // Holds what args points to.
    tape->record(kAgreement, result,
                 [logits, targets, lse, means, args, counted](const Tensor& dy) {
                   const GradTarget target = grad_target(logits);
                   kernels::agreement_backward({.forward = args,
                                                .d_value = dy.data<float>()[0] / counted,
                                                .d_logits = target.grad.raw(),
                                                .accumulate = target.accumulate});
                 });
  }
  return result;
}

}  // namespace heed
