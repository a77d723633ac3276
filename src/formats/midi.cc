#include "formats/midi.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "music/note_events.h"

namespace heed {
namespace {

constexpr uint32_t kDefaultTempo = 500'000;  // microseconds a quarter
constexpr uint32_t kLargestTempo = 0xFF'FFFF;
constexpr int64_t kLargestDelta = 0xFFF'FFFF;  // four bytes of seven bits
constexpr uint32_t kSustain = 64;
constexpr int kPedalDown = 64;

// Status bytes.
constexpr uint32_t kMidiNoteOff = 0x80;
constexpr uint32_t kMidiNoteOn = 0x90;
constexpr uint32_t kController = 0xB0;
constexpr uint32_t kProgram = 0xC0;
constexpr uint32_t kChannelPressure = 0xD0;
constexpr uint32_t kSystem = 0xF0;
constexpr uint32_t kSystemMore = 0xF7;
constexpr uint32_t kMeta = 0xFF;
// Meta events.
constexpr uint32_t kEndOfTrack = 0x2F;
constexpr uint32_t kTempo = 0x51;

// The keys of all channels in a row.
constexpr size_t kKeys = size_t{kChannels} * kPitches;

constexpr size_t key_of(int channel, int pitch) {
  return static_cast<size_t>(channel) * kPitches + static_cast<size_t>(pitch);
}

// Reads on in bytes that may end anywhere.
class Cursor {
 public:
  Cursor(std::span<const std::byte> bytes, std::string_view name)
      : bytes_(bytes), end_(bytes.size()), name_(name) {}

  size_t offset() const { return at_; }
  bool at_end() const { return at_ == end_; }

  template <typename... Args>
  [[noreturn]] void fail_at(size_t offset, fmt::format_string<Args...> format,
                            Args&&... args) const {
    fail("[midi] {} at byte {}: {}", name_, offset,
         fmt::format(format, std::forward<Args>(args)...));
  }

  uint32_t peek(const char* what) const {
    need(1, what);
    return std::to_integer<uint32_t>(bytes_[at_]);
  }
  uint32_t byte(const char* what) {
    const uint32_t value = peek(what);
    ++at_;
    return value;
  }
  uint32_t big_endian(size_t count, const char* what) {
    need(count, what);
    uint32_t value = 0;
    for (size_t i = 0; i < count; ++i) {
      value = value << 8 | byte(what);
    }
    return value;
  }
  // Seven bits per byte; the eighth is clear in the last byte.
  uint32_t variable(const char* what) {
    const size_t start = at_;
    uint32_t value = 0;
    for (int i = 0; i < 4; ++i) {
      const uint32_t next = byte(what);
      value = value << 7 | (next & 0x7F);
      if (next < 0x80) {
        return value;
      }
    }
    fail_at(start, "{} has more than 4 bytes", what);
  }
  // A data byte of a channel message.
  uint32_t data(const char* what) {
    const uint32_t value = byte(what);
    if (value >= 0x80) {
      fail_at(at_ - 1, "{} is {}, expected 0 to 127", what, value);
    }
    return value;
  }
  std::string_view text(size_t count, const char* what) {
    need(count, what);
    const auto* first = reinterpret_cast<const char*>(bytes_.data()) + at_;
    at_ += count;
    return {first, count};
  }
  void skip(size_t count, const char* what) {
    need(count, what);
    at_ += count;
  }
  // The next `count` bytes, as a cursor that ends after them.
  Cursor part(size_t count, const char* what) {
    need(count, what);
    Cursor result = *this;
    at_ += count;
    result.end_ = at_;
    return result;
  }

 private:
  void need(size_t count, const char* what) const {
    if (count > end_ - at_) {
      fail_at(at_, "{} of {} bytes, but only {} are left", what, count, end_ - at_);
    }
  }

  std::span<const std::byte> bytes_;
  size_t at_ = 0;
  size_t end_;
  std::string_view name_;
};

// What the tracks hold, in ticks.
struct Score {
  struct TickNote {
    int64_t start, end;
    int pitch, velocity, channel;
  };
  struct Pedal {
    int64_t tick;
    int channel, value;
  };
  struct Tempo {
    int64_t tick;
    uint32_t microseconds;  // a quarter
  };

