// The vocabularies of music: complete, kept by files, and told from others.
#include "data/music/music_tokens.h"

#include <gtest/gtest.h>

#include "music/performance.h"
#include "support/error_of.h"

namespace heed::testing {
namespace {

TEST(MusicTokens, EverySymbolIsAToken) {
  const auto performance = music_tokenizer(MusicForm::performance);
  EXPECT_EQ(performance->size(), 4 + 388);
  EXPECT_EQ(performance->piece(4 + kNoteOn + 60), "NOTE_ON<60>");
  EXPECT_EQ(performance->encode("NOTE_ON<60> TIME_SHIFT<10>"),
            (std::vector<int32_t>{4 + 60, 4 + kTimeShift}));
  EXPECT_EQ(music_tokenizer(MusicForm::chorale)->size(), 4 + 129);
}

TEST(MusicTokens, ThereAndBackWithoutSpecialTokens) {
  const std::vector<int32_t> symbols{0, 387, 256};
  std::vector<int32_t> tokens = music_tokens(symbols);
  EXPECT_EQ(tokens, (std::vector<int32_t>{4, 391, 260}));
  tokens.insert(tokens.begin(), 1);
  tokens.push_back(2);
  EXPECT_EQ(music_symbols(tokens), symbols);
}

TEST(MusicTokens, FormsAreToldApartFromEachOtherAndFromText) {
  for (const MusicForm form : {MusicForm::performance, MusicForm::chorale}) {
    EXPECT_EQ(music_form(*music_tokenizer(form)), form);
  }
  const auto text = train_tokenizer({"a b"}, {.kind = "char"});
  EXPECT_EQ(
      error_of([&] { music_form(*text); }),
      "[music] a char tokenizer of 7 tokens is not a vocabulary of music; was the model trained "
      "on it?");
}

}  // namespace
}  // namespace heed::testing
