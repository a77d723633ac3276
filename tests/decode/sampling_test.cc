// Probabilities of the next token against a computation in double, and drawing from them.
#include "decode/sampling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "support/error_of.h"

namespace heed::testing {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// What the options say, step by step over sorted lists.
std::map<int32_t, double> expected(std::vector<double> logits, const std::set<int32_t>& seen,
                                   const SamplingOptions& options) {
  for (const int32_t id : seen) {
    double& logit = logits[static_cast<size_t>(id)];
    logit = logit > 0 ? logit / options.repetition_penalty : logit * options.repetition_penalty;
  }
  std::vector<std::pair<double, int32_t>> sorted;  // minus the weight, so that ids break ties
  for (size_t i = 0; i < logits.size(); ++i) {
    sorted.emplace_back(-std::exp(logits[i] / options.temperature), static_cast<int32_t>(i));
  }
  std::sort(sorted.begin(), sorted.end());
  if (options.top_k > 0 && options.top_k < std::ssize(sorted)) {
    sorted.resize(static_cast<size_t>(options.top_k));
  }
  const double least = -sorted.front().first * options.min_p;
  std::erase_if(sorted, [&](const auto& item) { return -item.first < least; });
  double total = 0.0;
  for (const auto& item : sorted) {
    total -= item.first;
  }
  std::map<int32_t, double> kept;
  double sum = 0.0;
  for (const auto& [weight, id] : sorted) {
    if (sum / total >= options.top_p) {
      break;
    }
    kept[id] = -weight;
    sum -= weight;
  }
  for (auto& item : kept) {
    item.second /= sum;
  }
  return kept;
}

std::vector<int32_t> ids_of(const std::vector<Candidate>& from) {
  std::vector<int32_t> ids;
  for (const Candidate& candidate : from) {
    ids.push_back(candidate.id);
  }
  return ids;
}

std::vector<int32_t> kept(const std::vector<float>& logits, const SamplingOptions& options,
                          const std::vector<int32_t>& seen = {}) {
  return ids_of(candidates(logits, seen, options));
}

TEST(Sampling, ProbabilitiesAreThoseOfTheDefinition) {
  std::vector<float> logits;
  for (int i = 0; i < 50; ++i) {
    logits.push_back(static_cast<float>((i * 37 % 50) - 20) * 0.17F);
  }
  const std::vector<int32_t> seen{3, 49, 3, 17, 3, 30};
  for (const SamplingOptions& options : std::vector<SamplingOptions>{
           {},
           {.temperature = 0.3F},
           {.temperature = 2.5F, .top_k = 7},
           {.top_p = 0.8F},
           {.min_p = 0.12F},
           {.repetition_penalty = 1.3F},
           {.temperature = 1.7F, .min_p = 0.3F},
           {.temperature = 0.8F, .top_k = 20, .top_p = 0.77F, .min_p = 0.05F},
           {.temperature = 0.7F, .top_k = 9, .top_p = 0.9F, .repetition_penalty = 0.6F}}) {
    const auto found = candidates(logits, seen, options);
    const auto wanted =
        expected({logits.begin(), logits.end()}, {seen.begin(), seen.end()}, options);
    ASSERT_EQ(found.size(), wanted.size());
    double total = 0.0;
    for (size_t i = 0; i < found.size(); ++i) {
      ASSERT_TRUE(wanted.contains(found[i].id));
      EXPECT_NEAR(found[i].probability, wanted.at(found[i].id), 1e-6);
      EXPECT_GE(i == 0 ? 1.0F : found[i - 1].probability, found[i].probability);
      total += found[i].probability;
    }
    EXPECT_NEAR(total, 1.0, 1e-6);
  }
}

// The same token as from all candidates: of narrow and flat distributions, in a large vocabulary.
TEST(Sampling, SamplesFromTheCandidates) {
  const RandomStream random{3, 1};
  std::set<int32_t> different;
  for (const float scale : {0.01F, 1.0F, 4.0F}) {
    std::vector<float> logits(3000);
    for (size_t i = 0; i < logits.size(); ++i) {
      logits[i] = scale * std::round(8.0F * random.normal(i)) / 8.0F;  // some are equal
    }
    const std::vector<int32_t> seen{1, 5, 2999};
    for (const SamplingOptions& options :
         std::vector<SamplingOptions>{{},
                                      {.temperature = 0.0F},
                                      {.temperature = 0.7F, .top_p = 0.5F},
                                      {.top_p = 0.99F},
                                      {.top_k = 300},
                                      {.top_k = 20, .top_p = 0.9F},
                                      {.min_p = 0.01F},
                                      {.temperature = 1.5F, .repetition_penalty = 1.2F}}) {
      const auto from = candidates(logits, seen, options);
      std::vector<float> each(logits.size(), 0.0F);
      for (const Candidate& candidate : from) {
        each[static_cast<size_t>(candidate.id)] = candidate.probability;
      }
      EXPECT_EQ(probabilities(logits, seen, options), each);
      for (uint64_t i = 0; i < 200; ++i) {
        const double uniform = i == 0 ? 0.0 : i == 1 ? 1.0 - 1e-9 : random.uniform(10'000 + i);
        const int32_t id = sample(logits, seen, options, uniform);
        ASSERT_EQ(id, draw(from, uniform)) << scale << " " << uniform;
        different.insert(id);
      }
    }
  }
  EXPECT_GT(different.size(), 1000U);
}

TEST(Sampling, CutsOff) {
  // Probabilities 0.5, 0.25, 0.125 and 0.125, exactly.
  const float half = std::log(2.0F);
  const std::vector<float> logits{0.0F, 2 * half, half, 0.0F};
  using Ids = std::vector<int32_t>;
  EXPECT_EQ(kept(logits, {}), (Ids{1, 2, 0, 3}));
  EXPECT_EQ(kept(logits, {.top_k = 1}), (Ids{1}));
  EXPECT_EQ(kept(logits, {.top_k = 3}), (Ids{1, 2, 0}));  // of equals the first
  EXPECT_EQ(kept(logits, {.top_k = 4}), (Ids{1, 2, 0, 3}));
  EXPECT_EQ(kept(logits, {.top_k = 1'000'000}), (Ids{1, 2, 0, 3}));
  EXPECT_EQ(kept(logits, {.top_p = 1e-6F}), (Ids{1}));
  EXPECT_EQ(kept(logits, {.top_p = 0.49F}), (Ids{1}));
  EXPECT_EQ(kept(logits, {.top_p = 0.51F}), (Ids{1, 2}));
  EXPECT_EQ(kept(logits, {.top_p = 0.80F}), (Ids{1, 2, 0}));
  EXPECT_EQ(kept(logits, {.top_p = 0.99F}), (Ids{1, 2, 0, 3}));
  EXPECT_EQ(kept(logits, {.min_p = 1.0F}), (Ids{1}));
  EXPECT_EQ(kept(logits, {.min_p = 0.51F}), (Ids{1}));
  EXPECT_EQ(kept(logits, {.min_p = 0.49F}), (Ids{1, 2}));
  EXPECT_EQ(kept(logits, {.min_p = 0.24F}), (Ids{1, 2, 0, 3}));
  // Twice as hot, the shares are the roots: 0.707 and 0.5.
  EXPECT_EQ(kept(logits, {.temperature = 2.0F, .min_p = 0.6F}), (Ids{1, 2}));
  EXPECT_EQ(kept(logits, {.temperature = 2.0F, .min_p = 0.72F}), (Ids{1}));
}

TEST(Sampling, TiesAreKeptInTheOrderOfIds) {
  const std::vector<float> logits(9, -3.25F);
  EXPECT_EQ(kept(logits, {.top_k = 4}), (std::vector<int32_t>{0, 1, 2, 3}));
  EXPECT_EQ(kept(logits, {.top_p = 0.5F}).size(), 5U);
  EXPECT_EQ(kept(logits, {.min_p = 1.0F}).size(), 9U);
  EXPECT_EQ(kept(logits, {.temperature = 0.0F}), (std::vector<int32_t>{0}));
}

TEST(Sampling, TemperatureZeroIsTheLikeliest) {
  const std::vector<float> logits{-1.0F, 3.0F, 2.5F, 3.0F};
  const auto found = candidates(logits, {}, {.temperature = 0.0F, .top_k = 3, .top_p = 0.5F});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].id, 1);
  EXPECT_EQ(found[0].probability, 1.0F);
  const std::vector<int32_t> seen{1, 3};
  EXPECT_EQ(kept(logits, {.temperature = 0.0F, .repetition_penalty = 1.5F}, seen),
            (std::vector<int32_t>{2}));
  // Nearly zero is nearly the same.
  EXPECT_EQ(candidates(std::vector<float>{1.0F, 1.001F}, {}, {.temperature = 1e-40F}).front().id,
            1);
}

