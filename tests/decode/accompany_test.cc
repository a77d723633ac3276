// Accompaniments: an encoder-decoder as a language model, and what is drawn from it.
#include "decode/music/accompany.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "decode/conditioned.h"
#include "decode/scripted_model.h"
#include "music/performance.h"
#include "support/error_of.h"
#include "support/tiny_music.h"

namespace heed {
namespace {

using testing::error_of;
using testing::Ids;
using testing::Probabilities;
using testing::Script;
using testing::ScriptedModel;
using testing::TemporaryFolder;

Note note(double start, double end, int pitch) {
  return {.start = start, .end = end, .pitch = pitch, .velocity = 64, .channel = 0};
}

std::unique_ptr<LoadedModel> tiny_accompanist(const std::filesystem::path& folder, MusicForm form,
                                              const Json& more = Json::object()) {
  testing::write_music_folder(folder, form, testing::tiny_accompanist(more));
  return load_model(folder, DType::f32);
}

// A folder whose model says what the script tells.
struct Scripted {
  Scripted(MusicForm form, Script script)
      : model(std::move(script), music_tokenizer(form)->size()) {
    loaded.tokenizers = {music_tokenizer(form), music_tokenizer(form)};
    loaded.config.content = content_of(form);
    loaded.model = &model;
  }
  ScriptedModel model;
  LoadedModel loaded;
};

TEST(Conditioned, StepsEqualLogits) {
  const TemporaryFolder folder;
  const auto loaded = tiny_accompanist(folder / "m", MusicForm::chorale);
  const ConditionedModel model(*loaded->model, {70, 71, 72, 9, 2});
  EXPECT_EQ(model.context(), 0);
  EXPECT_EQ(model.vocabulary(), loaded->model->target_vocabulary());
  const Ids rows{1, 40, 41, 42, 43,   //
                 1, 50, 40, 60, 43};  // [2,5]
  const Tensor whole = model.logits(Tensor::from_ints(rows, {2, 5}));
  const int64_t width = model.vocabulary();
  const auto expect_equal = [&](const Tensor& found, int64_t at, int64_t row, int64_t position) {
    for (int64_t i = 0; i < width; ++i) {
      EXPECT_NEAR(found.data<float>()[at * width + i],
                  whole.data<float>()[(row * 5 + position) * width + i], 1e-4);
    }
  };
  const auto state = model.start();
  const Tensor prompt = model.step(Tensor::from_ints(Ids{1, 40, 1, 50}, {2, 2}), *state);
  expect_equal(prompt, 0, 0, 1);
  expect_equal(prompt, 1, 1, 1);
  const Tensor next = model.step(Tensor::from_ints(Ids{41, 40}, {2, 1}), *state);
  expect_equal(next, 0, 0, 2);
  expect_equal(next, 1, 1, 2);
  model.select(*state, std::vector<int64_t>{1});
  const Tensor alone = model.step(Tensor::from_ints(Ids{60}, {1, 1}), *state);
  expect_equal(alone, 0, 1, 3);
  // Another melody, other numbers.
  const ConditionedModel other(*loaded->model, {90, 91, 92, 9, 2});
  const Tensor changed = other.logits(Tensor::from_ints(rows, {2, 5}));
  EXPECT_GT(std::abs(changed.data<float>()[7] - whole.data<float>()[7]), 1e-4);
}

TEST(Conditioned, Errors) {
  const TemporaryFolder folder;
  const auto loaded = tiny_accompanist(folder / "m", MusicForm::chorale);
  EXPECT_EQ(error_of([&] { ConditionedModel(*loaded->model, {}); }),
            "[conditioned] the source has no tokens, expected at least END");
  const ConditionedModel model(*loaded->model, {2});
  const auto state = model.start();
  const Tensor tokens = Tensor::from_ints(Ids{1, 40, 1, 0}, {2, 2});
  EXPECT_EQ(error_of([&] {
              model.step(tokens, *state, std::vector<int64_t>{2, 1});
            }),
            "[conditioned] 2 rows of different lengths, expected all the same");
  EXPECT_EQ(error_of([&] { model.join(*state, *model.start()); }),
            "[conditioned] rows cannot be joined: a decoder's stand all at the same position");
}

// Alto, tenor and bass stand where they belong, and END is not said before the melody ends.
TEST(Accompany, HarmonisesSixteenthBySixteenth) {
  // Says END if it may, else the soprano of its own position, lower by 3, 8 and 24.
  const Script script = [](const Ids& source, const Ids& said) {
    static constexpr int32_t kBelow[] = {3, 8, 24};
    const int32_t soprano = source.at(said.size());
    const int32_t voice =
        soprano == 4 + kChoraleSilence ? soprano : soprano - kBelow[said.size() % 3];
    return Probabilities{{2, 0.9}, {voice, 0.1}};
  };
  const Scripted scripted(MusicForm::chorale, script);
  // At 120 quarters a minute a sixteenth lasts 0.125 s: two of 72, one silent, one of 74.
  const std::vector<Note> melody{note(0.0, 0.24, 72), note(0.375, 0.5, 74)};
  double share = 0.0;
  const auto pieces =
      accompany_melody(scripted.loaded, melody, {.quarters_per_minute = 120.0},
                       [&](const MusicProgress& progress) { share = progress.share; });
  ASSERT_EQ(pieces.size(), 1U);
  EXPECT_EQ(scripted.model.sources.front(),
            (Ids{76, 76, 76, 76, 76, 76, 132, 132, 132, 78, 78, 78, 2}));
  const Chorale expected{{72, 69, 64, 48},
                         {72, 69, 64, 48},
                         {kSilence, kSilence, kSilence, kSilence},
                         {74, 71, 66, 50}};
  EXPECT_EQ(pieces[0].notes, chorale_notes(expected, 120.0));
  EXPECT_DOUBLE_EQ(pieces[0].duration, 0.5);
  EXPECT_NEAR(share, 1.0, 1e-9);
}

TEST(Accompany, PerformancesEndWithEndOrAfterTheMelody) {
  const std::vector<Note> melody{note(0.0, 1.0, 72), note(1.0, 2.0, 76)};
  const Ids said{4 + 48, 4 + kTimeShift + 99, 4 + kNoteOff + 48, 2};  // a note of a second, END
  const auto sequence = [](Ids all) {
    return [all = std::move(all)](const Ids& /*source*/, const Ids& before) {
      return Probabilities{{all[before.size() % all.size()], 1.0}};
    };
  };
  const Scripted short_one(MusicForm::performance, sequence(said));
  const auto ended = accompany_melody(short_one.loaded, melody, {});
  EXPECT_EQ(ended[0].end, GenerateEnd::end_token);
  ASSERT_EQ(ended[0].notes.size(), 3U);
  EXPECT_EQ(ended[0].notes[0], melody[0]);
  EXPECT_EQ(ended[0].notes[1].pitch, 48);
  EXPECT_EQ(ended[0].notes[1].channel, 1);
  EXPECT_DOUBLE_EQ(ended[0].notes[1].end, 1.0);
  EXPECT_EQ(ended[0].notes[2], melody[1]);
  EXPECT_DOUBLE_EQ(ended[0].duration, 2.0);

  const Scripted endless(MusicForm::performance, sequence(Ids(said.begin(), said.end() - 1)));
  const auto cut = accompany_melody(endless.loaded, melody, {});
  EXPECT_EQ(cut[0].end, GenerateEnd::enough);
  EXPECT_EQ(cut[0].notes.size(), 5U);
  EXPECT_DOUBLE_EQ(cut[0].duration, 3.0);

  const Scripted timeless(MusicForm::performance, sequence({4 + 48, 4 + kNoteOff + 48}));
  const auto stuck = accompany_melody(timeless.loaded, melody, {});
  EXPECT_EQ(stuck[0].end, GenerateEnd::length);
  EXPECT_EQ(stuck[0].notes, melody);
}

// A piece is the same whatever their number.
TEST(Accompany, SeedsAndNumbers) {
  const TemporaryFolder folder;
  const std::vector<Note> melody{note(0.0, 1.0, 72), note(1.0, 1.5, 76)};
  for (const MusicForm form : {MusicForm::performance, MusicForm::chorale}) {
    const auto model = tiny_accompanist(folder / (form == MusicForm::chorale ? "c" : "p"), form);
    const auto three = accompany_melody(*model, melody, {.pieces = 3, .seed = 4});
    const auto again = accompany_melody(*model, melody, {.pieces = 1, .seed = 4});
    const auto other = accompany_melody(*model, melody, {.pieces = 1, .seed = 5});
    ASSERT_EQ(three.size(), 3U);
    EXPECT_EQ(three[0].notes, again[0].notes);
    EXPECT_NE(three[0].notes, three[1].notes);
    EXPECT_NE(three[0].notes, other[0].notes);
    for (const AccompaniedPiece& piece : three) {
      EXPECT_TRUE(std::is_sorted(piece.notes.begin(), piece.notes.end(),
                                 [](const Note& a, const Note& b) { return a.start < b.start; }));
    }
  }
}

TEST(Accompany, Errors) {
  const TemporaryFolder folder;
  const auto model = tiny_accompanist(folder / "m", MusicForm::chorale);
  EXPECT_EQ(error_of([&] { accompany_melody(*model, {}, {}); }),
            "[accompany] the melody has no notes, expected some");
  const std::vector<Note> hours{note(0.0, 7200.0, 60)};
  EXPECT_EQ(
      error_of([&] { accompany_melody(*model, hours, {.quarters_per_minute = 120.0}); }),
      "[continue] the file has 172800 tokens, expected at most 32768; use only its beginning with "
      "--motif-seconds");
  const auto bounded = tiny_accompanist(folder / "b", MusicForm::chorale,
                                        {{"positions", "learned"}, {"longest", 12}});
  const std::vector<Note> short_one{note(0.0, 0.5, 60)};
  const std::vector<Note> shorter{note(0.0, 0.375, 60)};
  EXPECT_EQ(
      error_of([&] { accompany_melody(*bounded, short_one, {.quarters_per_minute = 120.0}); }),
      "[accompany] the melody has 12 tokens, this model reads at most 11; use only its beginning "
      "with "
      "--motif-seconds");
  EXPECT_DOUBLE_EQ(accompany_melody(*bounded, shorter, {.quarters_per_minute = 120.0})[0].duration,
                   0.375);
}

}  // namespace
}  // namespace heed
