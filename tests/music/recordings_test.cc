// Recordings of pianists through everything there is: read, encoded, decoded, written, read again.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "formats/midi.h"
#include "music/performance.h"

namespace heed {
namespace {

std::filesystem::path data_folder() {
  const char* root = std::getenv("HEED_DATA");
  return std::filesystem::path(root != nullptr ? root : "../shared/data") / "asap-piano";
}

std::vector<std::filesystem::path> recordings() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(data_folder())) {
    if (entry.path().extension() == ".mid") {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

struct Agreement {
  size_t expected = 0;
  size_t found = 0;
  size_t matched = 0;
  int velocity_bins = 0;  // the largest difference
  double onset = 0.0;     // likewise, in seconds
  size_t ends = 0;        // matched notes whose ends are within 10 ms, too

  double f1() const {
    return 2.0 * static_cast<double>(matched) / static_cast<double>(expected + found);
  }
};

// Notes match one to one, in order, if their pitch is the same and their starts at most 10 ms
// apart.
void compare(const std::vector<Note>& expected, const std::vector<Note>& found, Agreement& sum) {
  constexpr double kTolerance = 0.010 + 1e-9;
  std::array<std::vector<Note>, kPitches> by_pitch;
  for (const Note& note : found) {
    by_pitch[static_cast<size_t>(note.pitch)].push_back(note);
  }
  std::array<size_t, kPitches> next{};
  for (const Note& note : expected) {
    const std::vector<Note>& same = by_pitch[static_cast<size_t>(note.pitch)];
    size_t& at = next[static_cast<size_t>(note.pitch)];
    while (at < same.size() && same[at].start < note.start - kTolerance) {
      ++at;
    }
    if (at < same.size() && same[at].start <= note.start + kTolerance) {
      ++sum.matched;
      sum.onset = std::max(sum.onset, std::abs(same[at].start - note.start));
      sum.velocity_bins = std::max(sum.velocity_bins, std::abs(velocity_bin(same[at].velocity) -
                                                               velocity_bin(note.velocity)));
      sum.ends += std::abs(same[at].end - note.end) <= kTolerance ? 1 : 0;
      ++at;
    }
  }
  sum.expected += expected.size();
  sum.found += found.size();
}

// Counted with mido, a reader of MIDI files in Python, over the same 166 files.
TEST(Recordings, AreReadAsOthersReadThem) {
  if (!std::filesystem::exists(data_folder())) {
    GTEST_SKIP() << "skipped: no data at " << data_folder().string();
  }
  const std::vector<std::filesystem::path> files = recordings();
  if (files.size() != 166) {
    GTEST_SKIP() << "skipped: " << files.size() << " recordings; 166 were counted";
  }
  size_t notes = 0;
  size_t pedals = 0;
  double seconds = 0.0;
  double starts = 0.0;
  double lengths = 0.0;
  int64_t velocities = 0;
  int64_t pitches = 0;
  for (const std::filesystem::path& file : files) {
    const MidiPiece piece = read_midi(file);
    notes += piece.notes.size();
    pedals += piece.pedals.size();
    seconds += piece.duration;
    for (const Note& note : piece.notes) {
      starts += note.start;
      lengths += note.end - note.start;
      velocities += note.velocity;
      pitches += note.pitch;
    }
  }
  EXPECT_EQ(notes, 378028U);
  EXPECT_EQ(pedals, 526572U);
  EXPECT_EQ(velocities, 24363061);
  EXPECT_EQ(pitches, 24207101);
  EXPECT_NEAR(seconds, 40175.96791, 1e-4);
  EXPECT_NEAR(starts, 59809647.36989, 1e-2);
  EXPECT_NEAR(lengths, 80809.67435, 1e-3);
}

TEST(Recordings, SurviveTheRoundTrip) {
  if (!std::filesystem::exists(data_folder())) {
    GTEST_SKIP() << "skipped: no data at " << data_folder().string();
  }
  for (const bool pedal : {false, true}) {
    Agreement all;
    double worst = 1.0;
    size_t symbols = 0;
    for (const std::filesystem::path& file : recordings()) {
      MidiPiece piece = read_midi(file);
      if (pedal) {
        apply_pedal(piece);
      }
      const std::vector<int32_t> ids = encode_performance(piece.notes);
      const std::vector<Note> decoded = decode_performance(ids);
      const std::string written = encode_midi(decoded, {.format = pedal ? 1 : 0});
      const MidiPiece again = decode_midi(std::as_bytes(std::span(written)), file.string());
      Agreement one;
      compare(piece.notes, again.notes, one);
      EXPECT_GE(one.f1(), 0.99) << file;
      worst = std::min(worst, one.f1());
      compare(piece.notes, again.notes, all);
      symbols += ids.size();
    }
    EXPECT_GT(all.matched, 0U);
    EXPECT_LE(all.velocity_bins, 1);
    EXPECT_LE(all.onset, 0.005 + 1e-9);
    // Only notes shorter than a step end later than they did.
    const double ends = static_cast<double>(all.ends) / static_cast<double>(all.matched);
    EXPECT_GE(ends, 0.999);
    fmt::print(
        "{} pedal: {} notes, {} symbols, F1 {:.6f} (worst file {:.6f}), largest onset error "
        "{:.2f} ms, largest velocity error {} bins, ends within 10 ms {:.6f}\n",
        pedal ? "with" : "without", all.expected, symbols, all.f1(), worst, all.onset * 1e3,
        all.velocity_bins, ends);
  }
}

}  // namespace
}  // namespace heed