TEST(Sampling, PenaltyCountsATokenOnce) {
  const std::vector<float> logits{2.0F, -2.0F, 0.0F};
  const std::vector<int32_t> once{0, 1, 2};
  const std::vector<int32_t> often{2, 0, 1, 0, 0, 1, 2};
  const SamplingOptions options{.repetition_penalty = 2.0F};
  const auto a = candidates(logits, once, options);
  const auto b = candidates(logits, often, options);
  ASSERT_EQ(a.size(), 3U);
  EXPECT_EQ(ids_of(a), (std::vector<int32_t>{0, 2, 1}));  // 1, 0 and -4
  EXPECT_NEAR(a[0].probability / a[1].probability, std::exp(1.0), 1e-5);
  EXPECT_NEAR(a[1].probability / a[2].probability, std::exp(4.0), 1e-3);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(a[i].probability, b[i].probability);
  }
  const std::vector<int32_t> beyond{3};
  EXPECT_EQ(error_of([&] { candidates(logits, beyond, options); }),
            "[sampling] token 3 was seen, expected 0 to 2");
}

TEST(Sampling, WhatIsNotFiniteIsNeverDrawn) {
  const std::vector<float> logits{kNan, -kInfinity, 1.0F, kInfinity, 1.5F, kNan};
  for (const float temperature : {0.0F, 1.0F}) {
    const auto found = candidates(logits, {}, {.temperature = temperature});
    EXPECT_EQ(found.front().id, 4) << temperature;
    EXPECT_EQ(found.size(), temperature == 0.0F ? 1U : 2U);
    for (const std::vector<float>& none :
         {std::vector<float>{kNan, kNan}, {-kInfinity, -kInfinity}, {}}) {
      EXPECT_EQ(error_of([&] { candidates(none, {}, {.temperature = temperature}); }),
                "[sampling] no logit is finite: the model's weights may be damaged");
    }
  }
  // Far apart: the probability of the second is 0, and it is not drawn either.
  const auto far = candidates(std::vector<float>{-3e38F, 3e38F}, {}, {});
  EXPECT_EQ(far.front().id, 1);
  EXPECT_EQ(far.front().probability, 1.0F);
  EXPECT_EQ(draw(far, std::nextafter(1.0, 0.0)), 1);
  EXPECT_EQ(draw(std::vector<Candidate>{{5, 0.999F}, {6, 0.0F}}, 0.9995), 5);
}

