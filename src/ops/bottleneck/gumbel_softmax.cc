#include "ops/bottleneck/gumbel_softmax.h"

#include <algorithm>
#include <vector>

#include "autograd/tape.h"
#include "kernels/bottleneck/noise.h"
#include "kernels/reduction/softmax.h"
#include "ops/bottleneck/rows.h"
#include "ops/operands.h"

namespace heed {
namespace {

const OpName kGumbelSoftmax{"gumbel_softmax"};

// 1 at the first of the largest elements of a row, 0 elsewhere.
void make_one_hot(std::span<float> row) {
  const auto largest = std::max_element(row.begin(), row.end()) - row.begin();
  std::fill(row.begin(), row.end(), 0.0F);
  row[static_cast<size_t>(largest)] = 1.0F;
}

}  // namespace

// dx = p (dy - sum(p dy)) / temperature, in one-hot rows too
Tensor gumbel_softmax(const Tensor& x, const GumbelSoftmaxOptions& options) {
  check_float("gumbel_softmax", "x", x);
  check(x.rank() >= 1 && x.dim(-1) > 0, "[gumbel_softmax] x is {}, expected rows of logits",
        x.shape());
  check(options.temperature > 0.0F && options.discrete >= 0.0F && options.discrete <= 1.0F,
        "[gumbel_softmax] temperature is {} and discrete {}, expected more than 0 and a share of "
        "the rows",
        options.temperature, options.discrete);
  Tape* training = Tape::current();
  const int64_t n = x.dim(-1);
  const int64_t rows = x.size() / n;
  const Tensor p = Tensor::empty(x.shape());  // [...,K]
  kernels::add_noise({.n = x.size(),
                      .x = in(x),
                      .y = p.data<float>(),
                      .kind = kernels::Noise::gumbel,
                      .amount = training != nullptr ? options.noise : 0.0F,
                      .scale = 1.0F / options.temperature,
                      .stream = training != nullptr ? training->draw() : RandomStream{}});
  kernels::softmax({.outer = rows, .n = n, .x = in(p), .y = out(p)});
  const Tensor values = p.clone();  // [...,K]
  const std::vector<int8_t> discrete = training != nullptr
                                           ? random_rows(*training, rows, options.discrete)
                                           : std::vector<int8_t>(static_cast<size_t>(rows), 1);
  for (int64_t row = 0; row < rows; ++row) {
    if (discrete[static_cast<size_t>(row)] != 0) {
      make_one_hot(
          values.span<float>().subspan(static_cast<size_t>(row * n), static_cast<size_t>(n)));
    }
  }
  Tensor y = values.to(x.dtype());  // [...,K]
  if (Tape* tape = Tape::recording({&x})) {
    tape->record(kGumbelSoftmax, y,
                 [p, rows, n, scale = 1.0F / options.temperature,
                  x = x.gradient_handle()](const Tensor& dy) {
                   const Tensor dp = Tensor::empty(p.shape());  // of the divided logits
                   kernels::softmax_backward(
                       {.outer = rows, .n = n, .y = in(p), .dy = in(dy), .dx = out(dp)});
                   const GradTarget target = grad_target(x);
                   kernels::copy({.n = dp.size(),
                                  .from = in(dp),
                                  .to = out(target.grad),
                                  .scale = scale,
                                  .accumulate = target.accumulate});
                 });
  }
  return y;
}

}  // namespace heed
