// Learning rates against values worked out by hand.
#include "train/schedule.h"

#include <gtest/gtest.h>

#include "support/error_of.h"

namespace heed::testing {
namespace {

double rate_at(const ScheduleConfig& config, int64_t step, int64_t total_steps = 0) {
  return learning_rate(config, step, total_steps, 512);
}

// 512^-0.5 = 0.04419417382; 4000^-1.5 = 3.952847075e-6; 4000^-0.5 = 0.01581138830.
TEST(Schedule, NoamIsThePapers) {
  const ScheduleConfig config{.kind = "noam", .rate = 1.0, .warmup = 4000};
  EXPECT_NEAR(rate_at(config, 1), 1.746928107e-7, 1e-16);
  EXPECT_NEAR(rate_at(config, 4000), 6.987712430e-4, 1e-13);
  EXPECT_NEAR(rate_at(config, 40000), 2.209708691e-4, 1e-13);
  const ScheduleConfig twice{.kind = "noam", .rate = 2.0, .warmup = 4000};
  EXPECT_NEAR(rate_at(twice, 4000), 1.397542486e-3, 1e-12);
  const ScheduleConfig cold{.kind = "noam", .rate = 1.0, .warmup = 0};
  EXPECT_NEAR(rate_at(cold, 1), 0.04419417382, 1e-11);
}

TEST(Schedule, InverseSqrt) {
  const ScheduleConfig config{
      .kind = "inverse_sqrt", .rate = 7e-4, .warmup = 4000, .final_rate = 1e-5};
  EXPECT_NEAR(rate_at(config, 1), 1.75e-7, 1e-18);
  EXPECT_NEAR(rate_at(config, 2000), 3.5e-4, 1e-15);
  EXPECT_NEAR(rate_at(config, 4000), 7e-4, 1e-15);
  EXPECT_NEAR(rate_at(config, 16000), 3.5e-4, 1e-15);
  EXPECT_NEAR(rate_at(config, 400000), 7e-5, 1e-15);
  EXPECT_EQ(rate_at(config, 400000000), 1e-5);
}

TEST(Schedule, Exponential) {
  const ScheduleConfig config{.kind = "exponential",
                              .rate = 0.8,
                              .warmup = 10,
                              .decay = 0.25,
                              .decay_steps = 100,
                              .final_rate = 0.01};
  EXPECT_NEAR(rate_at(config, 5), 0.4, 1e-15);
  EXPECT_NEAR(rate_at(config, 10), 0.8, 1e-15);
  EXPECT_NEAR(rate_at(config, 60), 0.4, 1e-15);
  EXPECT_NEAR(rate_at(config, 110), 0.2, 1e-15);
  EXPECT_NEAR(rate_at(config, 210), 0.05, 1e-15);
  EXPECT_EQ(rate_at(config, 1000), 0.01);
}

TEST(Schedule, Cosine) {
  ScheduleConfig config{.kind = "cosine", .rate = 1.0, .warmup = 100, .final_rate = 0.1};
  EXPECT_NEAR(rate_at(config, 1, 1100), 0.01, 1e-15);
  EXPECT_NEAR(rate_at(config, 100, 1100), 1.0, 1e-15);
  // cos(pi / 3) = 0.5 and cos(pi / 2) = 0.
  EXPECT_NEAR(rate_at(config, 400, 1000), 0.1 + 0.9 * 0.75, 1e-15);
  EXPECT_NEAR(rate_at(config, 600, 1100), 0.55, 1e-15);
  EXPECT_NEAR(rate_at(config, 1100, 1100), 0.1, 1e-15);
  EXPECT_EQ(rate_at(config, 5000, 1100), 0.1);
  config.total_steps = 300;  // goes before the trainer's
  EXPECT_EQ(rate_at(config, 300, 1100), 0.1);
}

TEST(Schedule, ConstantAfterWarmUp) {
  const ScheduleConfig config{.kind = "constant", .rate = 0.3, .warmup = 3};
  EXPECT_NEAR(rate_at(config, 1), 0.1, 1e-15);
  EXPECT_EQ(rate_at(config, 3), 0.3);
  EXPECT_EQ(rate_at(config, 1000000), 0.3);
  const ScheduleConfig at_once{.kind = "constant", .rate = 0.3, .warmup = 0};
  EXPECT_EQ(rate_at(at_once, 1), 0.3);
}

TEST(Schedule, RisesDuringWarmUpAndThenFalls) {
  for (const char* kind : {"noam", "inverse_sqrt", "exponential", "cosine"}) {
    for (const int64_t warmup : {0, 1, 50}) {
      const ScheduleConfig config{.kind = kind, .rate = 0.5, .warmup = warmup};
      for (int64_t step = 1; step < 500; ++step) {
        SCOPED_TRACE(::testing::Message() << kind << " warmup " << warmup << " step " << step);
        const double here = rate_at(config, step, 500);
        const double next = rate_at(config, step + 1, 500);
        ASSERT_GT(here, 0.0);
        ASSERT_TRUE(step < warmup ? next > here : next < here) << here << " then " << next;
      }
    }
  }
}

TEST(Schedule, SaysWhatIsMissing) {
  const ScheduleConfig cosine{.kind = "cosine", .rate = 0.5, .warmup = 10};
  expect_error([&] { rate_at(cosine, 1); },
               "[schedule] total_steps is 0, expected 1 or more for a cosine");
  expect_error([] { learning_rate({}, 1, 100, 0); }, "[schedule] width is 0, expected 1 or more");
  expect_error([] { rate_at({}, 0); }, "[schedule] step is 0, expected 1 or more");
  const ScheduleConfig rising{.kind = "cosine", .rate = 0.5, .final_rate = 0.75};
  expect_error([&] { rate_at(rising, 1, 100); },
               "[schedule] final_rate is 0.75, expected at most rate, 0.5");
  ScheduleConfig config;
  expect_error(
      [&] {
        config::read(config, Json{{"kind", "linear"}}, "recipe.toml", "schedule");
      },
      "[recipe.toml] schedule.kind is \"linear\", expected one of: noam, inverse_sqrt, "
      "exponential, cosine, constant");
}

}  // namespace
}  // namespace heed::testing
