#include "ops/shape/gather.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "autograd/tape.h"
#include "base/error.h"
#include "base/parallel.h"
#include "base/random.h"
#include "kernels/reference/shape.h"
#include "support/error_of.h"
#include "support/op_case.h"

namespace heed::testing {
namespace {

using reference::Dims;
using Floats = std::vector<float>;
using Ints = std::vector<int32_t>;

Dims dims_of(const Shape& shape) { return {shape.extents().begin(), shape.extents().end()}; }

int64_t index_at(const Array& indices, const Dims& at, int64_t extent) {
  const auto flat = static_cast<size_t>(reference::flat_of(dims_of(indices.shape), at));
  const auto value = static_cast<int64_t>(indices.values[flat]);
  return value < 0 ? value + extent : value;
}

template <typename Place>
Array moved(const Array& a, const Shape& to, const Place& place) {
  return {to, reference::rearrange<double>(a.values, dims_of(a.shape), dims_of(to), place)};
}

// Indices all over the axis, the negative ones included, with repetitions.
Input indices_into(Shape shape, int64_t extent) {
  return {.shape = shape,
          .kind = Kind::integer,
          .scale = static_cast<double>(2 * extent),
          .offset = static_cast<double>(-extent)};
}

OpCase index_select_case(std::string name, Shape x, int axis, Shape indices) {
  std::vector<int64_t> extents;
  for (int a = 0; a < x.rank(); ++a) {
    if (a != axis) {
      extents.push_back(x[a]);
    } else {
      extents.insert(extents.end(), indices.extents().begin(), indices.extents().end());
    }
  }
  const Shape to{std::span<const int64_t>(extents)};
  return {.op = "index_select",
          .name = std::move(name),
          .inputs = {{.shape = x}, indices_into(indices, x[axis])},
          .run = [=](const std::vector<Tensor>& t) -> std::vector<Tensor> {
            return {index_select(t[0], axis, t[1])};
          },
          .reference = [=](const std::vector<Array>& a) -> std::vector<Array> {
            const auto place = [&](const Dims& at) {
              const auto first = at.begin() + axis;
              const auto last = first + indices.rank();
              Dims from(at.begin(), first);
              from.push_back(index_at(a[1], Dims(first, last), x[axis]));
              from.insert(from.end(), last, at.end());
              return from;
            };
            return {moved(a[0], to, place)};
          }};
}

OpCase gather_elements_case(std::string name, Shape x, int axis, Shape indices) {
  return {.op = "gather_elements",
          .name = std::move(name),
          .inputs = {{.shape = x}, indices_into(indices, x[axis])},
          .run = [=](const std::vector<Tensor>& t) -> std::vector<Tensor> {
            return {gather_elements(t[0], axis, t[1])};
          },
          .reference = [=](const std::vector<Array>& a) -> std::vector<Array> {
            const auto place = [&](Dims at) {
              at[static_cast<size_t>(axis)] = index_at(a[1], at, x[axis]);
              return at;
            };
            return {moved(a[0], indices, place)};
          }};
}

// All indexed axes have the same extent here, so that one range of indices fits them.
OpCase gather_nd_case(std::string name, Shape x, Shape indices, int batch_dims) {
  const int depth = static_cast<int>(indices[-1]);
  std::vector<int64_t> extents(indices.extents().begin(), indices.extents().end() - 1);
  extents.insert(extents.end(), x.extents().begin() + batch_dims + depth, x.extents().end());
  const Shape to{std::span<const int64_t>(extents)};
  return {.op = "gather_nd",
          .name = std::move(name),
          .inputs = {{.shape = x}, indices_into(indices, x[batch_dims])},
          .run = [=](const std::vector<Tensor>& t) -> std::vector<Tensor> {
            return {gather_nd(t[0], t[1], batch_dims)};
          },
          .reference = [=](const std::vector<Array>& a) -> std::vector<Array> {
            const auto place = [&](const Dims& at) {
              const auto rest = at.begin() + indices.rank() - 1;
              Dims from(at.begin(), at.begin() + batch_dims);
              for (int d = 0; d < depth; ++d) {
                Dims index(at.begin(), rest);
                index.push_back(d);
                from.push_back(index_at(a[1], index, x[batch_dims + d]));
              }
              from.insert(from.end(), rest, at.end());
              return from;
            };
            return {moved(a[0], to, place)};
          }};
}

// Values 0.5 apart in a shuffled order: the differences of the test swap none of them.
std::vector<double> distinct(int64_t count) {
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) {
    values.push_back(0.5 * static_cast<double>(i * 37 % 101) - 20.0);
  }
  return values;
}

OpCase top_k_case(std::string name, Shape x, int64_t k, TopKOptions options) {
  const auto axis = static_cast<size_t>(x.axis(options.axis, "test"));
  Shape to = x;
  to.set(static_cast<int>(axis), k);
  return {
      .op = "top_k",
      .name = std::move(name),
      .inputs = {{.shape = x, .values = distinct(x.size())}},
      .run = [=](const std::vector<Tensor>& t) -> std::vector<Tensor> {
        return {top_k(t[0], k, options).values};
      },
      .reference = [=](const std::vector<Array>& a) -> std::vector<Array> {
        const auto place = [&](Dims at) {
          std::vector<double> line;
          const int64_t wanted = at[axis];
          for (at[axis] = 0; at[axis] < x[options.axis]; ++at[axis]) {
            line.push_back(a[0].values[static_cast<size_t>(reference::flat_of(dims_of(x), at))]);
          }
          auto order = reference::best_positions(line, k, options.largest);
          if (!options.sorted) {
            std::sort(order.begin(), order.end());
          }
          at[axis] = order[static_cast<size_t>(wanted)];
          return at;
        };
        return {moved(a[0], to, place)};
      }};
}

const bool kRegistered = add_cases({
    index_select_case("rows", {7, 17}, 0, {20}),
    index_select_case("middle", {2, 5, 3}, 1, {9}),
    index_select_case("last", {4, 33}, 1, {7}),
    index_select_case("matrix_of_indices", {6, 70}, 0, {2, 3}),
    index_select_case("one", {5, 4}, 0, {}),
    gather_elements_case("last", {5, 9}, 1, {5, 4}),
    gather_elements_case("last_one", {5, 9}, 1, {5, 1}),
    gather_elements_case("leading", {7, 5}, 0, {9, 5}),
    gather_elements_case("middle", {2, 4, 5}, 1, {2, 6, 5}),
    gather_elements_case("fewer", {4, 6, 5}, 1, {3, 7, 2}),
    gather_nd_case("elements", {4, 4}, {9, 2}, 0),
    gather_nd_case("rows", {5, 17}, {3, 2, 1}, 0),
    gather_nd_case("batch", {2, 5, 3}, {2, 4, 1}, 1),
    gather_nd_case("batch_of_elements", {2, 4, 4, 3}, {2, 3, 2}, 1),
    top_k_case("last", {3, 17}, 5, {}),
    top_k_case("smallest", {3, 17}, 5, {.largest = false}),
    top_k_case("axis_0", {9, 4}, 3, {.axis = 0}),
    top_k_case("middle", {2, 7, 3}, 7, {.axis = 1, .largest = false}),
    top_k_case("unsorted", {2, 33}, 6, {.sorted = false}),
    top_k_case("one", {4, 20}, 1, {}),
});

// The examples of the ONNX operators Gather, GatherElements, GatherND and TopK.
TEST(Gather, KnownExamples) {
  const Tensor x = Tensor::from(Floats{1, 2, 3, 4}, {2, 2});
  const Tensor indices = Tensor::from_ints(Ints{0, 0, 1, 0}, {2, 2});
  EXPECT_EQ(gather_elements(x, 1, indices).to_vector(), (Floats{1, 1, 4, 3}));
  const Tensor square = Tensor::from(Floats{1, 2, 3, 4, 5, 6, 7, 8, 9}, {3, 3});
  EXPECT_EQ(
      gather_elements(square, 0, Tensor::from_ints(Ints{-1, -2, 0, -2, 0, 0}, {2, 3})).to_vector(),
      (Floats{7, 5, 3, 4, 2, 3}));
  const Tensor ints = Tensor::from_ints(Ints{0, 1, 2, 3}, {2, 2});
  EXPECT_EQ(gather_nd(ints, Tensor::from_ints(Ints{0, 0, 1, 1}, {2, 2})).to_vector(),
            (Floats{0, 3}));
  const Tensor cube = Tensor::from_ints(Ints{0, 1, 2, 3, 4, 5, 6, 7}, {2, 2, 2});
  EXPECT_EQ(gather_nd(cube, Tensor::from_ints(Ints{1, 0}, {2, 1}), 1).to_vector(),
            (Floats{2, 3, 4, 5}));
  const Tensor line = Tensor::from(Floats{1, 1.2F, 2.3F, 3.4F, 4.5F, 5.7F}, {3, 2});
  EXPECT_EQ(index_select(line, 0, Tensor::from_ints(Ints{0, 1, 1, 2}, {2, 2})).to_vector(),
            (Floats{1, 1.2F, 2.3F, 3.4F, 2.3F, 3.4F, 4.5F, 5.7F}));
  const Tensor rows = Tensor::from(Floats{0, 1, 2, 3, 4, 5, 6, 7, 11, 10, 9, 8}, {3, 4});
  const TopK best = top_k(rows, 3);
  EXPECT_EQ(best.values.to_vector(), (Floats{3, 2, 1, 7, 6, 5, 11, 10, 9}));
  EXPECT_EQ(best.indices.to_vector(), (Floats{3, 2, 1, 3, 2, 1, 0, 1, 2}));
}

TEST(TopK, BreaksTiesByPositionAndPutsNanFirst) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor x = Tensor::from(Floats{2, -0.0F, 2, nan, 0.0F, 1}, {6});
  EXPECT_EQ(top_k(x, 6).indices.to_vector(), (Floats{3, 0, 2, 5, 1, 4}));
  EXPECT_EQ(top_k(x, 4, {.largest = false}).indices.to_vector(), (Floats{1, 4, 5, 0}));
  const Tensor ints = Tensor::from_ints(Ints{5, -7, 5, 100}, {4});
  EXPECT_EQ(top_k(ints, 2).indices.to_vector(), (Floats{3, 0}));
  EXPECT_EQ(top_k(ints, 1, {.largest = false}).values.to_vector(), (Floats{-7}));
  const Tensor bytes = Tensor::from_bytes(std::vector<int8_t>{-3, 7, -128}, {3});
  EXPECT_EQ(top_k(bytes, 2).values.to_vector(), (Floats{7, -3}));
}

