#include "support/verify_check.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"

namespace heed::testing {
namespace {

constexpr int64_t kRows = 3;
constexpr int64_t kTokens = 14;

std::vector<int32_t> tokens_of(int64_t row, int64_t vocabulary) {
  const RandomStream random{23, static_cast<uint64_t>(row)};
  std::vector<int32_t> tokens;
  for (uint64_t i = 0; i < kTokens; ++i) {
    tokens.push_back(static_cast<int32_t>(random.bits(i) % static_cast<uint64_t>(vocabulary)));
  }
  return tokens;
}

using Rows = std::vector<std::vector<float>>;

// Rows of logits [N,V].
Rows rows_of(const Tensor& logits) {
  const Tensor wide = logits.to(DType::f32);
  Rows rows;
  for (int64_t i = 0; i < wide.dim(0); ++i) {
    const std::span<const float> row = wide.rows(i, i + 1).span<float>();
    rows.emplace_back(row.begin(), row.end());
  }
  return rows;
}

// What follows each token of a row that is alone, step by step.
Rows stepped(const VerifyCheck& check, int64_t row) {
  const auto state = check.start({row});
  Rows all;
  for (const int32_t token : tokens_of(row, check.vocabulary)) {
    const std::vector<int32_t> one{token};
    all.push_back(rows_of(check.step(Tensor::from_ints(one, {1}), *state)).front());
  }
  return all;
}

}  // namespace

void expect_verified_tokens_have_the_same_bits_as_steps(const VerifyCheck& check) {
  std::vector<Rows> expected;
  std::vector<std::vector<int32_t>> tokens;
  for (int64_t row = 0; row < kRows; ++row) {
    expected.push_back(stepped(check, row));
    tokens.push_back(tokens_of(row, check.vocabulary));
  }
  const auto state = check.start({0, 1, 2});
  std::vector<int64_t> at(kRows, 0);
  // Each row is shown so many tokens, the last of them wrong ones, which are taken back.
  const auto advance = [&](const std::vector<int64_t>& right, const std::vector<int64_t>& wrong) {
    std::vector<int64_t> lengths;
    for (size_t r = 0; r < kRows; ++r) {
      lengths.push_back(right[r] + wrong[r]);
    }
    const int64_t width = *std::max_element(lengths.begin(), lengths.end());
    std::vector<int32_t> shown(static_cast<size_t>(kRows * width), 3);
    for (size_t r = 0; r < kRows; ++r) {
      std::copy_n(tokens[r].begin() + at[r], right[r],
                  shown.begin() + static_cast<int64_t>(r) * width);
    }
    const Verified verified =
        check.model.verify(Tensor::from_ints(shown, {kRows, width}), lengths, *state);
    const Rows found = rows_of(verified.logits);
    EXPECT_EQ(verified.hidden.dim(0), std::ssize(found));
    size_t next = 0;
    for (size_t r = 0; r < kRows; ++r) {
      for (int64_t i = 0; i < right[r]; ++i) {
        EXPECT_EQ(found.at(next + static_cast<size_t>(i)),
                  expected[r][static_cast<size_t>(at[r] + i)])
            << "row " << r << " token " << at[r] + i;
      }
      next += static_cast<size_t>(lengths[r]);
      at[r] += right[r];
    }
    EXPECT_EQ(next, found.size());
    check.model.roll_back(*state, wrong);
  };
  advance({1, 1, 1}, {0, 0, 0});
  advance({3, 1, 2}, {0, 2, 7});
  advance({1, 4, 1}, {8, 0, 3});
  advance({8, 1, 1}, {0, 0, 0});
  advance({1, 7, 9}, {0, 0, 0});
  EXPECT_EQ(at, (std::vector<int64_t>{14, 14, 14}));
}

void expect_verified_tokens_have_the_same_bits_as_steps(const LanguageModel& model) {
  const auto* verifying = dynamic_cast<const VerifyingModel*>(&model);
  ASSERT_NE(verifying, nullptr);
  const std::vector<int64_t> prompts{10, 5, 7};
  expect_verified_tokens_have_the_same_bits_as_steps(
      {.model = *verifying,
       .vocabulary = model.vocabulary(),
       .start =
           [&](const std::vector<int64_t>& rows) {
             std::vector<int64_t> lengths;
             for (const int64_t row : rows) {
               lengths.push_back(prompts[static_cast<size_t>(row)]);
             }
             const int64_t width = *std::max_element(lengths.begin(), lengths.end());
             std::vector<int32_t> shown;
             for (const int64_t row : rows) {
               const std::vector<int32_t> prompt = tokens_of(row + kRows, model.vocabulary());
               shown.insert(shown.end(), prompt.begin(), prompt.begin() + width);
             }
             auto state = model.start();
             model.step(Tensor::from_ints(shown, {std::ssize(rows), width}), *state, lengths);
             return state;
           },
       .step =
           [&](const Tensor& tokens, DecodeState& state) {
             return model.step(tokens.reshape({tokens.size(), 1}), state);
           }});
}

}  // namespace heed::testing
