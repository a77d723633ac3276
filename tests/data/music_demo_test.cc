// The composed pieces keep their rules.
#include "data/music/music_demo.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "music/performance.h"

namespace heed::testing {
namespace {

std::vector<int> pitches(const DemoPiece& piece, const DemoSection& section) {
  std::vector<int> result;
  for (int64_t i = 0; i < section.count; ++i) {
    result.push_back(piece.notes[static_cast<size_t>(section.first + i)].pitch);
  }
  return result;
}

TEST(MusicDemo, TheMotifReturnsNoteForNote) {
  for (uint64_t index = 0; index < 50; ++index) {
    const DemoPiece piece = compose_demo({.seed = 3, .index = index, .sections = 9});
    ASSERT_EQ(piece.sections.size(), 9U);
    const std::vector<int> motif = pitches(piece, piece.sections[0]);
    EXPECT_GE(motif.size(), 4U);
    EXPECT_LE(motif.size(), 6U);
    for (size_t i = 0; i < piece.sections.size(); ++i) {
      const bool returns = i < 2 || i % 2 == 1;
      EXPECT_EQ(piece.sections[i].kind == DemoSectionKind::motif, returns) << i;
      if (returns) {
        EXPECT_EQ(pitches(piece, piece.sections[i]), motif) << i;
      }
    }
  }
}

TEST(MusicDemo, OtherSectionsAreMadeOfTheMotif) {
  std::set<DemoSectionKind> met;
  for (uint64_t index = 0; index < 30; ++index) {
    const DemoPiece piece = compose_demo({.seed = 4, .index = index});
    for (const DemoSection& section : piece.sections) {
      met.insert(section.kind);
      const auto count = static_cast<size_t>(section.count);
      EXPECT_EQ(count, section.kind == DemoSectionKind::cadence
                           ? 3U
                           : static_cast<size_t>(piece.sections[0].count));
      if (section.kind == DemoSectionKind::sequence) {  // higher, in the same rhythm
        EXPECT_GT(pitches(piece, section)[0], pitches(piece, piece.sections[0])[0]);
      }
    }
  }
  EXPECT_EQ(met.size(), 4U);
}

TEST(MusicDemo, PiecesArePlayableAndSurviveTheEncoding) {
  for (uint64_t index = 0; index < 30; ++index) {
    const DemoPiece piece = compose_demo({.seed = 5, .index = index});
    const std::vector<Note> back = decode_performance(encode_performance(piece.notes));
    ASSERT_EQ(back.size(), piece.notes.size());
    for (size_t i = 0; i < back.size(); ++i) {
      EXPECT_EQ(back[i].pitch, piece.notes[i].pitch);
      EXPECT_EQ(back[i].velocity, piece.notes[i].velocity);
      EXPECT_NEAR(back[i].start, piece.notes[i].start, 1e-9);
      EXPECT_GE(back[i].pitch, 21);
      EXPECT_LE(back[i].pitch, 108);
    }
  }
}

TEST(MusicDemo, SeedAndIndexSayWhichPieceItIs) {
  const auto first = [](uint64_t seed, uint64_t index) {
    const DemoPiece piece = compose_demo({.seed = seed, .index = index});
    std::vector<int> all;
    for (const Note& note : piece.notes) {
      all.push_back(note.pitch);
    }
    return all;
  };
  EXPECT_EQ(first(1, 2), first(1, 2));
  EXPECT_NE(first(1, 2), first(1, 3));
  EXPECT_NE(first(1, 2), first(2, 2));
}

}  // namespace
}  // namespace heed::testing
