// Pieces of music: read, changed, and cut for training.
#include "data/music/music_epochs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "music/performance.h"
#include "support/error_of.h"
#include "support/text_files.h"
#include "support/tunes.h"

namespace heed {
namespace {

using namespace testing;

MusicPiece tune(int lowest, int notes) {
  return {.name = "tune", .notes = tiny_tune(lowest, notes), .chorale = {}};
}

// Token of a performance's symbol: after PAD, START, END and UNK.
int32_t token(int32_t symbol) { return symbol + 4; }

TEST(MusicPieces, TokensOfAPerformance) {
  // 0.2 s down, 0.05 s until the next.
  const std::vector<int32_t> expected{kMusicStart,          token(kVelocity + 17),
                                      token(kNoteOn + 60),  token(kTimeShift + 19),
                                      token(kNoteOff + 60), token(kTimeShift + 4),
                                      token(kNoteOn + 64),  token(kTimeShift + 19),
                                      token(kNoteOff + 64), kMusicEnd};
  EXPECT_EQ(piece_tokens(tune(60, 2), MusicForm::performance), expected);
  std::vector<int32_t> higher = expected;
  for (const size_t i : {2U, 4U, 6U, 8U}) {
    higher[i] += 3;
  }
  EXPECT_EQ(piece_tokens(tune(60, 2), MusicForm::performance, {.semitones = 3}), higher);
  // Twice as slow: 0.4 s down, 0.1 s until the next.
  std::vector<int32_t> slower = expected;
  slower[3] = slower[7] = token(kTimeShift + 39);
  slower[5] = token(kTimeShift + 9);
  EXPECT_EQ(piece_tokens(tune(60, 2), MusicForm::performance, {.stretch = 2.0}), slower);
}

TEST(MusicPieces, TokensOfAChorale) {
  const std::vector<Chorale> chorales{{{{72, 67, kSilence, 48}}, {{72, 65, 60, 0}}}};
  const MusicPiece piece = chorale_pieces(chorales, MusicForm::chorale).front();
  const auto tokens = [&](int semitones) {
    return piece_tokens(piece, MusicForm::chorale, {.semitones = semitones});
  };
  EXPECT_EQ(tokens(0), (std::vector<int32_t>{1, 76, 71, 132, 52, 76, 69, 64, 4, 2}));
  EXPECT_EQ(tokens(2), (std::vector<int32_t>{1, 78, 73, 132, 54, 78, 71, 66, 6, 2}));
  EXPECT_EQ(tokens(-2), tokens(0));  // the lowest pitch is the lowest there is
  EXPECT_EQ(tokens(60), tokens(55));
  // As a performance its voices are notes: four keys go down at the first moment but for silence.
  const MusicPiece played = chorale_pieces(chorales, MusicForm::performance).front();
  EXPECT_EQ(played.notes.size(), 6U);  // the soprano holds its note
}

TEST(MusicPieces, FoldersAreSearchedAndBadFilesNamed) {
  const TemporaryFolder folder;
  write_tunes(folder / "a" / "deep", 2, 3);
  write_tunes(folder / "b", 1, 5);
  std::filesystem::rename(folder / "b" / "tune-0.mid", folder / "b" / "LOUD.MIDI");
  folder.write("b/broken.mid", "MThd and no more");
  folder.write("b/readme.txt", "no music");
  write_midi(folder / "b" / "silent.mid", {});
  const MusicPieces read = read_midi_pieces({(folder / "b").string(), (folder / "a").string()});
  ASSERT_EQ(read.pieces.size(), 3U);
  EXPECT_EQ(read.pieces[0].name, "LOUD.MIDI");
  EXPECT_EQ(read.pieces[0].notes.size(), 5U);
  EXPECT_EQ(read.pieces[1].name, "deep/tune-0.mid");
  EXPECT_EQ(read.pieces[2].name, "deep/tune-1.mid");
  EXPECT_EQ(read.skipped.find("skipped 2 MIDI files:\n"), 0U) << read.skipped;
  EXPECT_NE(read.skipped.find((folder / "b" / "broken.mid").string()), std::string::npos);
  EXPECT_NE(read.skipped.find((folder / "b" / "silent.mid").string() + " has no notes"),
            std::string::npos);
}

TEST(MusicPieces, Errors) {
  const TemporaryFolder folder;
  const auto error_with = [](const std::filesystem::path& path) {
    return error_of([&] { read_midi_pieces({path.string()}); });
  };
  const std::string none = (folder / "none").string();
  EXPECT_EQ(error_with(none), "[music] " + none + " does not exist");
  std::filesystem::create_directories(folder / "empty");
  EXPECT_EQ(error_with(folder / "empty"),
            "[music] " + (folder / "empty").string() + " holds no .mid or .midi file");
  const std::filesystem::path broken = folder.write("broken.mid", "MThd");
  EXPECT_EQ(error_with(broken).find("[music] no MIDI file is left: skipped 1 MIDI file:\n"), 0U);
  EXPECT_NE(error_with(broken).find(broken.string()), std::string::npos);
}

TEST(MusicEpochs, AugmentationStaysInRangeAndUsesIt) {
  const MusicEpochs epochs({tune(60, 10)},
                           {.length = 16, .transpose = 3, .stretch = {0.95, 1.0, 1.05}});
  std::map<int, int> semitones;
  std::map<double, int> factors;
  for (int64_t epoch = 0; epoch < 100; ++epoch) {
    for (int64_t crop = 0; crop < 21; ++crop) {
      const Augmentation drawn = epochs.augmentation(epoch, crop);
      ++semitones[drawn.semitones];
      ++factors[drawn.stretch];
    }
  }
  ASSERT_EQ(semitones.size(), 7U);
  EXPECT_EQ(semitones.begin()->first, -3);
  EXPECT_EQ(semitones.rbegin()->first, 3);
  ASSERT_EQ(factors.size(), 3U);
  for (const auto& [key, count] : semitones) {
    EXPECT_NEAR(count, 300, 70) << key;  // four deviations
  }
  for (const auto& [key, count] : factors) {
    EXPECT_NEAR(count, 700, 90) << key;
  }
}

// Every window is a stretch of its piece, and all places of the piece come.
TEST(MusicEpochs, CropsComeFromEverywhere) {
  const MusicPiece piece = tune(60, 40);  // START, a velocity, 40 times on, shift, off, shift, END
  const std::vector<int32_t> whole = piece_tokens(piece, MusicForm::performance);
  MusicEpochs epochs({piece}, {.length = 16, .batch_tokens = 48});
  EXPECT_EQ(epochs.tokens(), std::ssize(whole) - 1);
  const int64_t crops = (std::ssize(whole) - 1 + 15) / 16;
  EXPECT_EQ(epochs.epoch_batches(), (crops + 2) / 3);
  DataState state;
  std::set<int64_t> ends;
  while (state.epoch < 60) {
    const MusicBatch batch = epochs.next(state);
    ASSERT_EQ(batch.width, 16);
    ASSERT_EQ(batch.count, batch.rows * 16);
    for (int64_t row = 0; row < batch.rows; ++row) {
      std::vector<int32_t> window(batch.input.begin() + row * 16,
                                  batch.input.begin() + (row + 1) * 16);
      window.push_back(batch.target[static_cast<size_t>(row * 16 + 15)]);
      EXPECT_TRUE(std::equal(window.begin() + 1, window.end(), batch.target.begin() + row * 16));
      const auto found = std::search(whole.begin(), whole.end(), window.begin(), window.end());
      ASSERT_NE(found, whole.end());
      ends.insert(window.front() == kMusicStart ? 1 : window.back() == kMusicEnd ? 2 : 0);
    }
  }
  EXPECT_EQ(ends, (std::set<int64_t>{0, 1, 2}));
}

// Short pieces are whole, each in a row of its own.
TEST(MusicEpochs, ShortPiecesArePadded) {
  MusicEpochs epochs({tune(60, 1), tune(50, 3)}, {.length = 64, .batch_tokens = 1000});
  ASSERT_EQ(epochs.epoch_batches(), 1);
  DataState state;
  const MusicBatch batch = epochs.next(state);
  EXPECT_EQ(state.epoch, 1);
  EXPECT_EQ(batch.rows, 2);
  EXPECT_EQ(batch.width, 13);  // 1 velocity, 3 x (on, shift, off), 2 shifts, END
  EXPECT_EQ(batch.count, 13 + 5);
  const int64_t row = batch.target[5] == -100 ? 0 : 1;  // the short one
  EXPECT_EQ(batch.target[static_cast<size_t>(row * 13 + 4)], kMusicEnd);
  EXPECT_EQ(std::count(batch.target.begin(), batch.target.end(), -100), 13 - 5);
  EXPECT_EQ(std::count(batch.input.begin(), batch.input.end(), kMusicStart), 2);
  EXPECT_EQ(std::count(batch.input.begin(), batch.input.end(), kMusicEnd), 0);
}

TEST(MusicEpochs, ABatchIsAFunctionOfItsState) {
  const auto make = [] {
    return MusicEpochs({tune(60, 30), tune(50, 20), tune(70, 3)},
                       {.length = 16, .batch_tokens = 40, .transpose = 2, .stretch = {0.9, 1.1}});
  };
  MusicEpochs straight = make();
  DataState state;
  std::vector<DataState> states;
  std::vector<MusicBatch> batches;
  while (state.epoch < 3) {
    states.push_back(state);
    batches.push_back(straight.next(state));
  }
  EXPECT_NE(batches.front().input, batches[static_cast<size_t>(straight.epoch_batches())].input);
  for (size_t i = states.size(); i-- > 0;) {
    MusicEpochs again = make();
    const MusicBatch batch = again.next(states[i]);
    EXPECT_EQ(batch.input, batches[i].input);
    EXPECT_EQ(batch.target, batches[i].target);
  }
  DataState beyond{.epoch = 0, .batch = 1000};
  EXPECT_NE(error_of([&] { straight.next(beyond); }).find("have the files or the options changed"),
            std::string::npos);
}

}  // namespace
}  // namespace heed
