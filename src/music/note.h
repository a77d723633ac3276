// Notes: what recordings, scores and MIDI files all come down to.
#pragma once

namespace heed {

struct Note {
  double start = 0.0;  // seconds
  double end = 0.0;
  int pitch = 60;     // MIDI's: 60 is middle C, 0 to 127
  int velocity = 64;  // 1 (softest) to 127
  int channel = 0;    // 0 to 15

  bool operator==(const Note&) const = default;
};

inline constexpr int kPitches = 128;
inline constexpr int kChannels = 16;
// Pitches on this channel are drums and cymbals ("channel 10", as musicians count).
inline constexpr int kPercussion = 9;
inline constexpr int kLowestPianoKey = 21;    // A0
inline constexpr int kHighestPianoKey = 108;  // C8
// No piece lasts longer. A few bytes of MIDI can claim years, which would be gigabytes of events.
inline constexpr double kLongestPiece = 24.0 * 3600.0;

}  // namespace heed