  std::vector<TickNote> notes;
  std::vector<Pedal> pedals;
  std::vector<Tempo> tempos;
  int64_t end = 0;
  size_t longest_track = 0;  // its offset in the file
};

class TrackReader {
 public:
  TrackReader(const Cursor& cursor, Score& score) : cursor_(cursor), score_(score) {
    sounding_.fill(kNone);
  }

  void read() {
    const size_t start = cursor_.offset();
    while (!cursor_.at_end() && !ended_) {
      tick_ += cursor_.variable("a delta time");
      read_event();
    }
    for (const size_t note : sounding_) {
      if (note != kNone) {
        score_.notes[note].end = tick_;
      }
    }
    if (tick_ >= score_.end) {
      score_.end = tick_;
      score_.longest_track = start;
    }
  }

 private:
  static constexpr size_t kNone = std::numeric_limits<size_t>::max();

  void read_event() {
    const size_t start = cursor_.offset();
    uint32_t status = cursor_.peek("an event");
    if (status >= 0x80) {
      cursor_.skip(1, "an event");
    } else if (status_ == 0) {
      cursor_.fail_at(start, "data {} without a status before", status);
    } else {
      status = status_;
    }
    if (status < kSystem) {
      status_ = status;
      read_message(status & 0xF0, static_cast<int>(status & 0x0F));
    } else if (status == kMeta) {
      read_meta();
    } else if (status == kSystem || status == kSystemMore) {
      cursor_.skip(cursor_.variable("a length"), "system exclusive data");
    } else {
      cursor_.fail_at(start, "status {:#04x}, which files cannot have", status);
    }
  }

  void read_message(uint32_t kind, int channel) {
    const uint32_t first = cursor_.data("the first byte of a message");
    if (kind == kProgram || kind == kChannelPressure) {
      return;
    }
    const auto second = static_cast<int>(cursor_.data("the second byte of a message"));
    if (kind == kMidiNoteOn && second > 0) {
      begin_note(channel, static_cast<int>(first), second);
    } else if (kind == kMidiNoteOn || kind == kMidiNoteOff) {
      end_note(channel, static_cast<int>(first));
    } else if (kind == kController && first == kSustain) {
      score_.pedals.push_back({.tick = tick_, .channel = channel, .value = second});
    }
  }

  void read_meta() {
    const uint32_t type = cursor_.byte("the type of a meta event");
    const size_t start = cursor_.offset();
    const uint32_t length = cursor_.variable("a length");
    if (type != kTempo) {
      cursor_.skip(length, "a meta event");
      ended_ = type == kEndOfTrack;
      return;
    }
    if (length != 3) {
      cursor_.fail_at(start, "a tempo of {} bytes, expected 3", length);
    }
    const uint32_t tempo = cursor_.big_endian(3, "a tempo");
    if (tempo == 0) {
      cursor_.fail_at(start + 1, "a tempo of 0 microseconds a quarter");
    }
    score_.tempos.push_back({.tick = tick_, .microseconds = tempo});
  }

  size_t& sounding(int channel, int pitch) { return sounding_[key_of(channel, pitch)]; }

  void begin_note(int channel, int pitch, int velocity) {
    size_t& note = sounding(channel, pitch);
    if (note != kNone && score_.notes[note].start == tick_) {
      score_.notes[note].velocity = std::max(score_.notes[note].velocity, velocity);
      return;
    }
    end_note(channel, pitch);
    note = score_.notes.size();
    score_.notes.push_back(
        {.start = tick_, .end = tick_, .pitch = pitch, .velocity = velocity, .channel = channel});
  }

  void end_note(int channel, int pitch) {
    const size_t note = std::exchange(sounding(channel, pitch), kNone);
    if (note != kNone) {
      score_.notes[note].end = tick_;
    }
  }