// Sums over repeated picks are the same bits on one thread as on many, and exact in f32.
TEST(Gather, GradientsDoNotDependOnThreads) {
  const int before = num_threads();
  const int64_t picks = 5000;
  const RandomStream stream{3, 1};
  Ints indices;
  Floats values;
  for (uint64_t i = 0; i < static_cast<uint64_t>(picks); ++i) {
    indices.push_back(static_cast<int32_t>(i * i % 7));
  }
  for (uint64_t i = 0; i < static_cast<uint64_t>(picks) * 40; ++i) {
    values.push_back(stream.normal(i));
  }
  for (const DType dtype : {DType::f32, DType::bf16}) {
    std::vector<Floats> gradients;
    for (const int threads : {1, 2, 5}) {
      set_num_threads(threads);
      Tensor x = Tensor::zeros({7, 40}, dtype);
      Tape tape;
      const TapeScope scope(tape);
      tape.watch(x);
      const Tensor y = index_select(x, 0, Tensor::from_ints(indices, {picks}));
      tape.backward(y, Tensor::from(values, {picks, 40}, dtype));
      gradients.push_back(x.slot()->grad.to_vector());
    }
    EXPECT_EQ(gradients[0], gradients[1]);
    EXPECT_EQ(gradients[0], gradients[2]);
  }
  set_num_threads(before);
}

