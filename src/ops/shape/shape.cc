#include "ops/shape/shape.h"

#include <algorithm>
#include <cstring>

#include "autograd/tape.h"
#include "kernels/indexing/strided.h"
#include "ops/check.h"
#include "ops/operands.h"

namespace heed {
namespace {

const OpName kSlice{"slice"};
const OpName kSplit{"split"};
const OpName kConcat{"concat"};
const OpName kPad{"pad"};
const OpName kPermute{"permute"};
const OpName kExpand{"expand"};

// A gradient comes in the shape of whichever reshaped handle of the output it reached; closures
// that go by the axes of dy bring it back with dy.reshape(shape).

void check_defined(const char* op, const Tensor& x) {
  check(x.defined(), "[{}] x is {}, expected any dtype", op, x);
}

// Rows [begin, begin + count) of an axis in a tensor seen as [outer, extent, inner].
struct Rows {
  Rows(const Shape& shape, int axis, int64_t first, int64_t rows)
      : outer(shape.product(0, axis)),
        extent(shape[axis]),
        inner(shape.product(axis + 1, shape.rank())),
        begin(first),
        count(rows) {}

  int64_t outer;
  int64_t extent;
  int64_t inner;
  int64_t begin;
  int64_t count;

  bool contiguous() const { return outer == 1; }
};

const std::byte* at(const void* data, int64_t elements, DType dtype) {
  return static_cast<const std::byte*>(data) + elements * static_cast<int64_t>(size_of(dtype));
}

// dense [outer, count, inner] = those rows of `whole`.
void take_rows(const Rows& rows, const Tensor& whole, const Tensor& dense, bool accumulate) {
  kernels::strided_copy(
      {.rank = 2,
       .extents = {rows.outer, rows.count * rows.inner},
       .from_strides = {rows.extent * rows.inner, 1},
       .to_strides = {rows.count * rows.inner, 1},
       .from = {at(whole.raw(), rows.begin * rows.inner, whole.dtype()), whole.dtype()},
       .to = out(dense),
       .accumulate = accumulate});
}

// Those rows of `whole` (+)= dense.
void put_rows(const Rows& rows, const Tensor& dense, const Tensor& whole, bool accumulate) {
  const std::byte* to = at(whole.raw(), rows.begin * rows.inner, whole.dtype());
  kernels::strided_copy({.rank = 2,
                         .extents = {rows.outer, rows.count * rows.inner},
                         .from_strides = {rows.count * rows.inner, 1},
                         .to_strides = {rows.extent * rows.inner, 1},
                         .from = in(dense),
                         .to = {const_cast<std::byte*>(to), whole.dtype()},
                         .accumulate = accumulate});
}

// Those rows of `whole` = value.
void fill_rows(const Rows& rows, float value, const Tensor& whole) {
  if (rows.count == 0) {
    return;
  }
  Tensor one = Tensor::empty({1}, whole.dtype());
  switch (whole.dtype()) {
    case DType::f32:
      *one.data<float>() = value;
      break;
    case DType::bf16:
      *one.data<bf16>() = bf16(value);
      break;
    case DType::i32:
      *one.data<int32_t>() = static_cast<int32_t>(value);
      break;
    case DType::i8:
      *one.data<int8_t>() = static_cast<int8_t>(value);
      break;
  }
  const std::byte* to = at(whole.raw(), rows.begin * rows.inner, whole.dtype());
  kernels::strided_copy({.rank = 2,
                         .extents = {rows.outer, rows.count * rows.inner},
                         .from_strides = {0, 0},
                         .to_strides = {rows.extent * rows.inner, 1},
                         .from = in(one),
                         .to = {const_cast<std::byte*>(to), whole.dtype()}});
}

Shape with_extent(Shape shape, int axis, int64_t extent) {
  shape.set(axis, extent);
  return shape;
}

// The rows without a gradient: a view if they are contiguous.
Tensor rows_of(const Tensor& x, int axis, int64_t begin, int64_t count) {
  const Rows rows(x.shape(), axis, begin, count);
  const Shape shape = with_extent(x.shape(), axis, count);
  if (rows.contiguous()) {
    return x.reshape({rows.extent, rows.inner}).rows(begin, begin + count).reshape(shape);
  }
  Tensor y = Tensor::empty(shape, x.dtype());  // [..., count, ...]
  take_rows(rows, x, y, false);
  return y;
}

// Converts a list of extents or axes that may stand in braces.
template <typename T>
std::span<const T> listed(std::initializer_list<T> list) {
  return {list.begin(), list.size()};
}

}  // namespace

Tensor slice(const Tensor& x, int axis, int64_t begin, int64_t end) {
  check_defined("slice", x);
  axis = x.shape().axis(axis, "slice");
  const int64_t extent = x.dim(axis);
  const int64_t first = begin < 0 ? begin + extent : begin;
  const int64_t last = end < 0 ? end + extent : end;
  check(0 <= first && first <= last && last <= extent,
        "[slice] rows {} to {}, expected a range within 0 to {}: axis {} of {}", begin, end, extent,
        axis, x.shape());
  Tensor y = rows_of(x, axis, first, last - first);  // [..., last - first, ...]
  if (Tape* tape = Tape::recording({&x})) {
    // Rows first to last of dx += dy; the others get nothing.
    tape->record(kSlice, y, [=, x = x.gradient_handle()](const Tensor& dy) {
      const GradTarget target = grad_target(x);
      if (!target.accumulate) {
        fill_rows(Rows(x.shape(), axis, 0, first), 0.0F, target.grad);
        fill_rows(Rows(x.shape(), axis, last, extent - last), 0.0F, target.grad);
      }
      put_rows(Rows(x.shape(), axis, first, last - first), dy, target.grad, target.accumulate);
    });
  }
  return y;
}

std::vector<Tensor> split(const Tensor& x, int axis, std::initializer_list<int64_t> sizes) {
  return split(x, axis, listed(sizes));
}

std::vector<Tensor> split(const Tensor& x, int axis, std::span<const int64_t> sizes) {
  check_defined("split", x);
  axis = x.shape().axis(axis, "split");
  int64_t total = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    check(sizes[i] >= 0, "[split] size {} is {}, expected 0 or more", i, sizes[i]);
    total += sizes[i];
  }
  check(total == x.dim(axis), "[split] sizes add up to {}, expected {}: axis {} of {}", total,
        x.dim(axis), axis, x.shape());
  std::vector<Tensor> pieces;
  int64_t begin = 0;
  for (const int64_t size : sizes) {
    pieces.push_back(rows_of(x, axis, begin, size));  // [..., size, ...]
    begin += size;
  }
  Tape* tape = Tape::recording({&x});
  if (tape == nullptr || pieces.empty()) {
    return pieces;
  }
  std::vector<Tensor*> outputs;
  outputs.reserve(pieces.size());
  for (Tensor& piece : pieces) {
    outputs.push_back(&piece);
  }
  // dx is the pieces' gradients one after the other, with zeros for a piece that nobody used.
  tape->record_outputs(
      kSplit, std::span<Tensor* const>(outputs),
      [axis, x = x.gradient_handle(),
       sizes = std::vector<int64_t>(sizes.begin(), sizes.end())](GradSlot* const* slots) {
        const GradTarget target = grad_target(x);
        int64_t first = 0;
        for (size_t i = 0; i < sizes.size(); ++i) {
          const Rows rows(x.shape(), axis, first, sizes[i]);
          if (slots[i]->written) {
            put_rows(rows, slots[i]->grad, target.grad, target.accumulate);
          } else if (!target.accumulate) {
            fill_rows(rows, 0.0F, target.grad);
          }
          first += sizes[i];
        }
      });
  return pieces;
}

