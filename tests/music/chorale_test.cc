#include "music/chorale.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "support/error_of.h"
#include "support/text_files.h"

namespace heed {
namespace {

using testing::error_of;

std::filesystem::path data_folder() {
  const char* root = std::getenv("HEED_DATA");
  return std::filesystem::path(root != nullptr ? root : "../shared/data") / "jsb-chorales";
}

#define HEED_SKIP_WITHOUT_CHORALES()                                  \
  if (!std::filesystem::exists(data_folder())) {                      \
    GTEST_SKIP() << "skipped: no data at " << data_folder().string(); \
  }                                                                   \
  static_assert(true)

int64_t steps_of(const std::vector<Chorale>& pieces) {
  int64_t steps = 0;
  for (const Chorale& piece : pieces) {
    steps += static_cast<int64_t>(piece.size());
  }
  return steps;
}

const Chorale kShort = {{72, 67, 64, 48}, {72, 67, -1, 50}, {74, 67, -1, 50}, {74, 67, 64, -1}};

TEST(Chorale, TokensGoFromSopranoToBassStepByStep) {
  const std::vector<int32_t> ids = encode_chorale(kShort);
  EXPECT_EQ(ids, (std::vector<int32_t>{72, 67, 64, 48, 72, 67, 128, 50, 74, 67, 128, 50, 74, 67, 64,
                                       128}));
  EXPECT_EQ(decode_chorale(ids), kShort);
  EXPECT_EQ(decode_chorale(std::span(ids).first(5)), (Chorale{{72, 67, 64, 48}, {72, -1, -1, -1}}));
  EXPECT_TRUE(decode_chorale({}).empty());
  EXPECT_EQ(error_of([] { decode_chorale(std::vector<int32_t>{129}); }),
            "[chorale] token 129, expected 0 to 128");
  EXPECT_EQ(error_of([] {
              encode_chorale({{1, 2, 3, 128}});
            }),
            "[chorale] pitch 128, expected -1 to 127");
}

TEST(Chorale, EqualPitchesAreHeld) {
  // At 60 quarters a minute a sixteenth is a quarter of a second.
  const std::vector<Note> expected = {{0.0, 0.5, 72, 80, 0},   {0.0, 1.0, 67, 80, 1},
                                      {0.0, 0.25, 64, 80, 2},  {0.0, 0.25, 48, 80, 3},
                                      {0.25, 0.75, 50, 80, 3}, {0.5, 1.0, 74, 80, 0},
                                      {0.75, 1.0, 64, 80, 2}};
  EXPECT_EQ(chorale_notes(kShort, 60.0), expected);
  EXPECT_EQ(error_of([] { chorale_notes(kShort, 0.0); }),
            "[chorale] 0 quarter notes per minute, expected a positive number");
}

TEST(Chorale, Json) {
  const ChoraleSplits splits =
      parse_chorales(R"({"train": [[[60, 55.0], []]], "valid": [], "test": [[]]})");
  EXPECT_EQ(splits.train, (std::vector<Chorale>{{{60, 55, -1, -1}, {-1, -1, -1, -1}}}));
  EXPECT_TRUE(splits.valid.empty());
  EXPECT_EQ(splits.test, std::vector<Chorale>(1));
  const auto error = [](const std::string& step) {
    return error_of([&] {
      parse_chorales(R"({"valid": [], "test": [], "train": [[], [[60], )" + step + "]]}", "j");
    });
  };
  EXPECT_EQ(error("[1, 2, 3, 4, 5]"), "[chorale] j: train 1, step 1: 5 voices, expected at most 4");
  EXPECT_EQ(error("[128]"),
            "[chorale] j: train 1, step 1: pitch 128, expected a whole number from -1 to 127");
  EXPECT_EQ(error("[60.5]"),
            "[chorale] j: train 1, step 1: pitch 60.5, expected a whole number from -1 to 127");
  EXPECT_EQ(error("[\"C\"]"), "[chorale] j: train 1, step 1: string instead of a pitch");
  EXPECT_EQ(error("7"), "[chorale] j: train 1, step 1: number instead of a list of pitches");
  EXPECT_EQ(error_of([] { parse_chorales(R"({"train": []})", "j"); }),
            "[chorale] j has no list \"valid\"");
  EXPECT_EQ(error_of([] { parse_chorales("[]", "j"); }),
            "[chorale] j holds array, expected an object with train, valid and test");
  EXPECT_EQ(error_of([] { parse_chorales("{", "j"); }).substr(0, 25), "[chorale] j is not JSON: ");
}

TEST(Chorale, ReadsTheSeparatedVoices) {
  HEED_SKIP_WITHOUT_CHORALES();
  const ChoraleSplits splits = read_chorales(data_folder() / "Jsb16thSeparated.json.gz");
  EXPECT_EQ(splits.train.size(), 229U);
  EXPECT_EQ(splits.valid.size(), 76U);
  EXPECT_EQ(splits.test.size(), 77U);
  EXPECT_EQ(steps_of(splits.train), 55228);
  EXPECT_EQ(steps_of(splits.valid), 18408);
  EXPECT_EQ(steps_of(splits.test), 18900);
  EXPECT_EQ(splits.test[0][4], (ChoraleStep{72, 60, 55, 52}));
  int64_t silent = 0;
  for (const auto* pieces : {&splits.train, &splits.valid, &splits.test}) {
    for (const Chorale& piece : *pieces) {
      for (const ChoraleStep& step : piece) {
        silent += std::count(step.begin(), step.end(), kSilence);
      }
      EXPECT_EQ(decode_chorale(encode_chorale(piece)), piece);
    }
  }
  EXPECT_EQ(silent, 1284);
}

TEST(Chorale, ReadsTheChords) {
  HEED_SKIP_WITHOUT_CHORALES();
  const ChoraleSplits splits = read_chorales(data_folder() / "jsb-chorales-16th.json.gz");
  EXPECT_EQ(steps_of(splits.train), 55228);
  EXPECT_EQ(steps_of(splits.valid), 18408);
  EXPECT_EQ(steps_of(splits.test), 18900);
  EXPECT_EQ(splits.test[0][4], (ChoraleStep{72, 60, 55, 52}));
}

TEST(Chorale, DamagedFiles) {
  const testing::TemporaryFolder folder;
  const std::string json = R"({"train": [[[60, 55, 50, 40]]], "valid": [], "test": []})";
  EXPECT_EQ(read_chorales(folder.write("plain.json", json)).train.size(), 1U);
  const auto packed = folder.write_gzip("packed.json.gz", json);
  EXPECT_EQ(read_chorales(packed).train.size(), 1U);
  std::filesystem::resize_file(packed, std::filesystem::file_size(packed) - 9);
  EXPECT_EQ(
      error_of([&] { read_chorales(packed); }),
      "[gzip] " + packed.string() + " cannot be read, or its gzip data is damaged or cut off");
  EXPECT_EQ(error_of([] { read_chorales("/nowhere/at.all"); }),
            "[gzip] cannot open /nowhere/at.all: No such file or directory");
}

}  // namespace
}  // namespace heed