  Cursor cursor_;
  Score& score_;
  int64_t tick_ = 0;
  uint32_t status_ = 0;  // the last of a message in a channel; 0: none yet
  bool ended_ = false;
  std::array<size_t, kKeys> sounding_;  // places in score_.notes
};

// Ticks to seconds.
class Clock {
 public:
  // `division`: bit 15 clear, ticks a quarter; set, a frame rate below it and ticks a frame.
  Clock(uint32_t division, const std::vector<Score::Tempo>& tempos) {
    if ((division & 0x8000) != 0) {
      const uint32_t rate = 256 - (division >> 8);
      // The rate called 29 is that of colour television.
      const double frames = rate == 29 ? 30'000.0 / 1001.0 : static_cast<double>(rate);
      segments_.push_back({0, 0.0, 1.0 / (frames * static_cast<double>(division & 0xFF))});
      return;
    }
    const double per_microsecond = 1e-6 / static_cast<double>(division);
    segments_.push_back({0, 0.0, kDefaultTempo * per_microsecond});
    for (const Score::Tempo& tempo : tempos) {
      segments_.push_back({tempo.tick, seconds(tempo.tick), tempo.microseconds * per_microsecond});
    }
  }

  double seconds(int64_t tick) const {
    const auto after = std::upper_bound(
        segments_.begin(), segments_.end(), tick,
        [](int64_t wanted, const Segment& segment) { return wanted < segment.tick; });
    const Segment& segment = *(after - 1);
    return segment.seconds + static_cast<double>(tick - segment.tick) * segment.seconds_per_tick;
  }

 private:
  struct Segment {
    int64_t tick;
    double seconds;
    double seconds_per_tick;
  };
  std::vector<Segment> segments_;  // by tick, the first at 0
};

struct Header {
  int format = 0;
  int tracks = 0;
  uint32_t division = 0;
};

void check_division(const Cursor& cursor, uint32_t division) {
  const size_t start = cursor.offset() - 2;
  if (division == 0) {
    cursor.fail_at(start, "a division of 0 ticks");
  }
  if ((division & 0x8000) != 0) {
    const uint32_t rate = 256 - (division >> 8);
    if (rate != 24 && rate != 25 && rate != 29 && rate != 30) {
      cursor.fail_at(start, "{} frames a second, expected 24, 25, 29 or 30", rate);
    }
    if ((division & 0xFF) == 0) {
      cursor.fail_at(start, "a division of 0 ticks a frame");
    }
  }
}

Header read_header(Cursor& cursor) {
  if (cursor.text(4, "the mark MThd") != "MThd") {
    cursor.fail_at(0, "no MThd, so this is not a MIDI file");
  }
  const uint32_t length = cursor.big_endian(4, "the header's length");
  if (length < 6) {
    cursor.fail_at(4, "a header of {} bytes, expected 6", length);
  }
  Cursor fields = cursor.part(length, "the header");
  Header header;
  header.format = static_cast<int>(fields.big_endian(2, "the format"));
  if (header.format == 2) {
    cursor.fail_at(8, "format 2, whose tracks are pieces of their own; only 0 and 1 are read");
  }
  if (header.format > 2) {
    cursor.fail_at(8, "format {}, expected 0 or 1", header.format);
  }
  header.tracks = static_cast<int>(fields.big_endian(2, "the number of tracks"));
  if (header.tracks == 0 || (header.format == 0 && header.tracks != 1)) {
    cursor.fail_at(10, "{} tracks in format {}, expected {}", header.tracks, header.format,
                   header.format == 0 ? "1" : "some");
  }
  header.division = fields.big_endian(2, "the division");
  check_division(fields, header.division);
  return header;
}

Score read_tracks(Cursor& cursor, int tracks) {
  Score score;
  for (int track = 0; track < tracks;) {
    const std::string_view mark = cursor.text(4, "the mark of a track");
    const uint32_t length = cursor.big_endian(4, "the length of a track");
    const Cursor content = cursor.part(length, "a track");
    if (mark == "MTrk") {  // others are for programs that know them
      TrackReader(content, score).read();
      ++track;
    }
  }
  const auto by_tick = [](const auto& a, const auto& b) { return a.tick < b.tick; };
  std::stable_sort(score.pedals.begin(), score.pedals.end(), by_tick);
  std::stable_sort(score.tempos.begin(), score.tempos.end(), by_tick);
  return score;
}

void sort_notes(std::vector<Note>& notes) {
  std::stable_sort(notes.begin(), notes.end(), [](const Note& a, const Note& b) {
    return std::tuple(a.start, a.pitch) < std::tuple(b.start, b.pitch);
  });
}

// When a channel's pedal is down, in order.
struct PedalDown {
  double from;
  double until;
};
using PedalTimes = std::vector<PedalDown>;

std::vector<PedalTimes> pedal_times(const MidiPiece& piece) {
  std::vector<PedalTimes> times(kChannels);
  std::array<bool, kChannels> down{};
  for (const MidiPedal& pedal : piece.pedals) {
    const auto channel = static_cast<size_t>(pedal.channel);
    const bool pressed = pedal.value >= kPedalDown;
    if (pressed && !down[channel]) {
      times[channel].push_back({.from = pedal.time, .until = piece.duration});
    } else if (!pressed && down[channel]) {
      times[channel].back().until = pedal.time;
    }
    down[channel] = pressed;
  }
  return times;
}

std::string big_endian(uint32_t value, int count) {
  std::string bytes;
  for (int i = count - 1; i >= 0; --i) {
    bytes += static_cast<char>(value >> (8 * i) & 0xFF);
  }
  return bytes;
}

// Builds the content of a track.
class TrackWriter {
 public:
  void meta(uint32_t type, std::string_view content) {
    variable(0);
    bytes_ += static_cast<char>(kMeta);
    bytes_ += static_cast<char>(type);
    variable(static_cast<int64_t>(content.size()));
    bytes_ += content;
  }

