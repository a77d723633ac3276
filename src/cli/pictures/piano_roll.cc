#include "cli/pictures/piano_roll.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "cli/pictures/canvas.h"
#include "cli/pictures/label.h"
#include "decode/music/accompany.h"

namespace heed::cli {
namespace {

// All in units.
constexpr int kMargin = 16;
constexpr int kLine = 16;
constexpr int kLeft = kMargin + 26;  // of the names of C's
constexpr int kWidth = 960;
constexpr int kTop = kMargin + 2 * kLine + 14;  // below the title and the legend
constexpr int kAxis = 22;                       // below each row
constexpr int kGap = 12;                        // between rows
constexpr size_t kTitleLetters = 120;

constexpr int kOctave = 12;
constexpr int kFewestKeys = 2 * kOctave;
constexpr Rgb kMotifColour{0x00, 0x72, 0xB2};  // as Okabe and Ito: told apart by everybody
constexpr Rgb kNewColour{0xD5, 0x5E, 0x00};
constexpr Rgb kOctaveLine{0xDC, 0xE1, 0xE6};
constexpr Rgb kMotifLine{0x6A, 0x73, 0x7D};

// As if it were drawn with this opacity on white.
Rgb faded(Rgb colour, double opacity) {
  for (uint8_t& part : colour) {
    part = static_cast<uint8_t>(std::lround(255.0 - opacity * (255.0 - part)));
  }
  return colour;
}

double opacity_of(int velocity) {
  constexpr double kFaintest = 0.25;
  return kFaintest + (1.0 - kFaintest) * std::clamp(velocity, 0, 127) / 127.0;
}

// The seconds of a row: few enough to tell notes apart, as long as the rows are not too many.
double row_seconds(double duration) {
  constexpr double kShort = 24.0;
  constexpr int kMostRows = 12;
  if (duration <= kShort) {
    return std::max(1.0, std::ceil(duration));
  }
  for (const double seconds : {20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0}) {
    if (duration <= kMostRows * seconds) {
      return seconds;
    }
  }
  return std::ceil(duration / kMostRows);
}

double tick_seconds(double row) {
  for (const double seconds : {1.0, 2.0, 5.0, 10.0, 20.0, 60.0, 120.0, 300.0}) {
    if (row / seconds <= 14.0) {
      return seconds;
    }
  }
  return std::ceil(row / 10.0);
}

class RollPicture {
 public:
  explicit RollPicture(const PianoRoll& roll)
      : roll_(roll), title_(shortened(printable(roll.title), kTitleLetters)) {
    double end = roll.motif_end;
    for (const Note& note : roll.notes) {
      check(note.start >= 0.0 && note.start <= note.end && note.end <= kLongestPiece,
            "[roll] a note from {} to {} s, expected 0 to {}", note.start, note.end, kLongestPiece);
      check(note.pitch >= 0 && note.pitch < kPitches, "[roll] pitch {}, expected 0 to {}",
            note.pitch, kPitches - 1);
      end = std::max(end, note.end);
      lowest_ = std::min(lowest_, note.pitch);
      highest_ = std::max(highest_, note.pitch);
    }
    if (roll.notes.empty()) {
      lowest_ = highest_ = 60;
    }
    // Some room, and never so few keys that a melody looks like a wild one.
    const int missing = std::max(2, (kFewestKeys - (highest_ - lowest_ + 1) + 1) / 2);
    lowest_ = std::max(0, lowest_ - missing);
    highest_ = std::min(kPitches - 1, highest_ + missing);
    seconds_ = row_seconds(end);
    rows_ = std::max(1, static_cast<int>(std::ceil(end / seconds_)));
    key_ = rows_ <= 2 ? 4 : 3;
  }

  const std::string& title() const { return title_; }
  int width() const { return kLeft + kWidth + kMargin; }
  int height() const { return kTop + rows_ * (row_height() + kAxis + kGap) - kGap + kMargin; }

  void draw(Canvas& canvas) const {
    canvas.text(kMargin, kMargin + kLine / 2, title_, {.size = TextStyle::Size::kLarge});
    draw_legend(canvas);
    for (int row = 0; row < rows_; ++row) {
      draw_row(canvas, row);
    }
    for (const Note& note : roll_.notes) {
      draw_note(canvas, note);
    }
  }

 private:
  int row_height() const { return (highest_ - lowest_ + 1) * key_; }
  int top_of(int row) const { return kTop + row * (row_height() + kAxis + kGap); }
  int y_of(int row, int pitch) const { return top_of(row) + (highest_ - pitch) * key_; }
  // `seconds` from the beginning of its row.
  int x_of(double seconds) const {
    return kLeft + static_cast<int>(std::lround(seconds / seconds_ * kWidth));
  }
  bool is_motif(const Note& note) const {
    return roll_.accompanied ? note.channel == kMelodyChannel : note.start < roll_.motif_end;
  }

