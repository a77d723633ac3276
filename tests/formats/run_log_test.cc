#include "formats/run_log.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>

#include "base/file.h"
#include "support/text_files.h"

namespace heed {
namespace {

using testing::TemporaryFolder;

TEST(RunLog, GivesBackWhatWasAppended) {
  const TemporaryFolder folder;
  const std::filesystem::path run = folder / "";
  append_to_run_log(run, LoggedStep{.step = 50,
                                    .epoch = 0.5,
                                    .loss = 6.25,
                                    .learning_rate = 1e-3,
                                    .gradient_norm = 2.0,
                                    .tokens_per_second = 1e4,
                                    .seconds = 12.5});
  append_to_run_log(run, LoggedSkip{.step = 51, .skipped = 1});
  append_to_run_log(run, LoggedValidation{.step = 60, .loss = 5.0, .seconds = 14.0});
  append_to_run_log(run, LoggedValidation{.step = 100,
                                          .loss = 4.5,
                                          .metric = "bleu",
                                          .value = 12.5,
                                          .example = "a -> b",
                                          .seconds = 20.0});
  const RunLog log = read_run_log(run);
  ASSERT_EQ(log.steps.size(), 1U);
  EXPECT_EQ(log.steps[0].step, 50);
  EXPECT_EQ(log.steps[0].loss, 6.25);
  EXPECT_EQ(log.steps[0].learning_rate, 1e-3);
  EXPECT_EQ(log.steps[0].seconds, 12.5);
  ASSERT_EQ(log.skips.size(), 1U);
  EXPECT_EQ(log.skips[0].step, 51);
  ASSERT_EQ(log.validations.size(), 2U);
  EXPECT_EQ(log.validations[0].metric, "");
  EXPECT_EQ(log.validations[1].metric, "bleu");
  EXPECT_EQ(log.validations[1].value, 12.5);
  EXPECT_EQ(log.validations[1].example, "a -> b");
  EXPECT_EQ(log.metric(), "bleu");
}

TEST(RunLog, LeavesOutALineThatIsNotWhole) {
  const TemporaryFolder folder;
  const std::filesystem::path run = folder / "";
  append_to_run_log(run, LoggedStep{.step = 1, .loss = 2.0});
  std::ofstream(run_log_file(run), std::ios::app) << "{\"step\":2,\"lo";
  EXPECT_EQ(read_run_log(run).steps.size(), 1U);
  EXPECT_TRUE(read_run_log(folder / "nothing").steps.empty());
}

TEST(RunLog, ALossThatIsNotFiniteComesBackAsNotANumber) {
  const TemporaryFolder folder;
  const std::filesystem::path run = folder / "";
  append_to_run_log(run,
                    LoggedValidation{.step = 1, .loss = std::numeric_limits<double>::infinity()});
  EXPECT_TRUE(std::isnan(read_run_log(run).validations.at(0).loss));
}

TEST(RunLog, TruncatingDropsWhatComesAfterTheStep) {
  const TemporaryFolder folder;
  const std::filesystem::path run = folder / "";
  for (const int64_t step : {10, 20, 30}) {
    append_to_run_log(run, LoggedStep{.step = step, .loss = 1.0});
  }
  const std::string before = read_file(run_log_file(run));
  truncate_run_log(run, 20);
  const std::string after = read_file(run_log_file(run));
  EXPECT_TRUE(before.starts_with(after));
  EXPECT_EQ(read_run_log(run).steps.back().step, 20);
}

}  // namespace
}  // namespace heed
