#include "kernels/matmul.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "base/scratch.h"
#include "kernels/activate.h"
#include "kernels/amx.h"
#include "kernels/cpu.h"
#include "kernels/gemv.h"
#include "kernels/int8.h"
#include "kernels/onednn.h"
#include "tensor/tensor.h"

namespace heed::kernels {
namespace {

std::vector<Matmul>* product_log = nullptr;

// Frozen ranges and, for each operand met in one of them, its packed form.
class FrozenWeights {
 public:
  static FrozenWeights& global() {
    static auto* weights = new FrozenWeights;
    return *weights;
  }

  void freeze(const void* data, size_t bytes, bool by_rows) {
    const std::lock_guard lock(mutex_);
    ranges_[static_cast<const std::byte*>(data)] = {bytes, by_rows};
  }

  void thaw(const void* data) {
    const std::lock_guard lock(mutex_);
    const auto range = ranges_.find(static_cast<const std::byte*>(data));
    if (range != ranges_.end()) {
      packed_.erase(packed_.lower_bound(Key{range->first, 0, 0, 0, false}),
                    packed_.lower_bound(Key{range->first + range->second.bytes, 0, 0, 0, false}));
      ranges_.erase(range);
    }
  }

  bool by_rows(const void* data) {
    const std::lock_guard lock(mutex_);
    const Range* range = find(static_cast<const std::byte*>(data));
    return range != nullptr && range->by_rows;
  }

  // The packed form of a frozen operand, or null if it may still change.
  const bf16* amx_packed(const Matmul& args) {
    const std::lock_guard lock(mutex_);
    const auto* data = static_cast<const std::byte*>(args.b.data);
    if (find(data) == nullptr) {
      return nullptr;
    }
    Tensor& packed = packed_[Key{data, args.k, args.n, args.ldb, args.transpose_b}];
    if (!packed.defined()) {
      const auto size = static_cast<int64_t>(amx::packed_b_size(args.k, args.n));
      packed = Tensor::empty({size}, DType::bf16);
      const auto* b = static_cast<const bf16*>(args.b.data);
      (args.transpose_b ? amx::pack_b_transposed : amx::pack_b)(b, args.ldb, args.k, args.n,
                                                                packed.data<bf16>());
    }
    return packed.data<bf16>();
  }

 private:
  struct Range {
    size_t bytes;
    bool by_rows;
  };

  // The frozen range that holds the address, or null.
  const Range* find(const std::byte* data) const {
    auto range = ranges_.upper_bound(data);
    if (range == ranges_.begin() || (--range, data >= range->first + range->second.bytes)) {
      return nullptr;
    }
    return &range->second;
  }

  // Address, k, n, distance of rows, transposed: the same elements may be used in several ways.
  using Key = std::tuple<const std::byte*, int64_t, int64_t, int64_t, bool>;

  std::mutex mutex_;
  std::map<const std::byte*, Range> ranges_;
  std::map<Key, Tensor> packed_;
};

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
    activate({.n = dense ? args.m * args.n : args.n,
              .dtype = args.c.dtype,
              .activation = args.activation,
              .x = static_cast<const std::byte*>(product.c.data) + offset,
              .y = static_cast<std::byte*>(args.c.data) + offset});
    if (dense) {
      break;
    }
  }
}

void amx_matmul(const Matmul& args) {
  const auto at = [](const void* data, int64_t offset, DType dtype) {
    return static_cast<const std::byte*>(data) + static_cast<size_t>(offset) * size_of(dtype);
  };
  const bf16* packed = args.batch == 1 ? FrozenWeights::global().amx_packed(args) : nullptr;
  for (int64_t i = 0; i < args.batch; ++i) {
    const auto* c = at(args.c.data, i * args.stride_c, args.c.dtype);
    amx::gemm({.M = args.m,
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

void onednn_with_activation(const Matmul& args) {
  if (args.activation == Activation::none && args.pre_activation == nullptr) {
    onednn::matmul(args);
  } else {
    with_separate_activation(args, onednn::matmul);
  }
}

// CPUs on which oneDNN has no bf16: the same product in f32.
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
    onednn_with_activation(wide);
    return;
  }
  const int64_t count = extent(args.m, args.ldc, args.n, args.stride_c);
  float* c = scratch_c.get<float>(static_cast<size_t>(2 * count));
  wide.c = {c, DType::f32};
  wide.pre_activation = args.pre_activation == nullptr ? nullptr : c + count;
  copy({.n = count, .from = {args.c.data, args.c.dtype}, .to = wide.c});  // gaps between rows stay
  onednn_with_activation(wide);
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
  if (args.activation > Activation::gelu_tanh) {
    with_separate_activation(args, matmul);
    return;
  }
  if (product_log != nullptr) {
    product_log->push_back(args);
  }
  // Where rows must not depend on each other, one row takes the way of many: gemv in f32, AMX in
  // bf16.
  const bool invariant = FrozenWeights::global().by_rows(args.b.data);
  const bool wide = args.a.dtype == DType::f32;
  const bool by_rows =
      args.batch == 1 && args.transpose_b && !args.transpose_a &&
      (args.m == 1 ? wide || !invariant || max_isa() != Isa::amx : wide && invariant);
  if (args.b.dtype == DType::i8) {
    check(args.transpose_b && !args.transpose_a && args.batch == 1 && !args.accumulate,
          "[matmul] int8 weights take part in products with their transpose alone");
    with_separate_activation(args, int8_matmul);
    return;
  }
  const bool fused = args.pre_activation == nullptr &&
                     (args.activation == Activation::none || args.activation == Activation::relu);
  if (by_rows && !fused) {
    with_separate_activation(args, row_matmul);
  } else if (by_rows) {
    row_matmul(args);
  } else if (args.a.dtype == DType::f32) {
    onednn_with_activation(args);
  } else if (max_isa() == Isa::amx) {
    amx_matmul(args);
  } else if (onednn::has_bf16()) {
    onednn_with_activation(args);
  } else {
    widened_matmul(args);
  }
}

void log_products(std::vector<Matmul>* log) { product_log = log; }

double onednn_seconds(const Matmul& args, int repetitions) {
  Matmul dense = args;
  set_dense_defaults(dense);
  return onednn::best_seconds(dense, repetitions);
}

void freeze_weights(const void* data, size_t bytes, bool by_rows) {
  FrozenWeights::global().freeze(data, bytes, by_rows);
}

void thaw_weights(const void* data) { FrozenWeights::global().thaw(data); }

bool inside_onednn() { return onednn::inside(); }

}  // namespace heed::kernels
