#include "kernels/indexing/gather.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/indexing/gather.cc"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include "base/parallel.h"
#include "base/scratch.h"
#include "kernels/reduction/row_sum-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed {
namespace HWY_NAMESPACE {

// Rows [begin, end) of dx, counted over all outer indices; row r of dx is the sum of the picks
// order[first[r]] to order[first[r + 1]].
void scatter_rows_part(const kernels::ScatterRows& args, const int32_t* first, const int32_t* order,
                       int64_t begin, int64_t end) {
  const kernels::RowPicks& picks = args.picks;
  with_types(args.dy.dtype, args.dx.dtype, [&](auto* from, auto* to) {
    using From = std::remove_pointer_t<decltype(from)>;
    using To = std::remove_pointer_t<decltype(to)>;
    for (int64_t task = begin; task < end; ++task) {
      const int64_t outer = task / picks.rows;
      const int64_t row = task % picks.rows;
      const int64_t count = first[row + 1] - first[row];
      if (count == 0 && args.accumulate) {
        continue;
      }
      const int32_t* pick = order + first[row];
      const From* dy = static_cast<const From*>(args.dy.data) + outer * picks.picks * picks.inner;
      const auto row_at = [&](int64_t i) { return WeightedRow<From>{dy + pick[i] * picks.inner}; };
      sum_rows<From>(count, row_at, static_cast<size_t>(picks.inner),
                     static_cast<To*>(args.dx.data) + task * picks.inner, args.accumulate);
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace heed
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {
HWY_EXPORT(scatter_rows_part);

namespace kernels {
namespace {

// Calls fn with a typed null pointer for elements of this size.
template <typename Fn>
void with_word(DType dtype, const Fn& fn) {
  switch (size_of(dtype)) {
    case 1:
      return fn(static_cast<uint8_t*>(nullptr));
    case 2:
      return fn(static_cast<uint16_t*>(nullptr));
    default:
      return fn(static_cast<uint32_t*>(nullptr));
  }
}

// One line of a bf16 gradient: summed in f32, so that repeated picks round once.
void scatter_line(const ElementPicks& picks, const bf16* dy, const int32_t* index, bf16* dx,
                  float* line) {
  for (int64_t e = 0; e < picks.extent; ++e) {
    line[e] = 0.0F;
  }
  for (int64_t p = 0; p < picks.picks; ++p) {
    line[index[p * picks.inner]] += static_cast<float>(dy[p * picks.inner]);
  }
  for (int64_t e = 0; e < picks.extent; ++e) {
    bf16& target = dx[e * picks.stride];
    target = bf16(static_cast<float>(target) + line[e]);
  }
}

template <typename From, typename To>
void scatter_lines(const ScatterElements& args, int64_t outer) {
  const ElementPicks& picks = args.picks;
  const int64_t at = outer * picks.picks * picks.inner;
  const From* dy = static_cast<const From*>(args.dy.data) + at;
  To* dx = static_cast<To*>(args.dx.data) + picks.outer_at[outer];
  const int32_t* index = picks.index + at;
  if constexpr (std::is_same_v<From, bf16> && std::is_same_v<To, bf16>) {
    if (picks.picks > 1) {
      thread_local Scratch scratch;
      float* line = scratch.get<float>(static_cast<size_t>(picks.extent));
      for (int64_t i = 0; i < picks.inner; ++i) {
        scatter_line(picks, dy + i, index + i, dx + picks.inner_at[i], line);
      }
      return;
    }
  }
  for (int64_t p = 0; p < picks.picks; ++p) {
    for (int64_t i = 0; i < picks.inner; ++i) {
      const int64_t from = p * picks.inner + i;
      To& target = dx[picks.inner_at[i] + index[from] * picks.stride];
      target = static_cast<To>(static_cast<float>(target) + static_cast<float>(dy[from]));
    }
  }
}

}  // namespace

void gather_rows(const GatherRows& args) {
  const RowPicks& picks = args.picks;
  const auto bytes = static_cast<int64_t>(static_cast<size_t>(picks.inner) * size_of(args.x.dtype));
  const auto* x = static_cast<const std::byte*>(args.x.data);
  auto* y = static_cast<std::byte*>(args.y.data);
  parallel_rows(picks.outer * picks.picks, picks.inner, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t row = task / picks.picks * picks.rows + picks.index[task % picks.picks];
      std::memcpy(y + task * bytes, x + row * bytes, static_cast<size_t>(bytes));
    }
  });
}

// Sorting the picks by row first, keeping their order, makes each row one sum of its own.
void scatter_rows(const ScatterRows& args) {
  const RowPicks& picks = args.picks;
  thread_local Scratch scratch;
  int32_t* first = scratch.get<int32_t>(static_cast<size_t>(picks.rows + 2 + picks.picks));
  int32_t* order = first + picks.rows + 2;
  std::fill_n(first, picks.rows + 2, 0);
  // Counted two places on, so that filling `order` moves each start to where it belongs.
  for (int64_t p = 0; p < picks.picks; ++p) {
    ++first[picks.index[p] + 2];
  }
  for (int64_t r = 2; r < picks.rows + 2; ++r) {
    first[r] += first[r - 1];
  }
  for (int64_t p = 0; p < picks.picks; ++p) {
    order[first[picks.index[p] + 1]++] = static_cast<int32_t>(p);
  }
  parallel_rows(picks.outer * picks.rows, picks.inner, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(scatter_rows_part)(args, first, order, begin, end);
  });
}

void gather_elements(const GatherElements& args) {
  const ElementPicks& picks = args.picks;
  with_word(args.x.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    const int64_t width = picks.picks * picks.inner;
    parallel_rows(picks.outer, width, [&](int64_t begin, int64_t end) {
      for (int64_t outer = begin; outer < end; ++outer) {
        const T* x = static_cast<const T*>(args.x.data) + picks.outer_at[outer];
        T* y = static_cast<T*>(args.y.data) + outer * width;
        const int32_t* index = picks.index + outer * width;
        for (int64_t p = 0; p < picks.picks; ++p) {
          for (int64_t i = 0; i < picks.inner; ++i) {
            const int64_t to = p * picks.inner + i;
            y[to] = x[picks.inner_at[i] + index[to] * picks.stride];
          }
        }
      }
    });
  });
}

// Split over the outer index alone: two picks of one outer index may meet.
void scatter_elements(const ScatterElements& args) {
  const auto run = [&](auto* from, auto* to) {
    using From = std::remove_pointer_t<decltype(from)>;
    using To = std::remove_pointer_t<decltype(to)>;
    parallel_rows(args.picks.outer, args.picks.picks * args.picks.inner,
                  [&](int64_t begin, int64_t end) {
                    for (int64_t outer = begin; outer < end; ++outer) {
                      scatter_lines<From, To>(args, outer);
                    }
                  });
  };
  const auto with_to = [&](auto* from) {
    args.dx.dtype == DType::f32 ? run(from, static_cast<float*>(nullptr))
                                : run(from, static_cast<bf16*>(nullptr));
  };
  args.dy.dtype == DType::f32 ? with_to(static_cast<float*>(nullptr))
                              : with_to(static_cast<bf16*>(nullptr));
}

}  // namespace kernels
}  // namespace heed
#endif  // HWY_ONCE
