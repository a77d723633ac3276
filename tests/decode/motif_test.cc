// Asking for the notes of a returning motif: counted right, and what they are compared with.
#include "decode/music/motif.h"

#include <gtest/gtest.h>

#include "data/music/music_tokens.h"
#include "support/error_of.h"
#include "support/tiny_music.h"

namespace heed::testing {
namespace {

TEST(Motif, AModelThatKnowsNothingIsRightByChance) {
  const TinyMusicFolder folder(MusicForm::performance, tiny_gpt({{"context", 256}}));
  const std::vector<MotifBucket> buckets =
      measure_motif(*folder.model, {.pieces = 2, .sections = 6, .bucket = 32});
  int64_t notes = 0;
  int64_t right = 0;
  for (size_t i = 0; i < buckets.size(); ++i) {
    EXPECT_EQ(buckets[i].position, static_cast<int64_t>(i) * 32);
    notes += buckets[i].notes;
    right += buckets[i].right;
  }
  // Sections are motif, motif, other, motif, other, motif: of the last two motifs, of four to six
  // notes each, all but the first are asked for.
  EXPECT_GE(notes, 2 * 2 * 3);
  EXPECT_LE(notes, 2 * 2 * 5);
  EXPECT_LT(right, notes / 2);
}

TEST(Motif, RefusesChoralesAndPiecesThatDoNotFit) {
  const TinyMusicFolder chorales(MusicForm::chorale);
  EXPECT_EQ(error_of([&] { measure_motif(*chorales.model, {}); }),
            "[motif] the model is one of chorales, expected one of performances");
  const TinyMusicFolder small;
  const std::string error = error_of([&] { measure_motif(*small.model, {.sections = 60}); });
  EXPECT_TRUE(error.starts_with("[motif] a piece of 60 sections has ")) << error;
  EXPECT_TRUE(error.ends_with(" tokens, its context is 128; use fewer --sections")) << error;
}

}  // namespace
}  // namespace heed::testing