namespace {

// Each input's gradient is its rows of dy; leading rows are shared, not copied.
void concat_backward(const std::vector<Tensor>& inputs, int axis, const Tensor& dy) {
  int64_t begin = 0;
  for (const Tensor& input : inputs) {
    const int64_t count = input.dim(axis);
    const Rows rows(dy.shape(), axis, begin, count);
    begin += count;
    if (!needs_grad(input)) {
      continue;
    }
    if (rows.contiguous()) {
      add_grad(input, rows_of(dy, axis, rows.begin, count));
    } else {
      const GradTarget target = grad_target(input);
      take_rows(rows, dy, target.grad, target.accumulate);
    }
  }
}

Shape concat_shape(std::span<const Tensor> tensors, int axis) {
  const Tensor& first = tensors[0];
  int64_t extent = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& tensor = tensors[i];
    check_defined("concat", tensor);
    const bool fits = tensor.dtype() == first.dtype() && tensor.rank() == first.rank() &&
                      with_extent(tensor.shape(), axis, 0) == with_extent(first.shape(), axis, 0);
    check(fits, "[concat] tensor {} is {}, tensor 0 is {}: expected the same but for axis {}", i,
          tensor, first, axis);
    extent += tensor.dim(axis);
  }
  return with_extent(first.shape(), axis, extent);
}

}  // namespace

Tensor concat(std::initializer_list<Tensor> tensors, int axis) {
  return concat(listed(tensors), axis);
}

