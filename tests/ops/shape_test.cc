#include "ops/shape/shape.h"

#include <gtest/gtest.h>

#include "autograd/tape.h"
#include "base/error.h"
#include "kernels/reference/shape.h"
#include "support/error_of.h"
#include "support/op_case.h"

namespace heed::testing {
namespace {

using reference::Dims;

Dims dims_of(const Shape& shape) { return {shape.extents().begin(), shape.extents().end()}; }

// An array of shape `to` that takes element place(i) of `a` for each i.
template <typename Place>
Array moved(const Array& a, const Shape& to, const Place& place, double other = 0) {
  return {to, reference::rearrange<double>(a.values, dims_of(a.shape), dims_of(to), place, other)};
}

// Rows [begin, begin + count) of an axis.
Array rows_of(const Array& a, int axis, int64_t begin, int64_t count) {
  Shape shape = a.shape;
  const size_t i = static_cast<size_t>(shape.axis(axis, "test"));
  shape.set(static_cast<int>(i), count);
  return moved(a, shape, [=](Dims at) {
    at[i] += begin;
    return at;
  });
}

OpCase slice_case(std::string name, Shape x, int axis, int64_t begin, int64_t end) {
  return {.op = "slice",
          .name = std::move(name),
          .inputs = {{.shape = x}},
          .run = [=](const std::vector<Tensor>& t) -> std::vector<Tensor> {
            return {slice(t[0], axis, begin, end)};
          },
          .reference = [=](const std::vector<Array>& a) -> std::vector<Array> {
            const auto from_end = [&](int64_t i) { return i < 0 ? i + x[axis] : i; };
            return {rows_of(a[0], axis, from_end(begin), from_end(end) - from_end(begin))};
          }};
}

OpCase split_case(std::string name, Shape x, int axis, std::vector<int64_t> sizes) {
  return {.op = "split",
          .name = std::move(name),
          .inputs = {{.shape = x}},
          .run = [=](const std::vector<Tensor>& t) { return split(t[0], axis, sizes); },
          .reference =
              [=](const std::vector<Array>& a) {
                std::vector<Array> pieces;
                int64_t begin = 0;
                for (const int64_t size : sizes) {
                  pieces.push_back(rows_of(a[0], axis, begin, size));
                  begin += size;
                }
                return pieces;
              }};
}

OpCase concat_case(std::string name, std::vector<Shape> shapes, int axis) {
  std::vector<Input> inputs;
  Shape result = shapes[0];
  int64_t extent = 0;
  for (const Shape& shape : shapes) {
    inputs.push_back({.shape = shape});
    extent += shape[axis];
  }
  const int at_axis = result.axis(axis, "test");
  result.set(at_axis, extent);
  return {
      .op = "concat",
      .name = std::move(name),
      .inputs = inputs,
      .run = [=](const std::vector<Tensor>& t) -> std::vector<Tensor> { return {concat(t, axis)}; },
      .reference = [=](const std::vector<Array>& a) -> std::vector<Array> {
        Array y{result, {}};
        for (int64_t i = 0; i < result.size(); ++i) {
          Dims at = reference::indices_of(dims_of(result), i);
          size_t which = 0;
          while (at[size_t(at_axis)] >= a[which].shape[axis]) {
            at[size_t(at_axis)] -= a[which++].shape[axis];
          }
          const int64_t flat = reference::flat_of(dims_of(a[which].shape), at);
          y.values.push_back(a[which].values[size_t(flat)]);
        }
        return {y};
      }};
}

OpCase pad_case(std::string name, Shape x, int axis, PadOptions options) {
  Shape padded = x;
  const int at_axis = x.axis(axis, "test");
  padded.set(at_axis, x[axis] + options.before + options.after);
  return {.op = "pad",
          .name = std::move(name),
          .inputs = {{.shape = x}},
          .run = [=](const std::vector<Tensor>& t) -> std::vector<Tensor> {
            return {pad(t[0], axis, options)};
          },
          .reference = [=](const std::vector<Array>& a) -> std::vector<Array> {
            const auto place = [=](Dims at) {
              int64_t& i = at[size_t(at_axis)];
              i -= options.before;
              return i >= 0 && i < x[axis] ? at : Dims{};
            };
            return {moved(a[0], padded, place, options.value)};
          }};
}

OpCase permute_case(std::string name, Shape x, std::vector<int> axes) {
  Shape permuted = x;
  for (size_t i = 0; i < axes.size(); ++i) {
    permuted.set(int(i), x[axes[i]]);
  }
  return {.op = "permute",
          .name = std::move(name),
          .inputs = {{.shape = x}},
          .run = [=](const std::vector<Tensor>& t) -> std::vector<Tensor> {
            return {permute(t[0], axes)};
          },
          .reference = [=](const std::vector<Array>& a) -> std::vector<Array> {
            const auto place = [=](const Dims& at) {
              Dims from(at.size());
              for (size_t i = 0; i < at.size(); ++i) {
                from[size_t(x.axis(axes[i], "test"))] = at[i];
              }
              return from;
            };
            return {moved(a[0], permuted, place)};
          }};
}

OpCase expand_case(std::string name, Shape x, Shape to) {
  return {.op = "expand",
          .name = std::move(name),
          .inputs = {{.shape = x}},
          .run = [=](const std::vector<Tensor>& t) -> std::vector<Tensor> {
            return {expand(t[0], to)};
          },
          .reference = [=](const std::vector<Array>& a) -> std::vector<Array> {
            const auto place = [=](const Dims& at) {
              Dims from(at.end() - x.rank(), at.end());
              for (int i = 0; i < x.rank(); ++i) {
                from[size_t(i)] = x[i] == 1 ? 0 : from[size_t(i)];
              }
              return from;
            };
            return {moved(a[0], to, place)};
          }};
}

OpCase repeat_case(std::string name, Shape x, int axis, int64_t count) {
  Shape to = x;
  const int at_axis = x.axis(axis, "test");
  to.set(at_axis, x[axis] * count);
  return {.op = "expand",
          .name = std::move(name),
          .inputs = {{.shape = x}},
          .run = [=](const std::vector<Tensor>& t) -> std::vector<Tensor> {
            return {repeat(t[0], axis, count)};
          },
          .reference = [=](const std::vector<Array>& a) -> std::vector<Array> {
            const auto place = [=](Dims at) {
              at[size_t(at_axis)] /= count;
              return at;
            };
            return {moved(a[0], to, place)};
          }};
}

const bool kRegistered = add_cases({
    slice_case("leading", {7, 5}, 0, 2, 6),
    slice_case("leading_of_one", {1, 7, 5}, 1, 0, 3),
    slice_case("middle", {3, 9, 4}, 1, 4, -1),
    slice_case("last", {5, 33}, -1, 7, 24),
    slice_case("one_column", {17, 6}, 1, 5, 6),
    slice_case("negative", {3, 10}, 1, -4, -1),
    split_case("leading", {6, 5}, 0, {1, 2, 3}),
    split_case("middle", {2, 7, 3}, 1, {3, 0, 4}),
    split_case("last", {4, 51}, -1, {17, 17, 17}),
    split_case("columns", {9, 3}, 1, {1, 1, 1}),
    concat_case("leading", {{2, 3}, {1, 3}, {4, 3}}, 0),
    concat_case("middle", {{2, 1, 5}, {2, 3, 5}}, 1),
    concat_case("last", {{7, 3}, {7, 17}, {7, 1}}, -1),
    concat_case("one", {{3, 4}}, 0),
    pad_case("leading", {3, 4}, 0, {.before = 2, .after = 1}),
    pad_case("middle", {2, 3, 5}, 1, {.before = 1, .after = 0, .value = -2.0F}),
    pad_case("last", {4, 7}, -1, {.before = 0, .after = 3, .value = 0.5F}),
    pad_case("nothing", {4, 7}, 0, {}),
    permute_case("last_two", {2, 33, 7}, {0, 2, 1}),
    permute_case("matrix", {17, 50}, {1, 0}),
    permute_case("tall", {100, 3}, {1, 0}),
    permute_case("wide", {2, 70}, {-1, -2}),
    permute_case("heads", {2, 5, 3, 8}, {0, 2, 1, 3}),
    permute_case("reverse", {5, 6, 7}, {2, 1, 0}),
    permute_case("rotate", {4, 5, 9}, {1, 2, 0}),
    permute_case("rotate_back", {6, 5, 4, 3}, {3, 0, 1, 2}),
    permute_case("unit_axes", {1, 9, 1, 6}, {3, 2, 1, 0}),
    permute_case("same", {3, 4}, {0, 1}),
    expand_case("leading", {7}, {5, 7}),
    expand_case("leading_two", {33}, {3, 2, 33}),
    expand_case("last", {6, 1}, {6, 17}),
    expand_case("middle", {2, 1, 5}, {2, 4, 5}),
    expand_case("outer_and_last", {1, 5, 1}, {3, 5, 7}),
    expand_case("scalar", {}, {3, 4}),
    expand_case("many", {1, 3, 1, 2}, {2, 4, 3, 5, 2}),
    repeat_case("repeat_leading", {3, 5}, 0, 2),
    repeat_case("repeat_middle", {2, 3, 17}, 1, 4),
    repeat_case("repeat_last", {3, 7}, -1, 3),
});

using Floats = std::vector<float>;

TEST(ShapeOps, MovesIntegersAndBytes) {
  const Tensor ints = Tensor::from_ints(std::vector<int32_t>{1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_EQ(transpose(ints, 0, 1).to_vector(), (Floats{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(slice(ints, 1, 1, 3).to_vector(), (Floats{2, 3, 5, 6}));
  EXPECT_EQ(concat({ints, ints}, 1).to_vector(), (Floats{1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6}));
  EXPECT_EQ(pad(ints, 1, {.before = 1, .value = -1.0F}).to_vector(),
            (Floats{-1, 1, 2, 3, -1, 4, 5, 6}));
  const Tensor bytes = Tensor::from_bytes(std::vector<int8_t>{1, -2, 3, 4}, {2, 2});
  EXPECT_EQ(transpose(bytes, 0, 1).to_vector(), (Floats{1, 3, -2, 4}));
  EXPECT_EQ(expand(slice(bytes, 0, 0, 1), {2, 2}).to_vector(), (Floats{1, -2, 1, -2}));
  EXPECT_EQ(repeat(ints, 0, 2).dim(0), 4);
}

// Large enough for several tiles, of bytes as of words.
TEST(ShapeOps, TransposesTiles) {
  for (const auto& [rows, columns] : {std::pair{77, 130}, {64, 32}, {5, 33}, {200, 4}}) {
    std::vector<int8_t> bytes(static_cast<size_t>(rows * columns));
    for (size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<int8_t>(i * 7 % 251);
    }
    const Tensor x = Tensor::from_bytes(bytes, {rows, columns});
    const Tensor y = transpose(x, 0, 1);
    for (int r = 0; r < rows; ++r) {
      for (int c = 0; c < columns; ++c) {
        ASSERT_EQ(y.data<int8_t>()[c * rows + r], bytes[static_cast<size_t>(r * columns + c)]);
      }
    }
  }
}

TEST(ShapeOps, LeadingSliceIsAView) {
  const Tensor x = Tensor::zeros({4, 3});
  EXPECT_EQ(slice(x, 0, 1, 3).raw(), x.data<float>() + 3);
  EXPECT_EQ(split(x, 0, {1, 3})[1].raw(), x.data<float>() + 3);
}

TEST(ShapeOps, ReshapeFillsIn) {
  const Tensor x = Tensor::zeros({4, 3});
  EXPECT_EQ(reshape(x, {2, -1}).shape(), (Shape{2, 6}));
  EXPECT_EQ(reshape(x, {-1}).shape(), (Shape{12}));
  EXPECT_EQ(error_of([&] {
              reshape(x, {5, -1});
            }),
            "[reshape] x is [4,3]: 12 elements do not fill a shape whose other extents make 5");
  EXPECT_EQ(error_of([&] { reshape(x, {5, 2}); }), "[reshape] [4,3] has 12 elements, [5,2] has 10");
}

// The gradient may reach an op under the shape of a reshaped handle of its output.
TEST(ShapeOps, GradientsOfReshapedResults) {
  const auto gradient_of = [](const auto& op, bool flat) {
    Tensor x = Tensor::from(Floats{1, 2, 3, 4, 5, 6}, {2, 3});
    Tape tape;
    const TapeScope scope(tape);
    tape.watch(x);
    const Tensor y = op(x);
    Floats values(static_cast<size_t>(y.size()));
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(i + 1);
    }
    const Tensor result = flat ? reshape(y, {-1}) : y;
    tape.backward(result, Tensor::from(values, result.shape()));
    return x.slot()->grad.to_vector();
  };
  const auto both = [&](const auto& op) {
    EXPECT_EQ(gradient_of(op, true), gradient_of(op, false));
  };
  both([](const Tensor& x) { return transpose(x, 0, 1); });
  both([](const Tensor& x) { return pad(x, 1, {.before = 1, .after = 2}); });
  both([](const Tensor& x) { return slice(x, 1, 1, 3); });
  both([](const Tensor& x) { return split(x, 1, {1, 2})[1]; });
  both([](const Tensor& x) { return concat({x, x}, 1); });
  both([](const Tensor& x) { return concat({x, x}, 0); });
  both([](const Tensor& x) { return expand(x, {2, 2, 3}); });
}

// A parameter keeps its gradient in f32 while the data is bf16.
TEST(ShapeOps, GradientsReachWiderBuffers) {
  Tensor x = Tensor::from(Floats{1, 2, 3, 4, 5, 6}, {2, 3}, DType::bf16);
  GradSlot slot{.grad = Tensor::full({2, 3}, 100.0F), .written = true, .tape = 0};
  x.set_slot(&slot);
  Tape tape;
  const TapeScope scope(tape);
  const Tensor y = transpose(x, 0, 1);
  tape.backward(y, Tensor::from(Floats{1, 2, 3, 4, 5, 6}, {3, 2}, DType::bf16));
  EXPECT_EQ(slot.grad.to_vector(), (Floats{101, 103, 105, 102, 104, 106}));
  const Tensor z = slice(x, 1, 1, 2);
  tape.backward(z, Tensor::from(Floats{0.5F, 0.25F}, {2, 1}, DType::bf16));
  EXPECT_EQ(slot.grad.to_vector(), (Floats{101, 103.5F, 105, 102, 104.25F, 106}));
}

TEST(ShapeOps, NamesBothValues) {
  const Tensor x = Tensor::zeros({2, 3});
  EXPECT_EQ(error_of([&] { slice(x, 1, 1, 4); }),
            "[slice] rows 1 to 4, expected a range within 0 to 3: axis 1 of [2,3]");
  EXPECT_EQ(error_of([&] { slice(x, 2, 1, 4); }), "[slice] axis is 2, expected -2 to 1 for [2,3]");
  EXPECT_EQ(error_of([&] {
              split(x, 1, {1, 1});
            }),
            "[split] sizes add up to 2, expected 3: axis 1 of [2,3]");
  EXPECT_EQ(
      error_of([&] {
        concat({x, Tensor::zeros({3, 3})}, 1);
      }),
      "[concat] tensor 1 is f32 [3,3], tensor 0 is f32 [2,3]: expected the same but for axis 1");
  EXPECT_EQ(
      error_of([&] {
        concat({x, Tensor::zeros({2, 3}, DType::bf16)}, 0);
      }),
      "[concat] tensor 1 is bf16 [2,3], tensor 0 is f32 [2,3]: expected the same but for axis "
      "0");
  EXPECT_EQ(error_of([&] { concat(std::vector<Tensor>{}, 0); }),
            "[concat] 0 tensors given, expected at least one");
  EXPECT_EQ(error_of([&] { pad(x, 0, {.before = -1}); }),
            "[pad] -1 before and 0 after, expected 0 or more");
  EXPECT_EQ(error_of([&] { permute(x, {0}); }), "[permute] 1 axes given, expected 2 for [2,3]");
  EXPECT_EQ(error_of([&] {
              permute(x, {0, -2});
            }),
            "[permute] axis 0 is given twice, expected once");
  EXPECT_EQ(error_of([&] {
              expand(x, {2, 4});
            }),
            "[expand] x is [2,3], expected 1 or 4 for axis 1 of [2,4]");
  EXPECT_EQ(error_of([&] { expand(x, {3}); }),
            "[expand] x is [2,3], expected at most the rank of [3]");
}

}  // namespace
}  // namespace heed::testing
