// Music behind motifs: the motif is kept, limits hold, the same seed gives the same, and notes are
// told from each other by their tokens.
#include "decode/music/music.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "decode/music/note_attention.h"
#include "music/performance.h"
#include "nn/scopes/attention_scope.h"
#include "support/error_of.h"
#include "support/tiny_music.h"

namespace heed::testing {
namespace {

// Two chords and a run, at moments that are no multiples of 10 ms.
std::vector<Note> motif() {
  return {{.start = 0.104, .end = 0.998, .pitch = 60, .velocity = 80},
          {.start = 0.111, .end = 0.503, .pitch = 64, .velocity = 71},
          {.start = 0.497, .end = 1.202, .pitch = 67, .velocity = 71},
          {.start = 1.000, .end = 1.309, .pitch = 60, .velocity = 33},
          {.start = 1.256, .end = 2.718, .pitch = 36, .velocity = 127}};
}

Chorale cadence() {
  return {{67, 64, 60, 48}, {67, 64, 60, 48}, {67, 65, 59, 43}, {67, 62, 59, 43},
          {67, 64, 60, 36}, {67, 64, 60, 36}, {67, 64, 60, 36}, {67, 64, 60, 36}};
}

std::vector<Note> old_notes(const ContinuedPiece& piece) {
  std::vector<Note> old;
  std::copy_if(piece.notes.begin(), piece.notes.end(), std::back_inserter(old),
               [&](const Note& note) { return !piece.is_new(note); });
  return old;
}

TEST(ContinueMusic, KeepsTheMotifNoteForNote) {
  const TinyMusicFolder folder;
  const auto pieces = continue_music(*folder.model, motif(), {.max_tokens = 200});
  ASSERT_EQ(pieces.size(), 1U);
  const std::vector<Note> kept = old_notes(pieces[0]);
  const std::vector<Note> given = motif();
  ASSERT_EQ(kept.size(), given.size());
  EXPECT_GT(pieces[0].notes.size(), given.size());
  for (size_t i = 0; i < given.size(); ++i) {
    EXPECT_NEAR(kept[i].start, given[i].start, 0.00501);
    EXPECT_NEAR(kept[i].end, given[i].end, 0.00501);
    EXPECT_EQ(kept[i].pitch, given[i].pitch);
    EXPECT_NEAR(kept[i].velocity, given[i].velocity, 2);
  }
  EXPECT_DOUBLE_EQ(pieces[0].motif_end, 2.72);
}

TEST(ContinueMusic, SameSeedSameMusicWhateverElseIsMade) {
  const TinyMusicFolder folder;
  const MusicOptions options{.max_tokens = 150, .seed = 5};
  MusicOptions three = options;
  three.pieces = 3;
  MusicOptions other = options;
  other.seed = 6;
  const auto one = continue_music(*folder.model, motif(), options);
  EXPECT_EQ(one[0].notes, continue_music(*folder.model, motif(), options)[0].notes);
  EXPECT_NE(one[0].notes, continue_music(*folder.model, motif(), other)[0].notes);
  const auto several = continue_music(*folder.model, motif(), three);
  ASSERT_EQ(several.size(), 3U);
  EXPECT_EQ(several[0].tokens, one[0].tokens);
  EXPECT_NE(several[1].tokens, several[0].tokens);
  EXPECT_NE(several[2].tokens, several[1].tokens);
}

// With weights by chance, special tokens are as likely as any other: among 2,000 there would be
// some fifteen.
TEST(ContinueMusic, OnlySymbols) {
  const TinyMusicFolder folder;
  const auto pieces =
      continue_music(*folder.model, {}, {.max_tokens = 500, .pieces = 4, .seed = 2});
  for (const ContinuedPiece& piece : pieces) {
    ASSERT_FALSE(piece.tokens.empty());
    EXPECT_EQ(piece.tokens[0], 1);  // START
    for (size_t i = 1; i < piece.tokens.size(); ++i) {
      EXPECT_GE(piece.tokens[i], 4);
      EXPECT_LT(piece.tokens[i], 392);
    }
    EXPECT_EQ(piece.end == GenerateEnd::length, piece.tokens.size() == 501);
    EXPECT_EQ(piece.motif_end, 0.0);
    EXPECT_EQ(piece.motif_tokens, 1U);
    std::vector<int32_t> symbols;
    for (size_t i = 1; i < piece.tokens.size(); ++i) {
      symbols.push_back(piece.tokens[i] - 4);
    }
    EXPECT_EQ(piece.notes, decode_performance(symbols));
  }
}

TEST(ContinueMusic, EndsWhenTheSecondsAreReached) {
  const TinyMusicFolder folder;
  for (const double seconds : {0.5, 7.3}) {
    const auto pieces = continue_music(
        *folder.model, motif(), {.seconds = seconds, .max_tokens = 5000, .pieces = 3, .seed = 4});
    int reached = 0;
    for (const ContinuedPiece& piece : pieces) {
      for (const Note& note : piece.notes) {
        EXPECT_LE(note.end, 2.72 + seconds + 1e-9);
        EXPECT_LT(note.start, note.end);
      }
      if (piece.end != GenerateEnd::end_token) {
        EXPECT_EQ(piece.end, GenerateEnd::enough);
        EXPECT_NEAR(piece.duration, 2.72 + seconds, 1e-9);
        EXPECT_GE(piece.tokens.back(), 4 + kTimeShift);  // which reached it
        EXPECT_LT(piece.tokens.back(), 4 + kVelocity);
        ++reached;
      }
    }
    EXPECT_GE(reached, 1);
  }
}

TEST(ContinueMusic, TellsHowFarItIs) {
  const TinyMusicFolder folder;
  std::vector<MusicProgress> told;
  const auto pieces = continue_music(*folder.model, {}, {.max_tokens = 60, .pieces = 2},
                                     [&](const MusicProgress& now) { told.push_back(now); });
  const size_t made = pieces[0].tokens.size() + pieces[1].tokens.size() - 2;
  ASSERT_EQ(told.size(), made);
  EXPECT_TRUE(std::is_sorted(told.begin(), told.end(), [](const auto& a, const auto& b) {
    return a.share < b.share || a.seconds < b.seconds || a.notes < b.notes;
  }));
  EXPECT_EQ(told.back().tokens, static_cast<int64_t>(made));
  EXPECT_NEAR(told.back().share, static_cast<double>(made) / 120.0, 1e-9);
  EXPECT_NEAR(told.back().seconds, pieces[0].duration + pieces[1].duration, 1e-9);
  int64_t keys = 0;
  for (const ContinuedPiece& piece : pieces) {
    keys += std::count_if(piece.tokens.begin(), piece.tokens.end(),
                          [](int32_t token) { return token >= 4 && token < 4 + 128; });
  }
  EXPECT_EQ(told.back().notes, keys);
}

TEST(ContinueMusic, MotifLongerThanTheContext) {
  const TinyMusicFolder folder(MusicForm::performance, tiny_gpt({{"context", 32}}));
  std::vector<Note> scale;
  for (int i = 0; i < 40; ++i) {
    scale.push_back({.start = i * 0.25, .end = i * 0.25 + 0.2, .pitch = 40 + i, .velocity = 66});
  }
  const auto pieces = continue_music(*folder.model, scale, {.max_tokens = 20, .seed = 3});
  EXPECT_EQ(old_notes(pieces[0]).size(), 40U);
  EXPECT_EQ(pieces[0].motif_tokens, 1U + 1 + 40 * 4 - 1);  // START, a velocity, no first shift
  EXPECT_GE(pieces[0].forgotten, 161 - 32);
}

TEST(ContinueMusic, ChoralesAreContinuedInFourVoices) {
  const TinyMusicFolder folder(MusicForm::chorale);
  const std::vector<Note> given = chorale_notes(cadence(), 100.0);
  const auto pieces = continue_music(
      *folder.model, given, {.seconds = 3.0, .max_tokens = 1000, .quarters_per_minute = 100.0});
  const ContinuedPiece& piece = pieces[0];
  EXPECT_DOUBLE_EQ(piece.motif_end, 8 * 0.15);
  const std::vector<int32_t> symbols = music_symbols(piece.tokens);
  const Chorale made = decode_chorale(symbols);
  ASSERT_GE(made.size(), 8U);
  EXPECT_TRUE(std::equal(made.begin(), made.begin() + 8, cadence().begin()));
  if (piece.end == GenerateEnd::enough) {
    EXPECT_EQ(made.size(), 8U + 20);  // sixteenths of 0.15 s
  }
  for (const Note& note : piece.notes) {
    EXPECT_LE(note.end, 4.2 + 1e-9);
    EXPECT_LT(note.channel, 4);
  }
}

TEST(QuantiseChorale, IsTheGridAgain) {
  EXPECT_EQ(quantise_chorale(chorale_notes(cadence(), 72.0), 72.0), cadence());
  EXPECT_TRUE(quantise_chorale({}, 72.0).empty());
  // A little late and short, as people play; drums are left out.
  std::vector<Note> played = chorale_notes(cadence(), 60.0);
  for (Note& note : played) {
    note.start += 0.03;
    note.end -= 0.04;
  }
  played.push_back({.start = 0.0, .end = 1.0, .pitch = 35, .velocity = 90, .channel = 9});
  EXPECT_EQ(quantise_chorale(played, 60.0), cadence());
}

TEST(QuantiseChorale, FourVoicesAtMost) {
  std::vector<Note> notes;
  for (int i = 0; i < 5; ++i) {
    notes.push_back({.start = 0.5, .end = 1.0, .pitch = 60 + i});
  }
  EXPECT_EQ(error_of([&] { quantise_chorale(notes, 60.0); }),
            "[continue] more than 4 notes sound at 0.50 s: this model continues pieces of four "
            "voices");
  EXPECT_EQ(error_of([&] { quantise_chorale(std::span(notes).first(2), 0.0); }),
            "[continue] 0 quarter notes per minute, expected a positive number");
  const std::vector<Note> endless{{.start = 0.0, .end = 80000.0, .pitch = 60}};
  EXPECT_EQ(error_of([&] { quantise_chorale(endless, 6e7); }),
            "[continue] the music lasts 320000000000 sixteenths, expected at most 1000000");
}

// 60 quarters a minute for 2 s, then 120: what lasts a second there is two quarters.
TEST(EvenTempo, NotesKeepTheirQuarters) {
  MidiPiece piece;
  piece.tempos = {{.time = 0.0, .quarters_per_minute = 60.0},
                  {.time = 2.0, .quarters_per_minute = 120.0}};
  piece.notes = {{.start = 0.5, .end = 2.0, .pitch = 60},
                 {.start = 1.0, .end = 3.0, .pitch = 62},
                 {.start = 3.0, .end = 3.5, .pitch = 64}};
  piece.duration = 4.0;
  EXPECT_EQ(even_tempo(piece), 60.0);
  EXPECT_EQ(piece.notes[0].end, 2.0);
  EXPECT_EQ(piece.notes[1].start, 1.0);
  EXPECT_EQ(piece.notes[1].end, 4.0);
  EXPECT_EQ(piece.notes[2].start, 4.0);
  EXPECT_EQ(piece.notes[2].end, 5.0);
  EXPECT_EQ(piece.duration, 6.0);
  EXPECT_EQ(piece.tempos.size(), 1U);
  MidiPiece silent;
  EXPECT_EQ(even_tempo(silent), 120.0);
}

ContinuedPiece piece_of(const std::vector<int32_t>& symbols) {
  ContinuedPiece piece;
  piece.notes = decode_performance(symbols);
  piece.tokens = music_tokens(symbols);
  piece.tokens.insert(piece.tokens.begin(), 1);
  return piece;
}

TEST(NoteTokens, KeysAndVelocities) {
  // Velocity, C4, a shift, E4 without velocity, C4 again, a note of no length, and its ends.
  const ContinuedPiece piece =
      piece_of({kVelocity + 9, 60, kTimeShift + 9, 64, 60, 70, kNoteOff + 70, kTimeShift + 4,
                kNoteOff + 60, kNoteOff + 64, kNoteOff + 64, kVelocity + 2});
  ASSERT_EQ(piece.notes.size(), 3U);  // C4, then C4 and E4 at 0.1 s
  const NoteTokens found = note_tokens(piece, MusicForm::performance);
  EXPECT_EQ(found.note_of_token,
            (std::vector<int64_t>{-1, 0, 0, -1, 2, 1, -1, -1, -1, 1, 2, -1, -1}));
  EXPECT_EQ(found.token_of_note, (std::vector<size_t>{2, 5, 4}));
}

TEST(NoteTokens, VoicesOfAChorale) {
  ContinuedPiece piece;
  const std::vector<int32_t> symbols{67, 64, 60, 48, 67, 65, 128, 48, 69, 65, 60};
  piece.notes = chorale_notes(decode_chorale(symbols), 60.0);
  piece.tokens = music_tokens(symbols);
  piece.tokens.insert(piece.tokens.begin(), 1);
  const NoteTokens found = note_tokens(piece, MusicForm::chorale);
  ASSERT_EQ(found.token_of_note.size(), piece.notes.size());
  for (size_t i = 0; i < piece.notes.size(); ++i) {
    const size_t token = found.token_of_note[i];
    EXPECT_EQ(piece.tokens[token] - 4, piece.notes[i].pitch);
    EXPECT_EQ((token - 1) % 4, static_cast<size_t>(piece.notes[i].channel));
    EXPECT_NEAR(piece.notes[i].start, static_cast<double>((token - 1) / 4) * 0.25, 1e-12);
    EXPECT_EQ(found.note_of_token[token], static_cast<int64_t>(i));
  }
  EXPECT_EQ(found.note_of_token[5], found.note_of_token[1]);  // soprano, held
  EXPECT_EQ(found.note_of_token[7], -1);                      // tenor, silent
}

TEST(NoteAttention, RowsSumToOneAndFollowTheMaps) {
  const TinyMusicFolder folder;
  const auto piece = continue_music(*folder.model, motif(), {.max_tokens = 90, .seed = 2}).front();
  const NoteAttention attention = attention_of_notes(*folder.model, piece);
  EXPECT_EQ(attention.first_token, 0U);
  EXPECT_EQ(attention.layers.size(), 2U);
  const size_t rows = attention.queries.size();
  const size_t columns = attention.keys.size() + 1;
  EXPECT_EQ(rows, piece.notes.size() - motif().size());
  EXPECT_EQ(attention.keys.size(), piece.notes.size());
  AttentionScope scope;
  folder.model->model->logits(Tensor::from_ints(piece.tokens, {1, std::ssize(piece.tokens)}));
  const std::vector<LayerAttention> maps = scope.take();
  ASSERT_EQ(maps.size(), 2U);
  const NoteTokens tokens = note_tokens(piece, MusicForm::performance);
  const auto length = piece.tokens.size();
  for (size_t layer = 0; layer < maps.size(); ++layer) {
    const NoteAttentionLayer& sums = attention.layers[layer];
    ASSERT_EQ(sums.heads, 4);
    ASSERT_EQ(sums.weights.size(), 4 * rows * columns);
    for (size_t head = 0; head < 4; ++head) {
      for (size_t r = 0; r < rows; ++r) {
        const float* row = sums.weights.data() + (head * rows + r) * columns;
        EXPECT_NEAR(std::accumulate(row, row + columns, 0.0), 1.0, 1e-4);
        const size_t from = tokens.token_of_note[attention.queries[r]];
        for (size_t k = 0; k + 1 < columns; ++k) {
          double expected = 0.0;
          for (size_t t = 0; t < length; ++t) {
            if (tokens.note_of_token[t] == static_cast<int64_t>(attention.keys[k])) {
              expected += maps[layer].weights.data<float>()[(head * length + from) * length + t];
            }
          }
          ASSERT_NEAR(row[k], expected, 1e-5);
        }
      }
    }
  }
}

TEST(NoteAttention, OnlyWhatTheModelCanLookAt) {
  const TinyMusicFolder folder(MusicForm::performance, tiny_gpt({{"context", 40}}));
  const auto piece = continue_music(*folder.model, motif(), {.max_tokens = 120, .seed = 7}).front();
  ASSERT_GT(piece.tokens.size(), 40U);
  const NoteAttention attention = attention_of_notes(*folder.model, piece);
  EXPECT_EQ(attention.first_token, piece.tokens.size() - 40);
  const NoteTokens tokens = note_tokens(piece, MusicForm::performance);
  for (const size_t query : attention.queries) {
    EXPECT_GE(tokens.token_of_note[query], attention.first_token);
  }
}

TEST(ContinueMusic, SaysWhatIsWrong) {
  const TinyFolder text;
  const auto model = text.load();
  EXPECT_NE(error_of([&] { continue_music(*model, {}, {}); }).find("is not a vocabulary of music"),
            std::string::npos);
  const TinyMusicFolder folder;
  const auto error_with = [&](const MusicOptions& options) {
    return error_of([&] { continue_music(*folder.model, {}, options); });
  };
  EXPECT_EQ(error_with({.seconds = -1.0}), "[continue] -1 seconds of music, expected 0 to 86400");
  EXPECT_EQ(error_with({.max_tokens = 0}), "[continue] 0 tokens, expected some");
  EXPECT_EQ(error_with({.pieces = 0}), "[continue] 0 pieces, expected some");
  EXPECT_EQ(error_with({.sampling = {.top_p = 2.0F}}),
            "[sampling] top_p is 2, expected more than 0 and at most 1");
}

}  // namespace
}  // namespace heed::testing