Tensor concat(std::span<const Tensor> tensors, int axis) {
  check(!tensors.empty(), "[concat] 0 tensors given, expected at least one");
  check_defined("concat", tensors[0]);
  axis = tensors[0].shape().axis(axis, "concat");
  const Shape shape = concat_shape(tensors, axis);
  Tensor y = Tensor::empty(shape, tensors[0].dtype());  // [..., sum of extents, ...]
  int64_t begin = 0;
  Tape* tape = nullptr;
  for (const Tensor& tensor : tensors) {
    put_rows(Rows(shape, axis, begin, tensor.dim(axis)), tensor, y, false);
    begin += tensor.dim(axis);
    tape = tape == nullptr ? Tape::recording({&tensor}) : tape;
  }
  if (tape != nullptr) {
    std::vector<Tensor> inputs;
    for (const Tensor& tensor : tensors) {
      inputs.push_back(tensor.gradient_handle());
    }
    tape->record(kConcat, y,
                 [=](const Tensor& dy) { concat_backward(inputs, axis, dy.reshape(shape)); });
  }
  return y;
}

Tensor pad(const Tensor& x, int axis, const PadOptions& options) {
  check_defined("pad", x);
  axis = x.shape().axis(axis, "pad");
  check(options.before >= 0 && options.after >= 0,
        "[pad] {} before and {} after, expected 0 or more", options.before, options.after);
  const int64_t extent = x.dim(axis);
  const int64_t before = options.before;
  const Shape shape = with_extent(x.shape(), axis, before + extent + options.after);
  Tensor y = Tensor::empty(shape, x.dtype());  // [..., before + extent + after, ...]
  fill_rows(Rows(shape, axis, 0, before), options.value, y);
  put_rows(Rows(shape, axis, before, extent), x, y, false);
  fill_rows(Rows(shape, axis, before + extent, options.after), options.value, y);
  if (Tape* tape = Tape::recording({&x})) {
    // dx is the middle of dy.
    tape->record(kPad, y, [=, x = x.gradient_handle()](const Tensor& dy) {
      const GradTarget target = grad_target(x);
      take_rows(Rows(shape, axis, before, extent), dy, target.grad, target.accumulate);
    });
  }
  return y;
}

namespace {

using Extents = kernels::StridedCopy::Extents;

// Distances of neighbours along each axis of a dense tensor.
Extents dense_strides(const Shape& shape) {
  Extents strides = {};
  int64_t stride = 1;
  for (int a = shape.rank() - 1; a >= 0; --a) {
    strides[static_cast<size_t>(a)] = stride;
    stride *= shape[a];
  }
  return strides;
}

// y[i...] (+)= x[j...] where j[axes[a]] = i[a].
void permute_into(const Tensor& x, const Extents& axes, const Tensor& y, bool accumulate) {
  const Extents strides = dense_strides(x.shape());
  kernels::StridedCopy args{.rank = x.rank(),
                            .to_strides = dense_strides(y.shape()),
                            .from = in(x),
                            .to = out(y),
                            .accumulate = accumulate};
  for (size_t a = 0; a < static_cast<size_t>(x.rank()); ++a) {
    args.extents[a] = y.dim(static_cast<int>(a));
    args.from_strides[a] = strides[static_cast<size_t>(axes[a])];
  }
  kernels::strided_copy(args);
}

}  // namespace

Tensor permute(const Tensor& x, std::initializer_list<int> axes) {
  return permute(x, listed(axes));
}

Tensor permute(const Tensor& x, std::span<const int> axes) {
  check_defined("permute", x);
  check(static_cast<int>(axes.size()) == x.rank(), "[permute] {} axes given, expected {} for {}",
        axes.size(), x.rank(), x.shape());
  Extents forward = {};
  Extents inverse = {};
  std::array<bool, Shape::kMaxRank> used = {};
  Shape shape = x.shape();
  for (int a = 0; a < x.rank(); ++a) {
    const int axis = x.shape().axis(axes[static_cast<size_t>(a)], "permute");
    check(!used[static_cast<size_t>(axis)], "[permute] axis {} is given twice, expected once",
          axis);
    used[static_cast<size_t>(axis)] = true;
    forward[static_cast<size_t>(a)] = axis;
    inverse[static_cast<size_t>(axis)] = a;
    shape.set(a, x.dim(axis));
  }
  Tensor y = Tensor::empty(shape, x.dtype());  // [x.dim(axes[0]), x.dim(axes[1]), ...]
  permute_into(x, forward, y, false);
  if (Tape* tape = Tape::recording({&x})) {
    // dx = dy permuted back.
    tape->record(kPermute, y, [inverse, shape, x = x.gradient_handle()](const Tensor& dy) {
      const GradTarget target = grad_target(x);
      permute_into(dy.reshape(shape), inverse, target.grad, target.accumulate);
    });
  }
  return y;
}

