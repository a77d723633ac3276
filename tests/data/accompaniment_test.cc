// Melodies and accompaniments as tokens: of hand-made pieces, cut into windows, as batches.
#include "data/music/accompaniment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "data/music/accompany_epochs.h"
#include "music/performance.h"
#include "support/error_of.h"

namespace heed {
namespace {

using testing::error_of;
using Tokens = std::vector<int32_t>;

Note note(double start, double end, int pitch) {
  return {.start = start, .end = end, .pitch = pitch, .velocity = 64, .channel = 0};
}

// A melody of `seconds` notes, a second each, over a chord of two a second.
std::vector<Note> piece_of(int seconds) {
  std::vector<Note> notes;
  for (int i = 0; i < seconds; ++i) {
    notes.push_back(note(i, i + 1, 72 + i % 3));
    notes.push_back(note(i, i + 1, 48));
    notes.push_back(note(i, i + 1, 55));
  }
  return notes;
}

TEST(Accompaniment, OfAChorale) {
  const Chorale chorale{{72, 67, 60, 48}, {74, 67, kSilence, 47}};
  const std::vector<EncodedPair> pairs = accompaniment_pairs(chorale, {.longest = 7});
  ASSERT_EQ(pairs.size(), 1U);
  // Four special tokens stand before the pitches; silence is 128.
  EXPECT_EQ(pairs[0].source, (Tokens{76, 76, 76, 78, 78, 78}));
  EXPECT_EQ(pairs[0].target, (Tokens{71, 64, 52, 71, 132, 51}));
  EXPECT_EQ(soprano_tokens(std::vector{72, kSilence}), (Tokens{76, 76, 76, 132, 132, 132}));
  EXPECT_EQ(harmonised(std::vector{72, 74}, Tokens{67, 60, 48, 67, 128, 47}), chorale);
  EXPECT_EQ(harmonised(std::vector{72, kSilence}, Tokens{67, 60, 48, 67}),
            (Chorale{{72, 67, 60, 48}, {kSilence, 67, kSilence, kSilence}}));
  EXPECT_TRUE(accompaniment_pairs(Chorale(), {}).empty());
}

TEST(Accompaniment, OfAPerformance) {
  // The melody's first note is held by the pedal; in the line it ends where the second begins.
  const std::vector<Note> notes{note(0.0, 2.0, 72), note(0.0, 1.0, 48), note(0.5, 1.0, 76)};
  const std::vector<EncodedPair> pairs = accompaniment_pairs(split_melody(notes), {.longest = 9});
  ASSERT_EQ(pairs.size(), 1U);
  constexpr int32_t kFirst = 4;  // behind the special tokens
  constexpr int32_t kLoud = kFirst + kVelocity + 15;
  constexpr int32_t kHalf = kFirst + kTimeShift + 49;
  constexpr int32_t kWhole = kFirst + kTimeShift + 99;
  EXPECT_EQ(pairs[0].source, (Tokens{kLoud, kFirst + 72, kHalf, kFirst + kNoteOff + 72, kFirst + 76,
                                     kHalf, kFirst + kNoteOff + 76}));
  EXPECT_EQ(pairs[0].target, (Tokens{kLoud, kFirst + 48, kWhole, kFirst + kNoteOff + 48}));
}

// Both sides of a window begin at the same moment, and together the windows have all notes.
TEST(Accompaniment, LongPiecesAreCutByTime) {
  const MelodySplit split = split_melody(piece_of(16));
  EXPECT_EQ(accompaniment_pairs(split, {.longest = 1000}).size(), 1U);
  // Eight seconds: a velocity, then three symbols a second for the melody and five for the chords.
  const std::vector<EncodedPair> pairs = accompaniment_pairs(split, {.longest = 42});
  ASSERT_EQ(pairs.size(), 2U);
  for (const EncodedPair& pair : pairs) {
    EXPECT_EQ(pair.source.size(), 25U);
    EXPECT_EQ(pair.target.size(), 41U);
  }
  EXPECT_EQ(accompaniment_pairs(split, {.longest = 41}).size(), 4U);
  // Cut elsewhere, also through notes, which end there.
  const std::vector<EncodedPair> others = accompaniment_pairs(split, {.longest = 60, .at = 0.47});
  ASSERT_EQ(others.size(), 2U);
  const std::vector<Note> first = decode_performance(music_symbols(others[0].target));
  const std::vector<Note> second = decode_performance(music_symbols(others[1].target));
  EXPECT_EQ(first.size() + second.size(), 32U);
  EXPECT_NEAR(first.back().end, 7.52, 0.006);
  EXPECT_NEAR(second.front().start, 0.48, 0.006);
  EXPECT_NEAR(decode_performance(music_symbols(others[1].source)).front().start, 0.48, 0.006);
  // Cut down to hundredths of a second, what still does not fit is left out.
  EXPECT_TRUE(accompaniment_pairs(split, {.longest = 2}).empty());

  const Chorale chorale(9, ChoraleStep{72, 67, 60, 48});
  std::vector<size_t> lengths;
  for (const EncodedPair& pair : accompaniment_pairs(chorale, {.longest = 12})) {
    EXPECT_EQ(pair.source.size(), pair.target.size());
    lengths.push_back(pair.target.size());
  }
  EXPECT_EQ(std::accumulate(lengths.begin(), lengths.end(), size_t{0}), 27U);
  EXPECT_LT(*std::max_element(lengths.begin(), lengths.end()), 12U);
}

TEST(AccompanyEpochs, ArePureFunctionsOfSeedAndEpoch) {
  std::vector<MusicPiece> pieces;
  for (int i = 0; i < 6; ++i) {
    pieces.push_back({.name = "p", .notes = piece_of(4 + i), .chorale = {}});
  }
  const AccompanyEpochs::Options options{.rows = {.length = 64, .batch_tokens = 128},
                                         .seed = 3,
                                         .transpose = 2,
                                         .stretch = {0.9, 1.0, 1.1}};
  AccompanyEpochs straight(pieces, options);
  EXPECT_FALSE(straight.epoch_batches().has_value());
  DataState state;
  std::set<std::vector<int32_t>> sources;
  std::vector<std::pair<DataState, HostBatch>> seen;
  while (state.epoch < 3) {
    const DataState at = state;
    HostBatch batch = straight.next(state);
    EXPECT_EQ(batch.after, state);
    EXPECT_LE(batch.rows * std::max(batch.source_width, batch.target_width), 128);
    sources.insert(batch.source);
    seen.emplace_back(at, std::move(batch));
  }
  EXPECT_GT(sources.size(), seen.size() / 2);  // epochs differ
  AccompanyEpochs again(pieces, options);
  for (size_t i = seen.size(); i-- > 0;) {
    DataState at = seen[i].first;
    const HostBatch batch = again.next(at);
    EXPECT_EQ(batch.source, seen[i].second.source);
    EXPECT_EQ(batch.target, seen[i].second.target);
  }
}

TEST(AccompanyEpochs, EndOfAChoraleDoesNotCount) {
  std::vector<MusicPiece> pieces;
  for (const size_t steps : {5U, 6U, 9U}) {
    pieces.push_back({.name = "c", .notes = {}, .chorale = Chorale(steps, {72, 67, 60, 48})});
  }
  const AccompanyRows rows{.form = MusicForm::chorale, .length = 64, .batch_tokens = 64};
  int64_t counted = 0;
  for (const HostBatch& batch : accompany_batches(pieces, rows)) {
    counted += batch.target_tokens;
    EXPECT_EQ(batch.target_tokens, std::count_if(batch.target.begin(), batch.target.end(),
                                                 [](int32_t id) { return id != kIgnore; }));
    EXPECT_EQ(std::count(batch.target.begin(), batch.target.end(), kMusicEnd), 0);
  }
  EXPECT_EQ(counted, 60);
  AccompanyEpochs epochs(pieces, {.rows = rows, .transpose = 3});
  DataState state;
  for (const int64_t count = epochs.epoch_batches().value(); state.epoch < 5;) {
    epochs.next(state);
    EXPECT_EQ(epochs.epoch_batches(), count);
  }
}

TEST(AccompanyEpochs, Errors) {
  EXPECT_EQ(error_of([] { AccompanyEpochs({}, {}); }), "[music] there is no piece to train on");
  const std::vector<MusicPiece> alone{
      {.name = "m", .notes = {note(0, 1, 60), note(1, 2, 62)}, .chorale = {}}};
  EXPECT_EQ(error_of([&] { AccompanyEpochs(alone, {}); }),
            "[music] none of 1 pieces has notes below its melody: there is no accompaniment");
  const std::vector<MusicPiece> pieces{{.name = "p", .notes = piece_of(2), .chorale = {}}};
  AccompanyEpochs epochs(pieces, {});
  DataState state{.epoch = 0, .batch = 7};
  EXPECT_EQ(error_of([&] { epochs.next(state); }),
            "[music] the run continues with batch 7, but epoch 0 has only 1; have the files or the "
            "options changed?");
}

}  // namespace
}  // namespace heed