TEST(Sampling, DrawsAsOftenAsLikely) {
  const std::vector<Candidate> from{{7, 0.5F}, {2, 0.25F}, {9, 0.125F}, {1, 0.125F}};
  std::map<int32_t, int> counts;
  constexpr int kGrid = 8000;
  for (int i = 0; i < kGrid; ++i) {
    ++counts[draw(from, static_cast<double>(i) / kGrid)];
  }
  EXPECT_EQ(counts, (std::map<int32_t, int>{{7, 4000}, {2, 2000}, {9, 1000}, {1, 1000}}));
  EXPECT_EQ(draw(from, 0.0), 7);
  EXPECT_EQ(draw(from, 0.5), 2);
  EXPECT_EQ(draw(from, std::nextafter(1.0, 0.0)), 1);
  EXPECT_EQ(error_of([] { draw({}, 0.5); }), "[sampling] there is nothing to draw from");
}

TEST(Sampling, OptionsOutOfRange) {
  const auto error_with = [](const SamplingOptions& options) {
    return error_of([&] { check_sampling(options); });
  };
  EXPECT_EQ(error_with({}), "no error");
  EXPECT_EQ(error_with({.temperature = 0.0F, .top_k = 40, .top_p = 0.01F, .min_p = 1.0F}),
            "no error");
  EXPECT_EQ(error_with({.temperature = -1.0F}), "[sampling] temperature is -1, expected 0 or more");
  EXPECT_EQ(error_with({.temperature = kNan}), "[sampling] temperature is nan, expected 0 or more");
  EXPECT_EQ(error_with({.temperature = kInfinity}),
            "[sampling] temperature is inf, expected 0 or more");
  EXPECT_EQ(error_with({.top_k = -1}), "[sampling] top_k is -1, expected 0 or more");
  EXPECT_EQ(error_with({.top_p = 0.0F}),
            "[sampling] top_p is 0, expected more than 0 and at most 1");
  EXPECT_EQ(error_with({.top_p = 1.5F}),
            "[sampling] top_p is 1.5, expected more than 0 and at most 1");
  EXPECT_EQ(error_with({.top_p = kNan}),
            "[sampling] top_p is nan, expected more than 0 and at most 1");
  EXPECT_EQ(error_with({.min_p = -0.5F}), "[sampling] min_p is -0.5, expected 0 to 1");
  EXPECT_EQ(error_with({.min_p = kNan}), "[sampling] min_p is nan, expected 0 to 1");
  EXPECT_EQ(error_with({.repetition_penalty = 0.0F}),
            "[sampling] repetition_penalty is 0, expected more than 0");
  EXPECT_EQ(error_with({.repetition_penalty = kInfinity}),
            "[sampling] repetition_penalty is inf, expected more than 0");
}

}  // namespace
}  // namespace heed::testing
