// The cache of keys and values: what is appended stands where it belongs, in rows of equal and of
// different lengths, while it grows and while rows are picked.
#include "nn/kv_cache.h"

#include <gtest/gtest.h>

#include "support/error_of.h"

namespace heed::testing {
namespace {

constexpr int64_t kHeads = 2;
constexpr int64_t kDim = 3;
constexpr int64_t kEach = kHeads * kDim;

// Every value tells its row, position and part; `first` is the position of each row's first.
float value_of(int64_t row, int64_t position, int64_t part) {
  return static_cast<float>(row * 1000 + position * 3 + part);
}
Tensor qkv_of(const std::vector<int64_t>& rows, const std::vector<int64_t>& first, int64_t steps) {
  const auto count = std::ssize(rows);
  std::vector<float> values;
  for (size_t r = 0; r < rows.size(); ++r) {
    for (int64_t i = 0; i < steps * 3; ++i) {
      values.insert(values.end(), static_cast<size_t>(kEach),
                    value_of(rows[r], first[r] + i / 3, i % 3));
    }
  }
  return Tensor::from(values, {count, steps, 3, kHeads, kDim});
}

// That row r holds the keys and values of the given row, up to its length.
void expect_rows(const KvCache& cache, const std::vector<int64_t>& rows,
                 const std::vector<int64_t>& lengths) {
  ASSERT_EQ(cache.k.dim(0), std::ssize(rows));
  EXPECT_EQ(cache.length, *std::max_element(lengths.begin(), lengths.end()));
  EXPECT_LE(cache.length, cache.k.dim(1));
  for (size_t r = 0; r < rows.size(); ++r) {
    EXPECT_EQ(cache.lengths.empty() ? cache.length : cache.lengths[r], lengths[r]);
    for (int64_t i = 0; i < lengths[r] * kEach; ++i) {
      const auto at = static_cast<int64_t>(r) * cache.k.dim(1) * kEach + i;
      ASSERT_EQ(cache.k.data<float>()[at], value_of(rows[r], i / kEach, 1)) << r << " " << i;
      ASSERT_EQ(cache.v.data<float>()[at], value_of(rows[r], i / kEach, 2)) << r << " " << i;
    }
  }
}

TEST(KvCache, RowsOfTheSameLength) {
  KvCache cache;
  cache.append(qkv_of({0, 1, 2}, {0, 0, 0}, 5));
  expect_rows(cache, {0, 1, 2}, {5, 5, 5});
  cache.append(qkv_of({0, 1, 2}, {5, 5, 5}, 1));
  cache.select(std::vector<int64_t>{2, 0});
  expect_rows(cache, {2, 0}, {6, 6});
  for (int64_t i = 6; i < 200; ++i) {  // it grows on the way
    cache.append(qkv_of({2, 0}, {i, i}, 1));
  }
  expect_rows(cache, {2, 0}, {200, 200});
}

TEST(KvCache, RowsOfDifferentLengths) {
  KvCache cache;
  cache.append(qkv_of({0, 1, 2, 3}, {0, 0, 0, 0}, 7));  // padded
  std::vector<int64_t> lengths{7, 2, 1, 4};
  std::vector<int64_t> rows{0, 1, 2, 3};
  cache.lengths = lengths;
  const auto append = [&](int times) {
    for (int i = 0; i < times; ++i) {
      cache.append(qkv_of(rows, lengths, 1));
      for (int64_t& length : lengths) {
        ++length;
      }
    }
    expect_rows(cache, rows, lengths);
  };
  append(3);
  cache.select(std::vector<int64_t>{3, 1, 1});  // without the longest
  rows = {3, 1, 1};
  lengths = {7, 5, 5};
  expect_rows(cache, rows, lengths);
  append(100);
  cache.select(std::vector<int64_t>{2, 0, 1, 0});
  rows = {1, 3, 1, 3};
  lengths = {105, 107, 105, 107};
  append(70);
}

// Several at once, of which each row takes its own number, behind rows of any length.
TEST(KvCache, RowsTakeSeveralPositionsEach) {
  KvCache cache;
  const std::vector<int64_t> rows{0, 1, 2};
  std::vector<int64_t> lengths{0, 0, 0};
  const auto append = [&](int64_t steps, const std::vector<int32_t>& counts) {
    cache.expect(counts.empty() ? Tensor() : Tensor::from_ints(counts, {3}));
    cache.append(qkv_of(rows, lengths, steps));
    EXPECT_EQ(cache.newest, lengths);
    for (size_t r = 0; r < lengths.size(); ++r) {
      lengths[r] += counts.empty() ? steps : counts[r];
    }
    expect_rows(cache, rows, lengths);
  };
  append(4, {4, 1, 2});
  append(3, {});
  append(5, {1, 5, 3});
  append(2, {2, 0, 1});
  for (int i = 0; i < 40; ++i) {  // it grows on the way
    append(4, {1 + i % 4, 4 - i % 4, 3});
  }
  append(2, {});
  EXPECT_EQ(error_of([&] {
              cache.expect(Tensor::from_ints(std::vector<int32_t>{1, 1}, {2}));
              cache.append(qkv_of(rows, lengths, 1));
            }),
            "[cache] 2 lengths for 3 rows, expected 3");
}

TEST(KvCache, RollsBackInPlace) {
  KvCache cache;
  cache.append(qkv_of({0, 1, 2}, {0, 0, 0}, 6));
  const void* place = cache.k.raw();
  cache.roll_back(std::vector<int64_t>{0, 3, 1});
  expect_rows(cache, {0, 1, 2}, {6, 3, 5});
  cache.append(qkv_of({0, 1, 2}, {6, 3, 5}, 4));
  expect_rows(cache, {0, 1, 2}, {10, 7, 9});
  cache.roll_back(std::vector<int64_t>{4, 1, 3});
  expect_rows(cache, {0, 1, 2}, {6, 6, 6});
  EXPECT_TRUE(cache.lengths.empty());
  EXPECT_EQ(cache.k.raw(), place);
  // A copy keeps what the other takes back and writes over.
  const KvCache copy = cache;
  cache.roll_back(std::vector<int64_t>{2, 2, 2});
  cache.append(qkv_of({7, 8, 9}, {4, 4, 4}, 2));
  expect_rows(copy, {0, 1, 2}, {6, 6, 6});
  EXPECT_EQ(error_of([&] {
              cache.roll_back(std::vector<int64_t>{0, 7, 0});
            }),
            "[cache] row 1 is to lose 7 positions, expected 0 to 6");
  EXPECT_EQ(error_of([&] { cache.roll_back(std::vector<int64_t>{1}); }),
            "[cache] 1 rows to roll back, the cache holds 3");
}

TEST(KvCache, JoinedRows) {
  KvCache cache;
  KvCache more;
  cache.join(more);
  EXPECT_FALSE(cache.k.defined());
  more.append(qkv_of({5, 6}, {0, 0}, 3));
  cache.join(more);
  expect_rows(cache, {5, 6}, {3, 3});
  KvCache longer;
  longer.append(qkv_of({7}, {0}, 100));
  cache.join(longer);
  expect_rows(cache, {5, 6, 7}, {3, 3, 100});
  cache.append(qkv_of({5, 6, 7}, {3, 3, 100}, 1));
  KvCache ragged;
  ragged.append(qkv_of({8, 9}, {0, 0}, 6));
  ragged.lengths = {2, 6};
  cache.join(ragged);
  expect_rows(cache, {5, 6, 7, 8, 9}, {4, 4, 101, 2, 6});
  cache.append(qkv_of({5, 6, 7, 8, 9}, {4, 4, 101, 2, 6}, 1));
  expect_rows(cache, {5, 6, 7, 8, 9}, {5, 5, 102, 3, 7});
  expect_rows(longer, {7}, {100});
  // Where no row is left, nothing of it counts.
  KvCache empty = longer;
  empty.select({});
  empty.join(ragged);
  expect_rows(empty, {8, 9}, {2, 6});
  // Rows that turn out equal are as if they had begun together.
  KvCache same;
  same.append(qkv_of({1}, {0}, 3));
  more.join(same);
  EXPECT_TRUE(more.lengths.empty());
  more.append(qkv_of({5, 6, 1}, {3, 3, 3}, 2));
  expect_rows(more, {5, 6, 1}, {5, 5, 5});
  KvCache other;
  other.append(Tensor::zeros({1, 1, 3, kHeads, kDim + 1}));
  EXPECT_EQ(error_of([&] { more.join(other); }),
            "[cache] f32 [3,64,2,3] cannot be joined with f32 [1,64,2,4]");
}

// Rows leave and come while the others stay where they are.
TEST(KvCache, RowsThatStayAreNotMoved) {
  KvCache cache;
  cache.append(qkv_of({0, 1, 2, 3}, {0, 0, 0, 0}, 5));
  const void* place = cache.k.raw();
  cache.select(std::vector<int64_t>{0, 3, 2});  // the last comes into the gap
  expect_rows(cache, {0, 3, 2}, {5, 5, 5});
  KvCache more;
  more.append(qkv_of({7}, {0}, 2));
  cache.join(more);
  expect_rows(cache, {0, 3, 2, 7}, {5, 5, 5, 2});
  cache.append(qkv_of({0, 3, 2, 7}, {5, 5, 5, 2}, 1));
  cache.select(std::vector<int64_t>{3, 1});  // 3 into the place of 0: from behind those left
  expect_rows(cache, {7, 3}, {3, 6});
  EXPECT_EQ(cache.k.raw(), place);
  cache.select(std::vector<int64_t>{1, 0});  // they change places
  expect_rows(cache, {3, 7}, {6, 3});
  EXPECT_NE(cache.k.raw(), place);
  // Room for twice as many at once.
  cache.join(more);
  place = cache.k.raw();
  more.join(KvCache(more));
  expect_rows(cache, {3, 7, 7}, {6, 3, 2});
  KvCache fourth;
  fourth.append(qkv_of({9}, {0}, 4));
  cache.join(fourth);
  expect_rows(cache, {3, 7, 7, 9}, {6, 3, 2, 4});
  EXPECT_EQ(cache.k.raw(), place);
}

TEST(KvCache, ACopyKeepsItsRows) {
  KvCache cache;
  cache.append(qkv_of({0, 1, 2}, {0, 0, 0}, 5));
  const KvCache copy = cache;
  cache.select(std::vector<int64_t>{2});
  KvCache more;
  more.append(qkv_of({8}, {0}, 5));
  cache.join(more);
  cache.append(qkv_of({2, 8}, {5, 5}, 1));
  expect_rows(cache, {2, 8}, {6, 6});
  expect_rows(copy, {0, 1, 2}, {5, 5, 5});
}

TEST(KvCache, Errors) {
  KvCache cache;
  EXPECT_NO_THROW(cache.select(std::vector<int64_t>{4, 7}));  // it is still empty
  cache.append(qkv_of({0, 1}, {0, 0}, 3));
  EXPECT_EQ(error_of([&] {
              cache.select(std::vector<int64_t>{0, 2});
            }),
            "[cache] row 2 selected, expected 0 to 1");
  EXPECT_NE(error_of([&] { cache.append(qkv_of({0}, {3}, 1)); }), "no error");
  cache.lengths = {3, 2};
  EXPECT_EQ(error_of([&] {
              cache.append(Tensor::zeros({2, 1, 2, kHeads, kDim}));
            }),
            "[cache] qkv is f32 [2,1,2,2,3], expected [B,T,3,H,D]");
  expect_rows(cache, {0, 1}, {3, 2});
}

}  // namespace
}  // namespace heed::testing