  void draw_legend(Canvas& canvas) const {
    constexpr int kSwatch = 10;
    const int y = kMargin + kLine + kLine / 2 + 4;
    int x = kMargin;
    const auto swatch = [&](Rgb colour) {
      canvas.fill({x, y - kSwatch / 2, kSwatch, kSwatch}, colour);
      x += kSwatch + 5;
    };
    const auto entry = [&](const std::string& text) {
      canvas.text(x, y, text, {});
      x += text_width(text) + 18;
    };
    const auto motif = std::count_if(roll_.notes.begin(), roll_.notes.end(),
                                     [&](const Note& note) { return is_motif(note); });
    if (motif > 0) {
      swatch(kMotifColour);
      entry(fmt::format("{}: {} notes", roll_.accompanied ? "melody" : "motif", motif));
    }
    swatch(kNewColour);
    const char* const made = roll_.accompanied ? "accompaniment"
                             : motif > 0       ? "continuation"
                                               : "improvisation";
    entry(fmt::format("{}: {} notes", made, std::ssize(roll_.notes) - motif));
    canvas.text(x, y, "soft", {.quiet = true});
    x += text_width("soft") + 4;
    for (const int velocity : {1, 32, 64, 96, 127}) {
      canvas.fill({x, y - kSwatch / 2, kSwatch, kSwatch}, faded(kNewColour, opacity_of(velocity)));
      x += kSwatch;
    }
    canvas.text(x + 4, y, "loud", {.quiet = true});
  }

  void draw_row(Canvas& canvas, int row) const {
    const int top = top_of(row);
    const int bottom = top + row_height();
    canvas.frame({kLeft, top, kWidth, row_height()});
    for (int pitch = lowest_; pitch <= highest_; ++pitch) {
      if (pitch % kOctave == 0) {
        // Below the key, where the octave begins.
        const int y = y_of(row, pitch) + key_ - 1;
        canvas.fill({kLeft, y, kWidth, 1}, kOctaveLine);
        canvas.text(kLeft - 6, y - key_ / 2, pitch_name(pitch),
                    {.anchor = TextEnd::kEnd, .quiet = true});
      }
    }
    const double tick = tick_seconds(seconds_);
    const double begin = row * seconds_;
    for (double at = std::ceil(begin / tick) * tick; at <= begin + seconds_; at += tick) {
      const int x = x_of(at - begin);
      canvas.fill({x, bottom, 1, 4}, kMotifLine);
      canvas.text(x, bottom + 12, fmt::format("{:.0f} s", at),
                  {.anchor = TextEnd::kMiddle, .quiet = true});
    }
    const double motif_end = roll_.motif_end - begin;
    if (roll_.motif_end > 0.0 && motif_end > 0.0 && motif_end <= seconds_) {
      canvas.fill({x_of(motif_end), top, 1, row_height()}, kMotifLine);
    }
  }

  void draw_note(Canvas& canvas, const Note& note) const {
    const Rgb colour = faded(is_motif(note) ? kMotifColour : kNewColour, opacity_of(note.velocity));
    const int first = std::min(rows_ - 1, static_cast<int>(note.start / seconds_));
    const int last =
        std::clamp(static_cast<int>(std::ceil(note.end / seconds_)) - 1, first, rows_ - 1);
    for (int row = first; row <= last; ++row) {
      const int begin = x_of(std::max(0.0, note.start - row * seconds_));
      const int end = x_of(std::min(seconds_, note.end - row * seconds_));
      // A gap keeps repeated notes apart.
      const int width = std::max(1, end - begin - (end - begin > 2 ? 1 : 0));
      canvas.fill({begin, y_of(row, note.pitch), width, key_}, colour);
    }
  }

  const PianoRoll& roll_;
  std::string title_;
  int lowest_ = kPitches;
  int highest_ = -1;
  double seconds_ = 1.0;  // of a row
  int rows_ = 1;
  int key_ = 4;  // height of a semitone
};

}  // namespace

std::string pitch_name(int pitch) {
  static constexpr std::array kNames{"C",  "C#", "D",  "D#", "E",  "F",
                                     "F#", "G",  "G#", "A",  "A#", "B"};
  return fmt::format("{}{}", kNames.at(static_cast<size_t>(pitch % kOctave)), pitch / kOctave - 1);
}

std::string render_roll_svg(const PianoRoll& roll) {
  const RollPicture picture(roll);
  SvgCanvas canvas(picture.width(), picture.height(), picture.title());
  picture.draw(canvas);
  return canvas.finish();
}

std::string render_roll_png(const PianoRoll& roll) {
  const RollPicture picture(roll);
  PixelCanvas canvas(picture.width(), picture.height());
  picture.draw(canvas);
  return encode_png(canvas.image());
}

}  // namespace heed::cli
