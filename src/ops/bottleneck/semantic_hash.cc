#include "ops/bottleneck/semantic_hash.h"

#include <vector>

#include "autograd/tape.h"
#include "kernels/bottleneck/noise.h"
#include "kernels/bottleneck/semantic_hash.h"
#include "ops/bottleneck/rows.h"
#include "ops/operands.h"

namespace heed {
namespace {

const OpName kSemanticHash{"semantic_hash"};

constexpr int64_t kMostBits = 24;

void check_bits(const char* op, int64_t bits) {
  check(1 <= bits && bits <= kMostBits, "[{}] codes of {} bits, expected 1 to {}", op, bits,
        kMostBits);
}

}  // namespace

// dx = dy s'(x + noise), in rows of bits too
Tensor semantic_hash(const Tensor& x, const SemanticHashOptions& options) {
  check_float("semantic_hash", "x", x);
  check(x.rank() >= 1, "[semantic_hash] x is {}, expected rows of bits", x.shape());
  check(options.discrete >= 0.0F && options.discrete <= 1.0F && options.noise >= 0.0F,
        "[semantic_hash] discrete is {} and noise {}, expected a share of the rows and 0 or more",
        options.discrete, options.noise);
  Tape* training = Tape::current();
  const int64_t rows = x.dim(-1) == 0 ? 0 : x.size() / x.dim(-1);
  const Tensor noisy = Tensor::empty(x.shape());  // [...,W]
  kernels::add_noise({.n = x.size(),
                      .x = in(x),
                      .y = noisy.data<float>(),
                      .kind = kernels::Noise::normal,
                      .amount = training != nullptr ? options.noise : 0.0F,
                      .stream = training != nullptr ? training->draw() : RandomStream{}});
  std::vector<int8_t> discrete;
  if (training != nullptr) {
    discrete = random_rows(*training, rows, options.discrete);
  }
  Tape* tape = Tape::recording({&x});
  const Tensor soft = tape != nullptr ? Tensor::empty(x.shape()) : Tensor();
  Tensor y = Tensor::empty(x.shape(), x.dtype());  // [...,W]
  kernels::semantic_hash({.rows = rows,
                          .width = x.dim(-1),
                          .v = noisy.data<float>(),
                          .discrete = training != nullptr ? discrete.data() : nullptr,
                          .y = out(y),
                          .soft = tape != nullptr ? soft.data<float>() : nullptr});
  if (tape != nullptr) {
    tape->record(kSemanticHash, y, [soft, x = x.gradient_handle()](const Tensor& dy) {
      const GradTarget target = grad_target(x);
      kernels::semantic_hash_backward({.n = dy.size(),
                                       .soft = soft.data<float>(),
                                       .dy = in(dy),
                                       .dx = out(target.grad),
                                       .accumulate = target.accumulate});
    });
  }
  return y;
}

Tensor codes_of_bits(const Tensor& x, int64_t bits) {
  check_float("codes_of_bits", "x", x);
  check_bits("codes_of_bits", bits);
  check(x.rank() >= 1 && x.dim(-1) % bits == 0,
        "[codes_of_bits] x is {}, expected rows of codes of {} bits", x.shape(), bits);
  const std::vector<float> values = x.to_vector();
  Tensor codes = Tensor::zeros(with_last(x.shape(), x.dim(-1) / bits), DType::i32);  // [...,S]
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t bit = i % static_cast<size_t>(bits);
    codes.data<int32_t>()[i / static_cast<size_t>(bits)] |= (values[i] > 0.0F ? 1 : 0) << bit;
  }
  return codes;
}

Tensor bits_of_codes(const Tensor& codes, int64_t bits, DType dtype) {
  check_dtype("bits_of_codes", "codes", codes, DType::i32);
  check_bits("bits_of_codes", bits);
  std::vector<float> values;
  values.reserve(static_cast<size_t>(codes.size() * bits));
  for (const int32_t code : codes.span<int32_t>()) {
    check(code >= 0 && code < (1 << bits), "[bits_of_codes] a code is {}, expected 0 to {}", code,
          (1 << bits) - 1);
    for (int64_t bit = 0; bit < bits; ++bit) {
      values.push_back(static_cast<float>((code >> bit) & 1));
    }
  }
  return Tensor::from(values, with_last(codes.shape(), codes.dim(-1) * bits), dtype);
}

}  // namespace heed
