#include "ops/shape/embedding.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "support/op_case.h"

namespace heed::testing {
namespace {

OpCase embedding_case(std::string name, std::vector<double> ids, Shape shape, int64_t rows,
                      int64_t width, float scale) {
  return {
      .op = "embedding",
      .name = std::move(name),
      .inputs = {{.shape = shape, .kind = Kind::integer, .values = ids}, {.shape = {rows, width}}},
      .run =
          [=](const std::vector<Tensor>& t) {
            return std::vector<Tensor>{embedding(t[0], t[1], scale)};
          },
      .reference =
          [=](const std::vector<Array>& a) {
            std::vector<int64_t> extents(shape.extents().begin(), shape.extents().end());
            extents.push_back(width);
            Array y{Shape(extents), {}};
            for (const double id : ids) {
              for (int64_t c = 0; c < width; ++c) {
                y.values.push_back(scale * a[1].values[static_cast<size_t>(id) * width + c]);
              }
            }
            return std::vector<Array>{y};
          }};
}

const bool kRegistered = add_cases({
    embedding_case("repeated", {0, 3, 3, 1, 0, 3}, {2, 3}, 5, 7, 1.0F),
    embedding_case("scaled", {4, 4}, {2}, 5, 33, 2.5F),
});

TEST(Embedding, NamesTheIndex) {
  const std::vector<int32_t> ids{0, 5};
  try {
    embedding(Tensor::from_ints(ids, {2}), Tensor::zeros({5, 2}));
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "[embedding] index 5 at position 1, expected 0 to 4");
  }
}

}  // namespace
}  // namespace heed::testing
