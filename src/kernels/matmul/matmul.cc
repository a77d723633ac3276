#include "kernels/matmul/matmul.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/scratch.h"
#include "kernels/elementwise/pointwise.h"
#include "kernels/matmul/f32_products.h"
#include "kernels/matmul/frozen.h"
#include "kernels/matmul/gemv.h"
#include "kernels/matmul/int8/int8.h"
#include "kernels/matmul/onednn.h"
#include "kernels/matmul/panels.h"
#include "tensor/tensor.h"

namespace heed::kernels {
namespace {

std::vector<Matmul>* product_log = nullptr;
thread_local bool rough_products = false;

// `multiply` for the product and bias, then the activation in a second pass.
template <typename Multiply>
void with_separate_activation(const Matmul& args, const Multiply& multiply) {
  Matmul product = args;
  product.activation = Activation::none;
  product.pre_activation = nullptr;
  if (args.pre_activation != nullptr) {
    product.c.data = args.pre_activation;
  }
  multiply(product);
  for (int64_t i = 0; i < args.batch * args.m; ++i) {
    // Rows may be apart; a dense result is one long row.
    const bool dense = args.ldc == args.n && args.batch == 1;
    const int64_t at = (i / args.m) * args.stride_c + (i % args.m) * args.ldc;
    const size_t offset = static_cast<size_t>(at) * size_of(args.c.dtype);
    unary({.n = dense ? args.m * args.n : args.n,
           .function = args.activation,
           .x = {static_cast<const std::byte*>(product.c.data) + offset, args.c.dtype},
           .y = {static_cast<std::byte*>(args.c.data) + offset, args.c.dtype}});
    if (dense) {
      break;
    }
  }
}

// Products of bf16 on our own kernels (panels.h).
void panel_matmul(const Matmul& args) {
  const auto at = [](const void* data, int64_t offset, DType dtype) {
    return static_cast<const std::byte*>(data) + static_cast<size_t>(offset) * size_of(dtype);
  };
  const bf16* packed = nullptr;
  if (args.b.frozen != nullptr && args.batch == 1) {
    packed = args.b.frozen->panels(
        {static_cast<const bf16*>(args.b.data), args.k, args.n, args.ldb, args.transpose_b});
  }
  for (int64_t i = 0; i < args.batch; ++i) {
    const auto* c = at(args.c.data, i * args.stride_c, args.c.dtype);
    panels::gemm(
        {.M = args.m,
         .N = args.n,
         .K = args.k,
         .a = reinterpret_cast<const bf16*>(at(args.a.data, i * args.stride_a, DType::bf16)),
         .lda = args.lda,
         .a_transposed = args.transpose_a,
         .b = reinterpret_cast<const bf16*>(at(args.b.data, i * args.stride_b, DType::bf16)),
         .ldb = args.ldb,
         .b_transposed = args.transpose_b,
         .b_packed = packed,
         .c = const_cast<std::byte*>(c),
         .ldc = args.ldc,
         .c_is_f32 = args.c.dtype == DType::f32,
         .accumulate = args.accumulate,
         .bias = args.bias,
         .activation = args.activation,
         .pre_activation = static_cast<bf16*>(args.pre_activation)});
  }
}

// `multiply`, which knows no activation.
template <typename Multiply>
void with_any_activation(const Matmul& args, const Multiply& multiply) {
  if (args.activation == Activation::none && args.pre_activation == nullptr) {
    multiply(args);
  } else {
    with_separate_activation(args, multiply);
  }
}

// CPUs without bf16 instructions: the same product in f32.
void widened_matmul(const Matmul& args) {
  thread_local Scratch scratch_a;
  thread_local Scratch scratch_b;
  const auto widen = [](In in, Scratch& scratch, int64_t count) {
    float* wide = scratch.get<float>(static_cast<size_t>(count));
    copy({.n = count, .from = in, .to = {wide, DType::f32}});
    return In{wide, DType::f32};
  };
  const auto extent = [&](int64_t rows, int64_t ld, int64_t width, int64_t stride) {
    return (args.batch - 1) * stride + (rows - 1) * ld + width;
  };
  Matmul wide = args;
  wide.a = widen(args.a, scratch_a,
                 args.transpose_a ? extent(args.k, args.lda, args.m, args.stride_a)
                                  : extent(args.m, args.lda, args.k, args.stride_a));
  wide.b = widen(args.b, scratch_b,
                 args.transpose_b ? extent(args.n, args.ldb, args.k, args.stride_b)
                                  : extent(args.k, args.ldb, args.n, args.stride_b));
  thread_local Scratch scratch_c;
  if (args.c.dtype == DType::f32) {
    with_any_activation(wide, onednn::matmul);
    return;
  }
  const int64_t count = extent(args.m, args.ldc, args.n, args.stride_c);
  float* c = scratch_c.get<float>(static_cast<size_t>(2 * count));
  wide.c = {c, DType::f32};
  wide.pre_activation = args.pre_activation == nullptr ? nullptr : c + count;
  copy({.n = count, .from = {args.c.data, args.c.dtype}, .to = wide.c});  // gaps between rows stay
  with_any_activation(wide, onednn::matmul);
  copy({.n = count, .from = {c, DType::f32}, .to = args.c});
  if (args.pre_activation != nullptr) {
    copy({.n = count, .from = {c + count, DType::f32}, .to = {args.pre_activation, args.c.dtype}});
  }
}

void row_matmul(const Matmul& args) {
  gemv({.m = args.m,
        .n = args.n,
        .k = args.k,
        .x = args.a,
        .w = args.b,
        .y = args.c,
        .ldx = args.lda,
        .ldw = args.ldb,
        .ldy = args.ldc,
        .bias = args.bias,
        .accumulate = args.accumulate,
        .relu = args.activation == Activation::relu});
}

// Only as linear() has it: whole rows times a packed matrix.
void int8_matmul(const Matmul& args) {
  int8_product({.m = args.m,
                .x = args.a,
                .w = {args.b.data, args.n, args.k},
                .y = args.c,
                .ldx = args.lda,
                .ldy = args.ldc,
                .bias = args.bias});
}

// Whether the product may be that of 8-bit integers in place of `b`, the rows of which are dense.
bool is_rough(const Matmul& args) {
  return rough_products && args.b.frozen != nullptr && args.batch == 1 && args.transpose_b &&
         !args.transpose_a && !args.accumulate && args.ldb == args.k;
}

void set_dense_defaults(Matmul& args) {
  const auto or_else = [](int64_t& value, int64_t dense) { value = value == 0 ? dense : value; };
  or_else(args.lda, args.transpose_a ? args.m : args.k);
  or_else(args.ldb, args.transpose_b ? args.k : args.n);
  or_else(args.ldc, args.n);
  or_else(args.stride_a, args.m * args.k);
  or_else(args.stride_b, args.k * args.n);
  or_else(args.stride_c, args.m * args.n);
}

// Without a single product to add, C is the bias alone.
void empty_sum(const Matmul& args) {
  const auto fill = [](const Matmul& product) {
    const std::vector<float> zeros(static_cast<size_t>(product.n), 0.0F);
    for (int64_t i = 0; i < product.batch * product.m; ++i) {
      const int64_t at = (i / product.m) * product.stride_c + (i % product.m) * product.ldc;
      copy({.n = product.n,
            .from = {product.bias == nullptr ? zeros.data() : product.bias, DType::f32},
            .to = {static_cast<std::byte*>(product.c.data) +
                       static_cast<size_t>(at) * size_of(product.c.dtype),
                   product.c.dtype},
            .accumulate = product.accumulate});
    }
  };
  with_separate_activation(args, fill);
}

// Rows times a transposed matrix may run on gemv() as they lie.
bool rows_by_columns(const Matmul& args) {
  return args.batch == 1 && args.transpose_b && !args.transpose_a;
}

void gemv_matmul(const Matmul& args) {
  if (args.activation == Activation::relu && args.pre_activation == nullptr) {
    row_matmul(args);
  } else {
    with_any_activation(args, row_matmul);
  }
}

void own_f32_matmul(const Matmul& args) {
  f32_product({.m = args.m,
               .n = args.n,
               .k = args.k,
               .a = static_cast<const float*>(args.a.data),
               .b = static_cast<const float*>(args.b.data),
               .c = static_cast<float*>(args.c.data),
               .lda = args.lda,
               .ldb = args.ldb,
               .ldc = args.ldc,
               .transpose_a = args.transpose_a,
               .transpose_b = args.transpose_b,
               .accumulate = args.accumulate,
               .bias = args.bias});
}

// Without AVX-512 oneDNN reaches only half of what the CPU can do for results of this size.
bool slow_on_onednn(const Matmul& args) {
  constexpr int64_t kFewRows = 96;
  constexpr int64_t kSmall = int64_t{1} << 16;
  constexpr int64_t kMedium = int64_t{1} << 18;
  return max_isa() < Isa::avx512 && args.batch == 1 && args.c.dtype == DType::f32 &&
         args.m >= kFewRows && args.m * args.n > kSmall && args.m * args.n <= kMedium;
}

void f32_matmul(const Matmul& args) {
  const bool invariant = args.b.frozen != nullptr && args.b.frozen->by_rows();
  if (rows_by_columns(args) && (args.m == 1 || invariant)) {
    gemv_matmul(args);
  } else if (slow_on_onednn(args)) {
    with_any_activation(args, own_f32_matmul);
  } else {
    with_any_activation(args, onednn::matmul);
  }
}

// Panels give a row the same bits in any batch, so one row takes the way of many.
void bf16_matmul(const Matmul& args) {
  const bool frozen = args.b.frozen != nullptr && args.batch == 1;
  if (frozen && !args.transpose_a && !panels::native()) {
    with_any_activation(args, panel_matmul);
  } else if (rows_by_columns(args) && args.m == 1 && !frozen) {
    gemv_matmul(args);
  } else if (panels::native()) {
    panel_matmul(args);
  } else {
    widened_matmul(args);
  }
}

}  // namespace

void matmul(Matmul args) {
  set_dense_defaults(args);
  if (args.m == 0 || args.n == 0 || args.batch == 0) {
    return;
  }
  if (args.k == 0) {
    empty_sum(args);
    return;
  }
  if (!fuses_into_products(args.activation)) {
    with_separate_activation(args, matmul);
    return;
  }
  if (product_log != nullptr) {
    product_log->push_back(args);
  }
  if (args.b.dtype != DType::i8 && is_rough(args)) {
    args.b = {args.b.frozen->int8(args.b, args.n, args.k), DType::i8};
  }
  if (args.b.dtype == DType::i8) {
    check(args.transpose_b && !args.transpose_a && args.batch == 1 && !args.accumulate,
          "[matmul] int8 weights take part in products with their transpose alone");
    with_separate_activation(args, int8_matmul);
  } else if (args.a.dtype == DType::f32) {
    f32_matmul(args);
  } else {
    bf16_matmul(args);
  }
}

RoughProducts::RoughProducts() : outer_(std::exchange(rough_products, true)) {}

RoughProducts::~RoughProducts() { rough_products = outer_; }

void log_products(std::vector<Matmul>* log) { product_log = log; }

double onednn_seconds(const Matmul& args, int repetitions) {
  Matmul dense = args;
  set_dense_defaults(dense);
  return onednn::best_seconds(dense, repetitions);
}

bool inside_onednn() { return onednn::inside(); }

}  // namespace heed::kernels
