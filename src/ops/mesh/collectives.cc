#include "ops/mesh/collectives.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "autograd/tape.h"
#include "ops/check.h"

namespace heed {
namespace {

const OpName kEnter{"enter"};
const OpName kSumOver{"sum_over"};
const OpName kGatherColumns{"gather_columns"};
const OpName kScatterSum{"scatter_sum"};
const OpName kExchange{"exchange"};
const OpName kBroadcastFrom{"broadcast_from"};

// Calls body with the elements as f32 or bf16.
template <typename Body>
void with_elements(const Tensor& x, const Body& body) {
  if (x.dtype() == DType::bf16) {
    body(x.span<bf16>());
  } else {
    body(x.span<float>());
  }
}

Tensor summed(const Tensor& x, const Group& group) {
  Tensor y = x.clone();
  with_elements(y, [&](auto elements) { group.all_reduce(elements); });
  return y;
}

// Columns [begin, end) of the last axis as a tensor of their own.
Tensor columns_of(const Tensor& x, int64_t begin, int64_t end) {
  const int64_t width = x.dim(-1);
  const int64_t rows = x.size() / width;
  const size_t each = size_of(x.dtype());
  const Tensor y = Tensor::empty({rows, end - begin}, x.dtype());
  for (int64_t row = 0; row < rows; ++row) {
    std::memcpy(
        static_cast<std::byte*>(y.raw()) + static_cast<size_t>(row * (end - begin)) * each,
        static_cast<const std::byte*>(x.raw()) + static_cast<size_t>(row * width + begin) * each,
        static_cast<size_t>(end - begin) * each);
  }
  return y;
}

Shape with_last(const Shape& shape, int64_t last) {
  std::vector<int64_t> extents;
  for (int axis = 0; axis + 1 < shape.rank(); ++axis) {
    extents.push_back(shape[axis]);
  }
  extents.push_back(last);
  return Shape(extents);
}

Tensor gathered_columns(const Tensor& x, const Group& group, const Bounds& bounds) {
  const int64_t width = bounds.back();
  const int64_t rows = x.size() / x.dim(-1);
  // Members' matrices one after the other, then row by row side by side.
  Bounds blocks;
  for (const int64_t bound : bounds) {
    blocks.push_back(bound * rows);
  }
  const Tensor stacked = Tensor::empty({rows * width}, x.dtype());
  const auto own = static_cast<size_t>(group.index());
  const size_t each = size_of(x.dtype());
  std::memcpy(static_cast<std::byte*>(stacked.raw()) + static_cast<size_t>(blocks[own]) * each,
              x.raw(), x.bytes());
  with_elements(stacked, [&](auto elements) { group.all_gather(elements, blocks); });
  Tensor y = Tensor::empty(with_last(x.shape(), width), x.dtype());
  for (size_t member = 0; member + 1 < bounds.size(); ++member) {
    const int64_t columns = bounds[member + 1] - bounds[member];
    for (int64_t row = 0; row < rows; ++row) {
      std::memcpy(static_cast<std::byte*>(y.raw()) +
                      static_cast<size_t>(row * width + bounds[member]) * each,
                  static_cast<const std::byte*>(stacked.raw()) +
                      static_cast<size_t>(blocks[member] + row * columns) * each,
                  static_cast<size_t>(columns) * each);
    }
  }
  return y;
}

// [rows, members * columns] -> [members * rows, columns]
Tensor exchanged(const Tensor& x, const Group& group) {
  const int64_t columns = x.dim(1) / group.size();
  const Tensor sent = Tensor::empty({group.size() * x.dim(0), columns}, x.dtype());
  for (int member = 0; member < group.size(); ++member) {
    const Tensor part = columns_of(x, member * columns, (member + 1) * columns);
    std::memcpy(static_cast<std::byte*>(sent.raw()) + static_cast<size_t>(member) * part.bytes(),
                part.raw(), part.bytes());
  }
  Tensor y = Tensor::empty(sent.shape(), x.dtype());
  group.all_to_all({static_cast<const std::byte*>(sent.raw()), sent.bytes()},
                   {static_cast<std::byte*>(y.raw()), y.bytes()});
  return y;
}

// [members * rows, columns] -> [rows, members * columns]: the way back.
Tensor exchanged_back(const Tensor& x, const Group& group) {
  const int64_t rows = x.dim(0) / group.size();
  const int64_t columns = x.dim(1);
  const Tensor received = Tensor::empty(x.shape(), x.dtype());
  group.all_to_all({static_cast<const std::byte*>(x.raw()), x.bytes()},
                   {static_cast<std::byte*>(received.raw()), received.bytes()});
  Tensor y = Tensor::empty({rows, group.size() * columns}, x.dtype());
  const size_t each = size_of(x.dtype()) * static_cast<size_t>(columns);
  for (int64_t member = 0; member < group.size(); ++member) {
    for (int64_t row = 0; row < rows; ++row) {
      std::memcpy(static_cast<std::byte*>(y.raw()) +
                      static_cast<size_t>(row * group.size() + member) * each,
                  static_cast<const std::byte*>(received.raw()) +
                      static_cast<size_t>(member * rows + row) * each,
                  each);
    }
  }
  return y;
}

}  // namespace

bool is_collective(std::string_view op) {
  constexpr std::array<std::string_view, 7> kAll = {
      "enter",    "sum_over",       "gather_columns",     "scatter_sum",
      "exchange", "broadcast_from", "split_cross_entropy"};
  return std::find(kAll.begin(), kAll.end(), op) != kAll.end();
}

Tensor enter(const Tensor& x, const Group& group) {
  if (group.alone()) {
    return x;
  }
  check_float("enter", "x", x);
  Tensor y = x.detached();
  if (Tape* tape = Tape::recording({&x})) {
    // dx = sum of the members' dy
    tape->record(kEnter, y, [x = x.gradient_handle(), &group](const Tensor& dy) {
      add_grad(x, summed(dy, group));
    });
  }
  return y;
}

Tensor sum_over(const Tensor& x, const Group& group) {
  if (group.alone()) {
    return x;
  }
  check_float("sum_over", "x", x);
  Tensor y = summed(x, group);
  if (Tape* tape = Tape::recording({&x})) {
    // dx = dy
    tape->record(kSumOver, y, [x = x.gradient_handle()](const Tensor& dy) { add_grad(x, dy); });
  }
  return y;
}

Tensor gather_columns(const Tensor& x, const Group& group, const Bounds& bounds) {
  if (group.alone()) {
    return x;
  }
  check_float("gather_columns", "x", x);
  const auto own = static_cast<size_t>(group.index());
  check(std::ssize(bounds) == group.size() + 1 && x.dim(-1) == bounds[own + 1] - bounds[own],
        "[gather_columns] x is {}, expected {} columns", x.shape(), bounds[own + 1] - bounds[own]);
  Tensor y = gathered_columns(x, group, bounds);  // [..., all]
  if (Tape* tape = Tape::recording({&x})) {
    // dx = this member's columns of dy
    const int64_t begin = bounds[own];
    const int64_t end = bounds[own + 1];
    tape->record(kGatherColumns, y, [x = x.gradient_handle(), begin, end](const Tensor& dy) {
      add_grad(x, columns_of(dy, begin, end).reshape(x.shape()));
    });
  }
  return y;
}

Tensor scatter_sum(const Tensor& x, const Group& group) {
  if (group.alone()) {
    return x;
  }
  check_float("scatter_sum", "x", x);
  check(x.rank() >= 1 && x.dim(0) % group.size() == 0,
        "[scatter_sum] x is {}, expected rows in {} equal parts", x.shape(), group.size());
  const Bounds bounds = equal_bounds(x.size(), group.size());
  const int64_t rows = x.dim(0) / group.size();
  const int64_t first = rows * group.index();
  const Tensor sums = x.clone();
  with_elements(sums, [&](auto elements) { group.reduce_scatter(elements, bounds); });
  Tensor y = sums.rows(first, first + rows).clone();  // [rows / members, ...]
  if (Tape* tape = Tape::recording({&x})) {
    // dx = the members' dy, one after the other
    tape->record(kScatterSum, y,
                 [x = x.gradient_handle(), &group, bounds, first](const Tensor& dy) {
                   const Tensor dx = Tensor::empty(x.shape(), dy.dtype());
                   const Tensor own = dx.rows(first, first + dy.dim(0));
                   std::memcpy(own.raw(), dy.raw(), dy.bytes());
                   with_elements(dx, [&](auto elements) { group.all_gather(elements, bounds); });
                   add_grad(x, dx);
                 });
  }
  return y;
}

Tensor exchange(const Tensor& x, const Group& group) {
  if (group.alone()) {
    return x;
  }
  check_float("exchange", "x", x);
  check(x.rank() == 2 && x.dim(1) % group.size() == 0,
        "[exchange] x is {}, expected a matrix of columns in {} equal parts", x.shape(),
        group.size());
  Tensor y = exchanged(x, group);  // [members * rows, columns]
  if (Tape* tape = Tape::recording({&x})) {
    // dx = dy, sent back to where it came from
    tape->record(kExchange, y, [x = x.gradient_handle(), &group](const Tensor& dy) {
      add_grad(x, exchanged_back(dy, group));
    });
  }
  return y;
}

Tensor broadcast_from(const Tensor& x, int root, const Group& group) {
  if (group.alone()) {
    return x;
  }
  check_float("broadcast_from", "x", x);
  Tensor y = x.clone();
  group.broadcast({static_cast<std::byte*>(y.raw()), y.bytes()}, root);
  if (Tape* tape = Tape::recording({&x})) {
    // dx = dy on the member that x came from, 0 elsewhere
    const bool own = group.index() == root;
    tape->record(kBroadcastFrom, y, [x = x.gradient_handle(), own](const Tensor& dy) {
      add_grad(x, own ? dy : Tensor::zeros(dy.shape(), dy.dtype()));
    });
  }
  return y;
}

}  // namespace heed
