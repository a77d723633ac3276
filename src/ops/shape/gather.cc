#include "ops/shape/gather.h"

#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <vector>

#include "autograd/tape.h"
#include "kernels/indexing/gather.h"
#include "kernels/reduction/top_k.h"
#include "ops/check.h"
#include "ops/operands.h"

namespace heed {
namespace {

const OpName kIndexSelect{"index_select"};
const OpName kGatherElements{"gather_elements"};
const OpName kGatherNd{"gather_nd"};
const OpName kTopK{"top_k"};

void check_data(const char* op, const Tensor& x, const Tensor& indices) {
  check(x.defined(), "[{}] x is {}, expected any dtype", op, x);
  check_dtype(op, "indices", indices, DType::i32);
}

// "indices[2,0]" for element `flat` of the indices.
std::string place_of(const Shape& shape, int64_t flat) {
  std::string place;
  for (int a = shape.rank() - 1; a >= 0; --a) {
    place = fmt::format("{}{}{}", flat % shape[a], place.empty() ? "" : ",", place);
    flat /= shape[a];
  }
  return fmt::format("indices[{}]", place);
}

// The value as an index into an axis of x, or an error that says where it stands.
int32_t resolve(const char* op, const Tensor& indices, int64_t flat, const Shape& x, int axis) {
  const int32_t value = indices.data<int32_t>()[flat];
  const int64_t extent = x[axis];
  const int64_t index = value < 0 ? value + extent : value;
  if (index < 0 || index >= extent) [[unlikely]] {
    fail("[{}] {} is {}, expected {} to {}: axis {} of x {} has {} rows", op,
         place_of(indices.shape(), flat), value, -extent, extent - 1, axis, x, extent);
  }
  return static_cast<int32_t>(index);
}

// All indices into one axis, none of them negative; the same tensor if none was.
Tensor resolve_all(const char* op, const Tensor& indices, const Shape& x, int axis) {
  Tensor result = indices.detached();
  for (int64_t i = 0; i < indices.size(); ++i) {
    const int32_t index = resolve(op, indices, i, x, axis);
    if (index != result.data<int32_t>()[i]) {
      if (result.raw() == indices.raw()) {
        result = indices.clone();
      }
      result.data<int32_t>()[i] = index;
    }
  }
  return result;
}

// Sizes of a pick of rows; the index is filled in where it is used.
kernels::RowPicks picks_of(const kernels::RowPicks& sizes, const Tensor& index) {
  kernels::RowPicks picks = sizes;
  picks.index = index.data<int32_t>();
  return picks;
}

// y = the rows of x [outer, rows, inner] that `index` names.
Tensor pick_rows(const OpName& name, const Tensor& x, const Tensor& index,
                 const kernels::RowPicks& sizes, const Shape& shape) {
  Tensor y = Tensor::empty(shape, x.dtype());  // [outer..., picks..., inner...]
  kernels::gather_rows({.picks = picks_of(sizes, index), .x = in(x), .y = out(y)});
  if (Tape* tape = Tape::recording({&x})) {
    // dx[o, r] = sum of dy[o, p] over the picks p of row r.
    tape->record(name, y, [index, sizes, x = x.gradient_handle()](const Tensor& dy) {
      const GradTarget target = grad_target(x);
      kernels::scatter_rows({.picks = picks_of(sizes, index),
                             .dy = in(dy),
                             .dx = out(target.grad),
                             .accumulate = target.accumulate});
    });
  }
  return y;
}

// Extents [from, to) of a shape, appended to `extents`.
void append(std::vector<int64_t>& extents, const Shape& shape, int from, int to) {
  for (int a = from; a < to; ++a) {
    extents.push_back(shape[a]);
  }
}

}  // namespace

Tensor index_select(const Tensor& x, int axis, const Tensor& indices) {
  check_data("index_select", x, indices);
  axis = x.shape().axis(axis, "index_select");
  const Tensor index = resolve_all("index_select", indices, x.shape(), axis);  // [i...]
  std::vector<int64_t> extents;
  append(extents, x.shape(), 0, axis);
  append(extents, indices.shape(), 0, indices.rank());
  append(extents, x.shape(), axis + 1, x.rank());
  return pick_rows(kIndexSelect, x, index,
                   {.outer = x.shape().product(0, axis),
                    .rows = x.dim(axis),
                    .inner = x.shape().product(axis + 1, x.rank()),
                    .picks = indices.size(),
                    .index = nullptr},
                   Shape(extents));
}

namespace {

// Offsets in x of every position of axes [from, to) of `counted`.
void offsets(const Shape& x, const Shape& counted, int from, int to, int64_t* result) {
  const int64_t count = counted.product(from, to);
  for (int64_t position = 0; position < count; ++position) {
    int64_t rest = position;
    int64_t stride = x.product(to, x.rank());
    int64_t offset = 0;
    for (int a = to - 1; a >= from; --a) {
      offset += rest % counted[a] * stride;
      rest /= counted[a];
      stride *= x[a];
    }
    result[position] = offset;
  }
}

// Calls fn with how `index` picks from a tensor shaped `x` along `axis`.
template <typename Fn>
void with_element_picks(const Shape& x, int axis, const Tensor& index, const Fn& fn) {
  const Shape& counted = index.shape();
  const int64_t outer = counted.product(0, axis);
  const int64_t inner = counted.product(axis + 1, counted.rank());
  // i64 offsets in a tensor's memory: the arena gives it without malloc.
  const Tensor memory = Tensor::empty({2 * (outer + inner)}, DType::i32);
  auto* outer_at = reinterpret_cast<int64_t*>(memory.data<int32_t>());
  offsets(x, counted, 0, axis, outer_at);
  offsets(x, counted, axis + 1, counted.rank(), outer_at + outer);
  fn(kernels::ElementPicks{.outer = outer,
                           .picks = counted[axis],
                           .inner = inner,
                           .extent = x[axis],
                           .stride = x.product(axis + 1, x.rank()),
                           .outer_at = outer_at,
                           .inner_at = outer_at + outer,
                           .index = index.data<int32_t>()});
}

// dx at the place each element was picked from += dy.
void scatter_backward(const Tensor& x, int axis, const Tensor& index, const Tensor& dy) {
  const GradTarget target = grad_target(x);
  if (!target.accumulate) {
    std::memset(target.grad.raw(), 0, target.grad.bytes());
  }
  with_element_picks(x.shape(), axis, index, [&](const kernels::ElementPicks& picks) {
    kernels::scatter_elements({.picks = picks, .dy = in(dy), .dx = out(target.grad)});
  });
}

}  // namespace

Tensor gather_elements(const Tensor& x, int axis, const Tensor& indices) {
  check_data("gather_elements", x, indices);
  axis = x.shape().axis(axis, "gather_elements");
  bool fits = indices.rank() == x.rank();
  for (int a = 0; fits && a < x.rank(); ++a) {
    fits = a == axis || indices.dim(a) <= x.dim(a);
  }
  check(fits,
        "[gather_elements] indices are {}, x is {}: expected no larger extents but on axis {}",
        indices.shape(), x.shape(), axis);
  const Tensor index = resolve_all("gather_elements", indices, x.shape(), axis);
  Tensor y = Tensor::empty(indices.shape(), x.dtype());  // as the indices
  with_element_picks(x.shape(), axis, index, [&](const kernels::ElementPicks& picks) {
    kernels::gather_elements({.picks = picks, .x = in(x), .y = out(y)});
  });
  if (Tape* tape = Tape::recording({&x})) {
    tape->record(kGatherElements, y, [axis, index, x = x.gradient_handle()](const Tensor& dy) {
      scatter_backward(x, axis, index, dy);
    });
  }
  return y;
}

Tensor gather_nd(const Tensor& x, const Tensor& indices, int batch_dims) {
  check_data("gather_nd", x, indices);
  check(batch_dims >= 0 && batch_dims < std::min(x.rank(), indices.rank()),
        "[gather_nd] batch_dims is {}, expected less than the ranks of x {} and indices {}",
        batch_dims, x.shape(), indices.shape());
  const int depth = static_cast<int>(indices.dim(-1));
  check(depth >= 1 && batch_dims + depth <= x.rank(),
        "[gather_nd] indices are {}, x is {}: expected 1 to {} numbers per index", indices.shape(),
        x.shape(), x.rank() - batch_dims);
  for (int a = 0; a < batch_dims; ++a) {
    check(x.dim(a) == indices.dim(a), "[gather_nd] x is {}, indices are {}: axis {} differs",
          x.shape(), indices.shape(), a);
  }
  // Batch and indexed axes count as one long axis of rows.
  const int64_t rows = x.shape().product(0, batch_dims + depth);
  check(rows <= std::numeric_limits<int32_t>::max(),
        "[gather_nd] x is {}: {} rows, expected at most {}", x.shape(), rows,
        std::numeric_limits<int32_t>::max());
  const int64_t picks = indices.shape().product(0, indices.rank() - 1);
  const int64_t batch = x.shape().product(0, batch_dims);
  const Tensor index = Tensor::empty({picks}, DType::i32);
  for (int64_t p = 0; p < picks; ++p) {
    int64_t row = p / (picks / batch);
    for (int d = 0; d < depth; ++d) {
      const int axis = batch_dims + d;
      row = row * x.dim(axis) + resolve("gather_nd", indices, p * depth + d, x.shape(), axis);
    }
    index.data<int32_t>()[p] = static_cast<int32_t>(row);
  }
  std::vector<int64_t> extents;
  append(extents, indices.shape(), 0, indices.rank() - 1);
  append(extents, x.shape(), batch_dims + depth, x.rank());
  return pick_rows(kGatherNd, x, index,
                   {.outer = 1,
                    .rows = rows,
                    .inner = x.shape().product(batch_dims + depth, x.rank()),
                    .picks = picks,
                    .index = nullptr},
                   Shape(extents));
}

TopK top_k(const Tensor& x, int64_t k, const TopKOptions& options) {
  check(x.defined(), "[top_k] x is {}, expected any dtype", x);
  const int axis = x.shape().axis(options.axis, "top_k");
  check(0 <= k && k <= x.dim(axis), "[top_k] k is {}, expected 0 to {}: axis {} of {}", k,
        x.dim(axis), axis, x.shape());
  Shape shape = x.shape();
  shape.set(axis, k);
  TopK result{.values = Tensor::empty(shape, x.dtype()),     // [..., k, ...]
              .indices = Tensor::empty(shape, DType::i32)};  // [..., k, ...]
  kernels::top_k({.outer = x.shape().product(0, axis),
                  .extent = x.dim(axis),
                  .inner = x.shape().product(axis + 1, x.rank()),
                  .k = k,
                  .largest = options.largest,
                  .sorted = options.sorted,
                  .x = in(x),
                  .values = out(result.values),
                  .indices = result.indices.data<int32_t>()});
  if (Tape* tape = Tape::recording({&x})) {
    tape->record(kTopK, result.values,
                 [axis, index = result.indices, x = x.gradient_handle()](const Tensor& dy) {
                   scatter_backward(x, axis, index, dy);
                 });
  }
  return result;
}

}  // namespace heed
