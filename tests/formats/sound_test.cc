// Sound of notes: a WAV file as others read it, as long as the notes and 2 s, loud where notes are.
#include "formats/sound.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/file.h"
#include "support/error_of.h"
#include "support/text_files.h"

namespace heed::testing {
namespace {

template <typename Number>
Number number_at(const std::string& bytes, size_t at) {
  Number number{};
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

class SoundTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!why_no_sound().empty()) {
      GTEST_SKIP() << "skipped: " << why_no_sound();
    }
  }
};

// Of the left channel, from and to in seconds.
double loudness(const std::string& wav, double from, double to) {
  double sum = 0.0;
  size_t frames = 0;
  for (auto frame = static_cast<size_t>(from * 44100.0);
       frame < static_cast<size_t>(to * 44100.0) && 44 + frame * 4 + 4 <= wav.size(); ++frame) {
    const double sample = number_at<int16_t>(wav, 44 + frame * 4);
    sum += sample * sample;
    ++frames;
  }
  return std::sqrt(sum / static_cast<double>(std::max<size_t>(frames, 1)));
}

const std::vector<Note> kTwoNotes{{.start = 0.5, .end = 1.0, .pitch = 69, .velocity = 100},
                                  {.start = 2.0, .end = 3.0, .pitch = 57, .velocity = 30}};

TEST_F(SoundTest, HeaderAndLength) {
  const std::string wav = encode_wav(kTwoNotes);
  ASSERT_GT(wav.size(), 44U);
  EXPECT_EQ(wav.substr(0, 4), "RIFF");
  EXPECT_EQ(number_at<uint32_t>(wav, 4), wav.size() - 8);
  EXPECT_EQ(wav.substr(8, 8), "WAVEfmt ");
  EXPECT_EQ(number_at<uint32_t>(wav, 16), 16U);
  EXPECT_EQ(number_at<uint16_t>(wav, 20), 1);  // integers
  EXPECT_EQ(number_at<uint16_t>(wav, 22), 2);
  EXPECT_EQ(number_at<uint32_t>(wav, 24), 44100U);
  EXPECT_EQ(number_at<uint32_t>(wav, 28), 44100U * 4);
  EXPECT_EQ(number_at<uint16_t>(wav, 32), 4);
  EXPECT_EQ(number_at<uint16_t>(wav, 34), 16);
  EXPECT_EQ(wav.substr(36, 4), "data");
  EXPECT_EQ(number_at<uint32_t>(wav, 40), wav.size() - 44);
  EXPECT_NEAR(static_cast<double>(wav.size() - 44) / 4 / 44100.0, 3.0 + 2.0, 0.005);
}

TEST_F(SoundTest, LoudWhereNotesAre) {
  const std::string wav = encode_wav(kTwoNotes);
  EXPECT_LT(loudness(wav, 0.0, 0.49), 5.0);
  EXPECT_GT(loudness(wav, 0.5, 0.9), 300.0);
  EXPECT_GT(loudness(wav, 2.0, 2.9), 20.0);
  EXPECT_GT(loudness(wav, 0.5, 0.9), 3.0 * loudness(wav, 2.0, 2.4));  // by velocity
  EXPECT_LT(loudness(wav, 4.8, 5.0), 0.1 * loudness(wav, 2.0, 2.9));  // has rung out
}

// A4 has 440 Hz: its waves cross zero upwards 440 times a second, nearly, once its overtones fade.
TEST_F(SoundTest, PitchIsRight) {
  const std::string wav =
      encode_wav(std::vector<Note>{{.start = 0.0, .end = 2.0, .pitch = 69, .velocity = 90}});
  constexpr size_t kLag = 100;  // 44100 / 440 = 100.2 frames
  double best = 0.0;
  size_t best_lag = 0;
  for (size_t lag = kLag - 20; lag <= kLag + 20; ++lag) {
    double product = 0.0;
    for (size_t frame = 44100 / 2; frame < 44100; ++frame) {
      product += static_cast<double>(number_at<int16_t>(wav, 44 + frame * 4)) *
                 number_at<int16_t>(wav, 44 + (frame + lag) * 4);
    }
    if (product > best) {
      best = product;
      best_lag = lag;
    }
  }
  EXPECT_NEAR(static_cast<double>(best_lag), 100.2, 1.3);
}

TEST_F(SoundTest, SameNotesSameBytes) { EXPECT_EQ(encode_wav(kTwoNotes), encode_wav(kTwoNotes)); }

TEST_F(SoundTest, NoNotesAreTwoSecondsOfSilence) {
  const std::string wav = encode_wav({});
  EXPECT_NEAR(static_cast<double>(wav.size() - 44) / 4 / 44100.0, 2.0, 0.005);
  EXPECT_LT(loudness(wav, 0.0, 2.0), 5.0);
}

TEST_F(SoundTest, Files) {
  const TemporaryFolder folder;
  write_wav(folder / "two.wav", kTwoNotes);
  EXPECT_EQ(read_file(folder / "two.wav"), encode_wav(kTwoNotes));
}

TEST_F(SoundTest, SaysWhatIsWrong) {
  const std::vector<Note> endless{{.start = 0.0, .end = 4000.0, .pitch = 60}};
  EXPECT_EQ(error_of([&] { encode_wav(endless); }),
            "[sound] a piece of 4000 s, expected at most 3600");
  const TemporaryFolder folder;
  const std::string bad = folder.write("bad.sf2", "RIFFnothing of the kind");
  ::setenv("HEED_SOUNDFONT", bad.c_str(), 1);
  EXPECT_EQ(error_of([] { encode_wav(kTwoNotes); }),
            "[sound] " + bad + " cannot be used as a soundfont");
  ::setenv("HEED_SOUNDFONT", (folder / "none.sf2").c_str(), 1);
  const std::string none = error_of([] { encode_wav(kTwoNotes); });
  ::unsetenv("HEED_SOUNDFONT");
  EXPECT_NE(none.find("there is no soundfont"), std::string::npos);
  EXPECT_NE(none.find("timgm6mb-soundfont"), std::string::npos);
}

}  // namespace
}  // namespace heed::testing