Tensor transpose(const Tensor& x, int axis_a, int axis_b) {
  check_defined("transpose", x);
  std::array<int, Shape::kMaxRank> axes = {};
  for (int a = 0; a < x.rank(); ++a) {
    axes[static_cast<size_t>(a)] = a;
  }
  std::swap(axes[static_cast<size_t>(x.shape().axis(axis_a, "transpose"))],
            axes[static_cast<size_t>(x.shape().axis(axis_b, "transpose"))]);
  return permute(x, std::span<const int>(axes.data(), static_cast<size_t>(x.rank())));
}

Tensor reshape(const Tensor& x, std::initializer_list<int64_t> extents) {
  return reshape(x, listed(extents));
}

Tensor reshape(const Tensor& x, std::span<const int64_t> extents) {
  check_defined("reshape", x);
  std::vector<int64_t> given(extents.begin(), extents.end());
  const auto open = std::find(given.begin(), given.end(), -1);
  if (open != given.end()) {
    *open = 1;
    const int64_t others = Shape(given).size();  // a second -1 is a negative extent: an error
    check(others > 0 && x.size() % others == 0,
          "[reshape] x is {}: {} elements do not fill a shape whose other extents make {}",
          x.shape(), x.size(), others);
    *open = x.size() / others;
  }
  return x.reshape(Shape(given));
}

namespace {

// dx = dy summed over the axes that were repeated: one after the other from the left, each run of
// neighbours at once, in f32 until the last.
void expand_backward(const Tensor& x, const Shape& aligned, const Tensor& dy) {
  const GradTarget target = grad_target(x);
  Tensor rest = dy;
  Shape shape = dy.shape();
  const auto repeated = [&](int a) { return a < shape.rank() && aligned[a] != shape[a]; };
  for (int a = 0; a < shape.rank(); ++a) {
    if (!repeated(a)) {
      continue;
    }
    int end = a + 1;
    while (repeated(end)) {
      ++end;
    }
    const int64_t extent = shape.product(a, end);
    for (int i = a; i < end; ++i) {
      shape.set(i, 1);
    }
    const bool last = shape == aligned;
    const Tensor sum = last ? target.grad : Tensor::empty(shape);
    kernels::fold_axis({.outer = shape.product(0, a),
                        .extent = extent,
                        .inner = shape.product(end, shape.rank()),
                        .x = in(rest),
                        .out = out(sum),
                        .accumulate = last && target.accumulate});
    rest = sum;
  }
}

}  // namespace

Tensor expand(const Tensor& x, const Shape& shape) {
  check_defined("expand", x);
  const int added = shape.rank() - x.rank();
  check(added >= 0, "[expand] x is {}, expected at most the rank of {}", x.shape(), shape);
  Shape aligned = shape;  // x with its new leading axes
  kernels::StridedCopy args{.rank = shape.rank(), .to_strides = dense_strides(shape)};
  const Extents strides = dense_strides(x.shape());
  for (int a = 0; a < shape.rank(); ++a) {
    const size_t i = static_cast<size_t>(a);
    aligned.set(a, a < added ? 1 : x.dim(a - added));
    check(aligned[a] == shape[a] || aligned[a] == 1,
          "[expand] x is {}, expected 1 or {} for axis {} of {}", x.shape(), shape[a], a, shape);
    args.extents[i] = shape[a];
    args.from_strides[i] = aligned[a] == 1 ? 0 : strides[static_cast<size_t>(a - added)];
  }
  if (aligned == shape) {
    return x.reshape(shape);
  }
  Tensor y = Tensor::empty(shape, x.dtype());  // shape
  args.from = in(x);
  args.to = out(y);
  kernels::strided_copy(args);
  if (Tape* tape = Tape::recording({&x})) {
    tape->record(kExpand, y, [aligned, shape, x = x.gradient_handle()](const Tensor& dy) {
      expand_backward(x, aligned, dy.reshape(shape));
    });
  }
  return y;
}

Tensor repeat(const Tensor& x, int axis, int64_t count) {
  check_defined("repeat", x);
  axis = x.shape().axis(axis, "repeat");
  check(count >= 0, "[repeat] count is {}, expected 0 or more", count);
  const Rows rows(x.shape(), axis, 0, x.dim(axis));
  const Tensor wide = expand(x.reshape({rows.outer, rows.extent, 1, rows.inner}),
                             {rows.outer, rows.extent, count, rows.inner});
  return wide.reshape(with_extent(x.shape(), axis, rows.extent * count));
}

}  // namespace heed
