#include "kernels/indexing/embedding.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/indexing/embedding.cc"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/parallel.h"
#include "kernels/matmul/int8/int8.h"
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

void embedding_rows(const kernels::Embedding& args, int64_t begin, int64_t end) {
  const size_t n = static_cast<size_t>(args.width);
  const FloatVec scale = set(args.scale);
  with_type(args.table.dtype, [&](auto* from) {
    with_type(args.y.dtype, [&](auto* to) {
      for (int64_t i = begin; i < end; ++i) {
        const auto* row = static_cast<decltype(from)>(const_cast<void*>(args.table.data)) +
                          args.indices[i] * args.width;
        auto* y = static_cast<decltype(to)>(args.y.data) + i * args.width;
        map(
            n, y, [&](FloatVec v) { return hn::Mul(v, scale); }, row);
      }
    });
  });
}

void embedding_backward_columns(const kernels::EmbeddingBackward& args, int64_t begin,
                                int64_t end) {
  const size_t n = static_cast<size_t>(end - begin);
  const FloatVec scale = set(args.scale);
  with_type(args.dy.dtype, [&](auto* from) {
    with_type(args.d_table.dtype, [&](auto* to) {
      for (int64_t i = 0; i < args.count; ++i) {
        const auto* dy =
            static_cast<decltype(from)>(const_cast<void*>(args.dy.data)) + i * args.width + begin;
        auto* row =
            static_cast<decltype(to)>(args.d_table.data) + args.indices[i] * args.width + begin;
        map(
            n, row, [&](FloatVec g, FloatVec old) { return hn::MulAdd(g, scale, old); }, dy, row);
      }
    });
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {
HWY_EXPORT(embedding_rows);
HWY_EXPORT(embedding_backward_columns);

namespace kernels {

namespace {

void int8_embedding(const Embedding& args) {
  const Int8Matrix table(args.table.data, args.rows, args.width);
  parallel_rows(args.count, args.width, [&](int64_t begin, int64_t end) {
    std::vector<float> row(static_cast<size_t>(args.width));
    for (int64_t i = begin; i < end; ++i) {
      int8_row(table, args.indices[i], args.scale, row.data());
      copy({.n = args.width,
            .from = {row.data(), DType::f32},
            .to = {static_cast<std::byte*>(args.y.data) +
                       static_cast<size_t>(i * args.width) * size_of(args.y.dtype),
                   args.y.dtype}});
    }
  });
}

}  // namespace

void embedding(const Embedding& args) {
  if (args.table.dtype == DType::i8) {
    int8_embedding(args);
    return;
  }
  parallel_rows(args.count, args.width, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(embedding_rows)(args, begin, end);
  });
}

void embedding_backward(const EmbeddingBackward& args) {
  if (!args.accumulate) {
    std::byte* table = static_cast<std::byte*>(args.d_table.data);
    const int64_t bytes =
        args.rows * args.width * static_cast<int64_t>(size_of(args.d_table.dtype));
    parallel_for(bytes, 4 * kParallelGrain, [&](int64_t begin, int64_t end) {
      std::memset(table + begin, 0, static_cast<size_t>(end - begin));
    });
  }
  constexpr int64_t kStrip = 64;
  const int64_t strips = (args.width + kStrip - 1) / kStrip;
  parallel_rows(strips, kStrip * std::max<int64_t>(args.count, 1), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(embedding_backward_columns)
    (args, begin * kStrip, std::min(args.width, end * kStrip));
  });
}

}  // namespace kernels
}  // namespace heed
#endif  // HWY_ONCE