  // Running status: an "off" is an "on" of velocity 0, so that a channel's status is said once.
  void notes(std::span<const NoteEvent> events) {
    uint32_t last_status = 0;
    for (const NoteEvent& event : events) {
      variable(event.step - tick_);
      tick_ = event.step;
      const uint32_t status = kMidiNoteOn | static_cast<uint32_t>(event.channel);
      if (std::exchange(last_status, status) != status) {
        bytes_ += static_cast<char>(status);
      }
      bytes_ += static_cast<char>(event.pitch);
      bytes_ += static_cast<char>(event.on ? event.velocity : 0);
    }
  }

  std::string finish() {
    meta(kEndOfTrack, "");
    return std::move(bytes_);
  }

 private:
  void variable(int64_t value) {
    check(value <= kLargestDelta, "[midi] a rest of {} ticks, expected at most {}; use fewer ticks",
          value, kLargestDelta);
    for (int shift = 21; shift > 0; shift -= 7) {
      if (value >> shift != 0) {
        bytes_ += static_cast<char>((value >> shift & 0x7F) | 0x80);
      }
    }
    bytes_ += static_cast<char>(value & 0x7F);
  }

  std::string bytes_;
  int64_t tick_ = 0;
};

}  // namespace

MidiPiece decode_midi(std::span<const std::byte> bytes, std::string_view name) {
  Cursor cursor(bytes, name);
  const Header header = read_header(cursor);
  const Score score = read_tracks(cursor, header.tracks);
  const Clock clock(header.division, score.tempos);
  MidiPiece piece{.notes = {},
                  .pedals = {},
                  .tempos = {},
                  .duration = clock.seconds(score.end),
                  .format = header.format,
                  .tracks = header.tracks};
  if (piece.duration > kLongestPiece) {
    cursor.fail_at(score.longest_track, "a track of {:.0f} seconds, expected at most {:.0f}",
                   piece.duration, kLongestPiece);
  }
  piece.notes.reserve(score.notes.size());
  for (const Score::TickNote& note : score.notes) {
    piece.notes.push_back({.start = clock.seconds(note.start),
                           .end = clock.seconds(note.end),
                           .pitch = note.pitch,
                           .velocity = note.velocity,
                           .channel = note.channel});
  }
  sort_notes(piece.notes);
  for (const Score::Pedal& pedal : score.pedals) {
    piece.pedals.push_back(
        {.time = clock.seconds(pedal.tick), .channel = pedal.channel, .value = pedal.value});
  }
  for (const Score::Tempo& tempo : score.tempos) {
    piece.tempos.push_back(
        {.time = clock.seconds(tempo.tick), .quarters_per_minute = 60e6 / tempo.microseconds});
  }
  return piece;
}

MidiPiece read_midi(const std::filesystem::path& path) {
  const MappedFile file(path);
  return decode_midi(file.bytes(), path.string());
}

void apply_pedal(MidiPiece& piece) {
  const std::vector<PedalTimes> pedals = pedal_times(piece);
  std::vector<std::vector<double>> strikes(kKeys);
  const auto strikes_of = [&](const Note& note) -> std::vector<double>& {
    return strikes[key_of(note.channel, note.pitch)];
  };
  for (const Note& note : piece.notes) {
    strikes_of(note).push_back(note.start);
  }
  for (Note& note : piece.notes) {
    const PedalTimes& pedal = pedals[static_cast<size_t>(note.channel)];
    const auto next_down =
        std::upper_bound(pedal.begin(), pedal.end(), note.end,
                         [](double t, const auto& down) { return t < down.from; });
    if (next_down == pedal.begin() || (next_down - 1)->until <= note.end) {
      continue;
    }
    // A note of no length must not be cut by its own beginning.
    const std::vector<double>& same = strikes_of(note);
    const auto again = std::max(std::lower_bound(same.begin(), same.end(), note.end),
                                std::upper_bound(same.begin(), same.end(), note.start));
    const double lift = (next_down - 1)->until;
    note.end = again == same.end() ? lift : std::min(lift, *again);
  }
}

std::string encode_midi(std::span<const Note> notes, const MidiWriting& options) {
  check(options.format == 0 || options.format == 1, "[midi] format {}, expected 0 or 1",
        options.format);
  check(options.ticks_per_quarter >= 1 && options.ticks_per_quarter <= 0x7FFF,
        "[midi] {} ticks a quarter, expected 1 to {}", options.ticks_per_quarter, 0x7FFF);
  const double exact_tempo = 60e6 / options.quarters_per_minute;
  check(exact_tempo >= 1.0 && exact_tempo <= kLargestTempo,
        "[midi] {} quarter notes per minute, expected {:.2f} to 60000000",
        options.quarters_per_minute, 60e6 / kLargestTempo);
  const auto tempo = static_cast<uint32_t>(std::lround(exact_tempo));
  const std::vector<NoteEvent> events = note_events(notes, options.ticks_per_quarter * 1e6 / tempo);

  TrackWriter first;
  first.meta(kTempo, big_endian(tempo, 3));
  std::vector<std::string> tracks;
  if (options.format == 0) {
    first.notes(events);
    tracks.push_back(first.finish());
  } else {
    tracks.push_back(first.finish());
    for (int channel = 0; channel < kChannels; ++channel) {
      std::vector<NoteEvent> own;
      std::copy_if(events.begin(), events.end(), std::back_inserter(own),
                   [&](const NoteEvent& event) { return event.channel == channel; });
      if (!own.empty()) {
        TrackWriter track;
        track.notes(own);
        tracks.push_back(track.finish());
      }
    }
  }
  std::string file = "MThd" + big_endian(6, 4) +
                     big_endian(static_cast<uint32_t>(options.format), 2) +
                     big_endian(static_cast<uint32_t>(tracks.size()), 2) +
                     big_endian(static_cast<uint32_t>(options.ticks_per_quarter), 2);
  for (const std::string& track : tracks) {
    file += "MTrk" + big_endian(static_cast<uint32_t>(track.size()), 4) + track;
  }
  return file;
}

void write_midi(const std::filesystem::path& path, std::span<const Note> notes,
                const MidiWriting& options) {
  write_file(path, encode_midi(notes, options));
}

}  // namespace heed