// A thousand times 1 is 1000 also in bf16, where adding one by one would stop at 256.
TEST(Gather, RepeatedPicksRoundOnce) {
  Tensor x = Tensor::zeros({3, 2}, DType::bf16);
  Tape tape;
  const TapeScope scope(tape);
  tape.watch(x);
  const Tensor y = index_select(x, 0, Tensor::from_ints(Ints(1000, 1), {1000}));
  tape.backward(y, Tensor::full(y.shape(), 1.0F, DType::bf16));
  EXPECT_EQ(x.slot()->grad.to_vector(), (Floats{0, 0, 1000, 1000, 0, 0}));
  Tensor z = Tensor::zeros({1, 3}, DType::bf16);
  tape.watch(z);
  const Tensor e = gather_elements(z, 1, Tensor::from_ints(Ints(1000, 2), {1, 1000}));
  tape.backward(e, Tensor::full(e.shape(), 1.0F, DType::bf16));
  EXPECT_EQ(z.slot()->grad.to_vector(), (Floats{0, 0, 1000}));
}

TEST(Gather, NamesPositionValueAndExtent) {
  const Tensor x = Tensor::zeros({4, 3});
  const auto ints = [](Ints values, Shape shape) { return Tensor::from_ints(values, shape); };
  EXPECT_EQ(error_of([&] {
              index_select(x, 0, ints({0, 4}, {2}));
            }),
            "[index_select] indices[1] is 4, expected -4 to 3: axis 0 of x [4,3] has 4 rows");
  EXPECT_EQ(error_of([&] {
              gather_elements(x, 1, ints({0, 1, 2, -4}, {2, 2}));
            }),
            "[gather_elements] indices[1,1] is -4, expected -3 to 2: axis 1 of x [4,3] has 3 rows");
  EXPECT_EQ(error_of([&] { gather_elements(x, 1, ints({0}, {1})); }),
            "[gather_elements] indices are [1], x is [4,3]: expected no larger extents but on axis "
            "1");
  EXPECT_EQ(error_of([&] {
              gather_nd(x, ints({3, 3}, {1, 2}));
            }),
            "[gather_nd] indices[0,1] is 3, expected -3 to 2: axis 1 of x [4,3] has 3 rows");
  EXPECT_EQ(error_of([&] {
              gather_nd(x, ints({1, 1, 1}, {1, 3}));
            }),
            "[gather_nd] indices are [1,3], x is [4,3]: expected 1 to 2 numbers per index");
  EXPECT_EQ(error_of([&] { index_select(x, 0, Tensor::zeros({2})); }),
            "[index_select] indices is f32 [2], expected i32");
  EXPECT_EQ(error_of([&] { top_k(x, 4); }), "[top_k] k is 4, expected 0 to 3: axis 1 of [4,3]");
}

}  // namespace
}  // namespace heed::testing
