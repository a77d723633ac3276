#include "ops/bottleneck/vector_quantise.h"

#include <vector>

#include "autograd/tape.h"
#include "kernels/bottleneck/nearest_code.h"
#include "ops/bottleneck/rows.h"
#include "ops/operands.h"

namespace heed {
namespace {

const OpName kVectorQuantise{"vector_quantise"};

void check_codebook(const char* op, const Tensor& codebook) {
  check_dtype(op, "codebook", codebook, DType::f32);
  check(codebook.rank() == 3 && codebook.size() > 0,
        "[{}] codebook is {}, expected [slices, codes, width]", op, codebook.shape());
}

void check_vectors(const Tensor& x, const Tensor& codebook) {
  check_float("vector_quantise", "x", x);
  check_codebook("vector_quantise", codebook);
  check(x.rank() >= 1 && x.dim(-1) == codebook.dim(0) * codebook.dim(2),
        "[vector_quantise] x is {}, codebook is {}: expected rows of {} elements", x.shape(),
        codebook.shape(), codebook.dim(0) * codebook.dim(2));
}

// Writes the vectors of the codes of rows that `rows` chooses (empty: all) over those of y.
void write_code_vectors(const Tensor& codes, const Tensor& codebook,
                        const std::vector<int8_t>& rows, const Tensor& y) {
  const int64_t slices = codebook.dim(0);
  const int64_t width = codebook.dim(2);
  for (int64_t part = 0; part < codes.size(); ++part) {
    if (!rows.empty() && rows[static_cast<size_t>(part / slices)] == 0) {
      continue;
    }
    const int64_t code = codes.data<int32_t>()[part];
    const float* from = codebook.data<float>() + (part % slices * codebook.dim(1) + code) * width;
    kernels::copy({.n = width,
                   .from = {from, DType::f32},
                   .to = {static_cast<std::byte*>(y.raw()) +
                              static_cast<size_t>(part * width) * size_of(y.dtype()),
                          y.dtype()}});
  }
}

}  // namespace

// dx = dy
Quantised vector_quantise(const Tensor& x, const Tensor& codebook, float discrete) {
  check_vectors(x, codebook);
  check(discrete >= 0.0F && discrete <= 1.0F,
        "[vector_quantise] discrete is {}, expected a share of the rows", discrete);
  const int64_t slices = codebook.dim(0);
  const int64_t rows = x.size() / x.dim(-1);
  Quantised result{.y = x.clone(),                                                     // [...,S*D]
                   .codes = Tensor::empty(with_last(x.shape(), slices), DType::i32)};  // [...,S]
  kernels::nearest_code({.rows = rows,
                         .slices = slices,
                         .codes = codebook.dim(1),
                         .width = codebook.dim(2),
                         .x = in(x),
                         .codebook = codebook.data<float>(),
                         .nearest = result.codes.data<int32_t>()});
  Tape* training = Tape::current();
  std::vector<int8_t> chosen;
  if (training != nullptr && discrete < 1.0F) {
    chosen = random_rows(*training, rows, discrete);
  }
  write_code_vectors(result.codes, codebook, chosen, result.y);
  if (Tape* tape = Tape::recording({&x})) {
    tape->record(kVectorQuantise, result.y,
                 [x = x.gradient_handle()](const Tensor& dy) { add_grad(x, dy); });
  }
  return result;
}

Tensor code_vectors(const Tensor& codes, const Tensor& codebook) {
  check_dtype("code_vectors", "codes", codes, DType::i32);
  check_codebook("code_vectors", codebook);
  check(codes.rank() >= 1 && codes.dim(-1) == codebook.dim(0),
        "[code_vectors] codes is {}, codebook is {}: expected a code for each slice", codes.shape(),
        codebook.shape());
  for (const int32_t code : codes.span<int32_t>()) {
    check(code >= 0 && code < codebook.dim(1), "[code_vectors] a code is {}, expected 0 to {}",
          code, codebook.dim(1) - 1);
  }
  Tensor y = Tensor::empty(with_last(codes.shape(), codebook.dim(0) * codebook.dim(2)));
  write_code_vectors(codes, codebook, {}, y);
  return y;  // [...,S*D]
}

}  // namespace heed
