#include "formats/midi.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <random>

#include "base/file.h"
#include "format_bytes.h"
#include "support/error_of.h"

namespace heed {
namespace {

using testing::bytes_of;
using testing::error_of;

// Files put together here, byte by byte as the standard says, without the writer.
std::string bytes(std::initializer_list<int> values) {
  std::string text;
  for (const int value : values) {
    text += static_cast<char>(value);
  }
  return text;
}

std::string header(int format, int tracks, int division) {
  return "MThd" + bytes({0, 0, 0, 6, 0, format, 0, tracks, division >> 8 & 0xFF, division & 0xFF});
}

const std::string kEnd = bytes({0, 0xFF, 0x2F, 0});

std::string track(const std::string& content) {
  const auto size = static_cast<int>(content.size());
  return "MTrk" + bytes({size >> 24 & 0xFF, size >> 16 & 0xFF, size >> 8 & 0xFF, size & 0xFF}) +
         content;
}

// One track at 100 ticks a quarter, 120 quarters a minute: a tick is 5 ms.
std::string file_of(const std::string& events) { return header(0, 1, 100) + track(events + kEnd); }

MidiPiece decode(const std::string& file) {
  // From memory of exactly its size, so that the address sanitizer notices reading on.
  const std::vector<char> copy(file.begin(), file.end());
  return decode_midi(std::as_bytes(std::span(copy)), "a.mid");
}

void expect_notes(const std::vector<Note>& found, const std::vector<Note>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i].start, expected[i].start, 1e-9) << "note " << i;
    EXPECT_NEAR(found[i].end, expected[i].end, 1e-9) << "note " << i;
    EXPECT_EQ(found[i].pitch, expected[i].pitch) << "note " << i;
    EXPECT_EQ(found[i].velocity, expected[i].velocity) << "note " << i;
    EXPECT_EQ(found[i].channel, expected[i].channel) << "note " << i;
  }
}

TEST(Midi, ReadsNotes) {
  const MidiPiece piece = decode(file_of(bytes({0,    0x92, 60,   70,     // channel 2 at 0
                                                20,   0x92, 64,   80,     // at 0.1 s
                                                0x81, 0x48, 0x82, 60, 0,  // 200 ticks later
                                                20,   0x82, 64,   33,     // at 1.2 s
                                                100,  0xC0, 5})));
  expect_notes(piece.notes, {{0.0, 1.1, 60, 70, 2}, {0.1, 1.2, 64, 80, 2}});
  EXPECT_DOUBLE_EQ(piece.duration, 1.7);
  EXPECT_EQ(piece.format, 0);
  EXPECT_EQ(piece.tracks, 1);
  EXPECT_TRUE(piece.tempos.empty());
}

TEST(Midi, RunningStatusAndVelocityZero) {
  const MidiPiece piece =
      decode(file_of(bytes({0, 0x90, 60, 70, 10, 62, 71, 10, 60, 0, 10, 62, 0})));
  expect_notes(piece.notes, {{0.0, 0.1, 60, 70, 0}, {0.05, 0.15, 62, 71, 0}});
}

TEST(Midi, SkipsOtherEvents) {
  const std::string others = bytes({0, 0xA0, 60, 1,  0, 0xB0, 7, 100, 0, 0xC0, 3, 0,    0xD0, 9,
                                    0, 0xE0, 0,  64, 0, 0xF0, 3, 1,   2, 0xF7, 0, 0xF7, 1,    9}) +
                             bytes({0, 0xFF, 0x01, 5}) + "title" +
                             bytes({0, 0xFF, 0x58, 4, 4, 2, 24, 8});
  // The note's "off" uses the status from before a meta event.
  const MidiPiece piece =
      decode(file_of(others + bytes({0, 0x90, 60, 70, 0, 0xFF, 6, 1, 'x'}) + bytes({10, 60, 0})));
  expect_notes(piece.notes, {{0.0, 0.05, 60, 70, 0}});
  EXPECT_TRUE(piece.pedals.empty());
}

TEST(Midi, SkipsUnknownChunksLongHeadersAndWhatFollows) {
  const std::string notes = bytes({0, 0x90, 60, 70, 10, 60, 0}) + kEnd;
  const std::string file = "MThd" + bytes({0, 0, 0, 8, 0, 0, 0, 1, 0, 100, 7, 7}) + "XFIH" +
                           bytes({0, 0, 0, 2, 1, 2}) + track(notes) + "rest";
  expect_notes(decode(file).notes, {{0.0, 0.05, 60, 70, 0}});
}

TEST(Midi, StruckAgain) {
  // The second "on" ends the first note, the first "off" the second, the second "off" nothing.
  const MidiPiece piece =
      decode(file_of(bytes({0, 0x90, 60, 70, 10, 60, 80, 10, 60, 0, 10, 60, 0})));
  expect_notes(piece.notes, {{0.0, 0.05, 60, 70, 0}, {0.05, 0.1, 60, 80, 0}});
  // At the same moment they are one.
  expect_notes(decode(file_of(bytes({0, 0x90, 60, 70, 0, 60, 80, 0, 60, 75, 10, 60, 0}))).notes,
               {{0.0, 0.05, 60, 80, 0}});
  // Other channels are other keys.
  expect_notes(
      decode(file_of(bytes({0, 0x90, 60, 70, 10, 0x91, 60, 80, 10, 0x80, 60, 0, 10, 0x81, 60, 0})))
          .notes,
      {{0.0, 0.1, 60, 70, 0}, {0.05, 0.15, 60, 80, 1}});
}

TEST(Midi, NotesLeftOpenEndWithTheirTrack) {
  expect_notes(decode(file_of(bytes({0, 0x90, 60, 70, 20, 0xC0, 1}))).notes,
               {{0.0, 0.1, 60, 70, 0}});
  // A track that lacks its end event, and a longer one beside it.
  const std::string file = header(1, 2, 100) + track(bytes({0, 0x90, 60, 70, 20, 0xC0, 1})) +
                           track(bytes({40, 0xC0, 1}) + kEnd);
  const MidiPiece piece = decode(file);
  expect_notes(piece.notes, {{0.0, 0.1, 60, 70, 0}});
  EXPECT_DOUBLE_EQ(piece.duration, 0.2);
}

TEST(Midi, TemposCountForAllTracks) {
  // 250 ms a quarter from tick 100 on, one second from tick 200 on.
  const std::string tempos = bytes({100, 0xFF, 0x51, 3, 0x03, 0xD0, 0x90}) +
                             bytes({100, 0xFF, 0x51, 3, 0x0F, 0x42, 0x40}) + kEnd;
  const std::string notes =
      bytes({50, 0x90, 60, 70, 100, 60, 0, 0x81, 0x16, 62, 9, 5, 62, 0}) + kEnd;
  const MidiPiece piece = decode(header(1, 2, 100) + track(tempos) + track(notes));
  // Ticks 50, 150, 300 and 305.
  expect_notes(piece.notes, {{0.25, 0.625, 60, 70, 0}, {1.75, 1.80, 62, 9, 0}});
  ASSERT_EQ(piece.tempos.size(), 2U);
  EXPECT_DOUBLE_EQ(piece.tempos[0].time, 0.5);
  EXPECT_DOUBLE_EQ(piece.tempos[0].quarters_per_minute, 240.0);
  EXPECT_DOUBLE_EQ(piece.tempos[1].time, 0.75);
  EXPECT_DOUBLE_EQ(piece.tempos[1].quarters_per_minute, 60.0);
}

TEST(Midi, FramesDivision) {
  const std::string notes =
      bytes({0, 0xFF, 0x51, 3, 0x03, 0xD0, 0x90, 100, 0x90, 60, 70, 100, 60, 0}) + kEnd;
  // 25 frames of 40 ticks are milliseconds, whatever the tempo.
  expect_notes(decode(header(0, 1, 0xE728) + track(notes)).notes, {{0.1, 0.2, 60, 70, 0}});
  // 29 is 30000/1001: 100 ticks at 10 a frame are 10 frames.
  expect_notes(decode(header(0, 1, 0xE30A) + track(notes)).notes,
               {{10 * 1001.0 / 30000.0, 20 * 1001.0 / 30000.0, 60, 70, 0}});
}

TEST(Midi, HandsInTracksOfOneChannel) {
  // The left hand's note ends when the right hand strikes the same key; it must not end that one.
  const std::string right = bytes({20, 0x90, 60, 70, 20, 60, 0}) + kEnd;
  const std::string left = bytes({0, 0x90, 60, 50, 20, 60, 0}) + kEnd;
  expect_notes(decode(header(1, 2, 100) + track(right) + track(left)).notes,
               {{0.0, 0.1, 60, 50, 0}, {0.1, 0.2, 60, 70, 0}});
}

TEST(Midi, Pedal) {
  const std::string events =
      bytes({0,  0x90, 60, 70,  0,  64,   70, 0, 67, 70,  // three keys
             10, 0xB0, 64, 127,                           // down at 0.05
             10, 0x90, 60, 0,   10, 60,   50,             // 60: released 0.1, struck again 0.15
             10, 64,   0,                                 // 64: released 0.2
             10, 0xB0, 64, 63,                            // up at 0.25
             0,  0x90, 67, 0,                             // 67: released as the pedal lifts
             10, 0xB0, 64, 64,  10, 0x90, 60, 0, 20, 0xC0, 1});  // down again 0.3, 60 released 0.35
  MidiPiece piece = decode(file_of(events));
  const std::vector<Note> as_played = piece.notes;
  expect_notes(as_played, {{0.0, 0.1, 60, 70, 0},
                           {0.0, 0.2, 64, 70, 0},
                           {0.0, 0.25, 67, 70, 0},
                           {0.15, 0.35, 60, 50, 0}});
  ASSERT_EQ(piece.pedals.size(), 3U);
  EXPECT_DOUBLE_EQ(piece.pedals[1].time, 0.25);
  EXPECT_EQ(piece.pedals[1].value, 63);
  apply_pedal(piece);
  expect_notes(piece.notes, {{0.0, 0.15, 60, 70, 0},  // until struck again
                             {0.0, 0.25, 64, 70, 0},  // until the pedal lifts
                             {0.0, 0.25, 67, 70, 0},
                             {0.15, 0.45, 60, 50, 0}});  // until the end
}

TEST(Midi, PedalOfAnotherTrackAndOfAnotherChannel) {
  const std::string pedals = bytes({0, 0xB0, 64, 100, 60, 64, 0}) + kEnd;
  const std::string notes = bytes({0, 0x90, 60, 70, 0, 60, 0,  // no length, held
                                   0, 0x91, 62, 70, 20, 62, 0}) +
                            kEnd;
  MidiPiece piece = decode(header(1, 2, 100) + track(notes) + track(pedals));
  apply_pedal(piece);
  expect_notes(piece.notes, {{0.0, 0.3, 60, 70, 0}, {0.0, 0.1, 62, 70, 1}});
}

// The rule as it is written in the header, looked up note by note.
double end_with_pedal(const MidiPiece& piece, const Note& note) {
  bool down = false;
  double lift = piece.duration;
  for (const MidiPedal& pedal : piece.pedals) {
    if (pedal.channel != note.channel) {
      continue;
    }
    if (pedal.time <= note.end) {
      down = pedal.value >= 64;
    } else if (pedal.value < 64) {
      lift = std::min(lift, pedal.time);
    }
  }
  for (const Note& other : piece.notes) {
    if (other.channel == note.channel && other.pitch == note.pitch && other.start >= note.end &&
        other.start > note.start) {
      lift = std::min(lift, other.start);
    }
  }
  return down ? std::max(lift, note.end) : note.end;
}

TEST(Midi, PedalOfRandomPieces) {
  std::mt19937 random(64);
  size_t held = 0;
  for (int round = 0; round < 300; ++round) {
    MidiPiece piece;
    piece.duration = 60.0;
    for (uint32_t i = random() % 40; i > 0; --i) {
      const double start = random() % 50;
      piece.notes.push_back({start, start + random() % 9, static_cast<int>(random() % 4), 64,
                             static_cast<int>(random() % 2)});
    }
    for (uint32_t i = random() % 20; i > 0; --i) {
      piece.pedals.push_back({static_cast<double>(random() % 60), static_cast<int>(random() % 2),
                              static_cast<int>(random() % 128)});
    }
    std::ranges::sort(piece.notes, {}, &Note::start);
    std::ranges::stable_sort(piece.pedals, {}, &MidiPedal::time);
    MidiPiece changed = piece;
    apply_pedal(changed);
    for (size_t i = 0; i < piece.notes.size(); ++i) {
      EXPECT_EQ(changed.notes[i].end, end_with_pedal(piece, piece.notes[i]));
      held += changed.notes[i].end > piece.notes[i].end ? 1 : 0;
    }
  }
  EXPECT_GT(held, 1000U);
}

TEST(Midi, ErrorsSayWhereAndWhat) {
  const auto error = [](const std::string& file) { return error_of([&] { decode(file); }); };
  EXPECT_EQ(error(""), "[midi] a.mid at byte 0: the mark MThd of 4 bytes, but only 0 are left");
  EXPECT_EQ(error("RIFFxxxx"), "[midi] a.mid at byte 0: no MThd, so this is not a MIDI file");
  EXPECT_EQ(error(header(2, 1, 96)),
            "[midi] a.mid at byte 8: format 2, whose tracks are pieces of their own; only 0 and 1 "
            "are read");
  EXPECT_EQ(error(header(3, 1, 96)), "[midi] a.mid at byte 8: format 3, expected 0 or 1");
  EXPECT_EQ(error(header(1, 0, 96)),
            "[midi] a.mid at byte 10: 0 tracks in format 1, expected some");
  EXPECT_EQ(error(header(0, 2, 96)), "[midi] a.mid at byte 10: 2 tracks in format 0, expected 1");
  EXPECT_EQ(error(header(0, 1, 0)), "[midi] a.mid at byte 12: a division of 0 ticks");
  EXPECT_EQ(error(header(0, 1, 0xE700)), "[midi] a.mid at byte 12: a division of 0 ticks a frame");
  EXPECT_EQ(error(header(0, 1, 0xFF01)),
            "[midi] a.mid at byte 12: 1 frames a second, expected 24, 25, 29 or 30");
  EXPECT_EQ(error("MThd" + bytes({0, 0, 0, 5, 0, 0, 0, 1, 0})),
            "[midi] a.mid at byte 4: a header of 5 bytes, expected 6");
  EXPECT_EQ(error(header(0, 1, 96) + "MTrk" + bytes({0xFF, 0xFF, 0xFF, 0xFF, 0})),
            "[midi] a.mid at byte 22: a track of 4294967295 bytes, but only 1 are left");
  EXPECT_EQ(error(header(1, 2, 96) + track(kEnd)),
            "[midi] a.mid at byte 26: the mark of a track of 4 bytes, but only 0 are left");
  EXPECT_EQ(error(file_of(bytes({0, 60, 70}))),
            "[midi] a.mid at byte 23: data 60 without a status before");
  EXPECT_EQ(error(file_of(bytes({0, 0xF8}))),
            "[midi] a.mid at byte 23: status 0xf8, which files cannot have");
  EXPECT_EQ(error(file_of(bytes({0, 0x90, 60, 200}))),
            "[midi] a.mid at byte 25: the second byte of a message is 200, expected 0 to 127");
  EXPECT_EQ(error(file_of(bytes({0x80, 0x80, 0x80, 0x80, 0}))),
            "[midi] a.mid at byte 22: a delta time has more than 4 bytes");
  EXPECT_EQ(error(file_of(bytes({0, 0xFF, 0x51, 2, 1, 2}))),
            "[midi] a.mid at byte 25: a tempo of 2 bytes, expected 3");
  EXPECT_EQ(error(file_of(bytes({0, 0xFF, 0x51, 3, 0, 0, 0}))),
            "[midi] a.mid at byte 26: a tempo of 0 microseconds a quarter");
  EXPECT_EQ(error(file_of(bytes({0, 0xFF, 1, 0xFF, 0xFF, 0xFF, 0x7F}))),
            "[midi] a.mid at byte 29: a meta event of 268435455 bytes, but only 4 are left");
  // 2^28 ticks of 5 ms
  EXPECT_EQ(error(file_of(bytes({0xFF, 0xFF, 0xFF, 0x7F, 0xC0, 1}))),
            "[midi] a.mid at byte 22: a track of 1342177 seconds, expected at most 86400");
}

const std::vector<Note> kPiece = {{0.0, 0.5, 60, 70, 0},     {0.0, 0.25, 64, 1, 3},
                                  {0.001, 0.002, 72, 33, 9}, {0.25, 1.25, 64, 127, 3},
                                  {0.5, 700.0, 60, 90, 0},   {600.0, 600.5, 0, 5, 15},
                                  {600.0, 601.0, 127, 6, 15}};

TEST(Midi, WritesWhatItReads) {
  for (const int format : {0, 1}) {
    const MidiPiece piece = decode(encode_midi(kPiece, {.format = format}));
    expect_notes(piece.notes, kPiece);
    EXPECT_EQ(piece.format, format);
    EXPECT_EQ(piece.tracks, format == 0 ? 1 : 5);
    EXPECT_DOUBLE_EQ(piece.duration, 700.0);
    ASSERT_EQ(piece.tempos.size(), 1U);
    EXPECT_DOUBLE_EQ(piece.tempos[0].quarters_per_minute, 120.0);
  }
  // Coarser ticks: 24 a quarter, 60 quarters a minute.
  const MidiPiece coarse =
      decode(encode_midi(std::vector<Note>{{0.02, 0.99, 60, 70, 0}},
                         {.ticks_per_quarter = 24, .quarters_per_minute = 60.0}));
  expect_notes(coarse.notes, {{0.0, 1.0, 60, 70, 0}});
  EXPECT_TRUE(decode(encode_midi({})).notes.empty());
}

TEST(Midi, WritesTheBytesOfTheStandard) {
  const std::string expected =
      header(0, 1, 500) +
      track(bytes({0, 0xFF, 0x51, 3, 0x07, 0xA1, 0x20, 0, 0x90, 60, 70, 0x83, 0x74, 60, 0}) +
            kEnd);  // 500 ticks are 0x83 0x74
  EXPECT_EQ(encode_midi(std::vector<Note>{{0.0, 0.5, 60, 70, 0}}), expected);
}

TEST(Midi, WritesOverlappingNotes) {
  const std::vector<Note> notes = {{0.0, 1.0, 60, 70, 0},
                                   {0.5, 0.7, 60, 80, 0},
                                   {2.0, 2.0, 61, 9, 0},
                                   {3.0, 3.5, 62, 50, 0},
                                   {3.0, 3.2, 62, 60, 0}};
  expect_notes(decode(encode_midi(notes)).notes, {{0.0, 0.5, 60, 70, 0},
                                                  {0.5, 0.7, 60, 80, 0},
                                                  {2.0, 2.001, 61, 9, 0},
                                                  {3.0, 3.5, 62, 60, 0}});
}

TEST(Midi, WriterRefusesWhatNoFileCanHold) {
  const auto error = [](const Note& note, const MidiWriting& options = {}) {
    return error_of([&] { encode_midi(std::vector<Note>{note}, options); });
  };
  EXPECT_EQ(error({0, 1, 128, 1, 0}), "[notes] note 0 has pitch 128, expected 0 to 127");
  EXPECT_EQ(error({0, 1, 60, 0, 0}), "[notes] note 0 has velocity 0, expected 1 to 127");
  EXPECT_EQ(error({0, 1, 60, 1, 16}), "[notes] note 0 has channel 16, expected 0 to 15");
  EXPECT_EQ(error({2, 1, 60, 1, 0}),
            "[notes] note 0 lasts from 2 to 1 s, expected 0 <= start <= end <= 86400");
  EXPECT_EQ(error({0, std::nan(""), 60, 1, 0}),
            "[notes] note 0 lasts from 0 to nan s, expected 0 <= start <= end <= 86400");
  EXPECT_EQ(error({}, {.format = 2}), "[midi] format 2, expected 0 or 1");
  EXPECT_EQ(error({}, {.ticks_per_quarter = 0}), "[midi] 0 ticks a quarter, expected 1 to 32767");
  EXPECT_EQ(error({}, {.quarters_per_minute = 0.0}),
            "[midi] 0 quarter notes per minute, expected 3.58 to 60000000");
  EXPECT_EQ(error({0, 86000, 60, 1, 0}, {.ticks_per_quarter = 30000}),
            "[midi] a rest of 5160000000 ticks, expected at most 268435455; use fewer ticks");
}

TEST(Midi, EveryTruncationIsAnError) {
  for (const int format : {0, 1}) {
    testing::expect_truncation_errors(encode_midi(kPiece, {.format = format}),
                                      [](std::string_view part) { decode_midi(bytes_of(part)); });
  }
}

TEST(Midi, DamageIsAnErrorOrAPiece) {
  const std::string whole = encode_midi(kPiece, {.format = 1});
  const int copies = 20000;
  const int errors = testing::count_errors_of_damage(whole, copies, [](std::string_view part) {
    MidiPiece piece = decode_midi(bytes_of(part));
    apply_pedal(piece);
    EXPECT_LE(piece.notes.size(), part.size());
    for (const Note& note : piece.notes) {
      EXPECT_TRUE(note.start >= 0 && note.start <= note.end && note.end <= piece.duration);
    }
  });
  EXPECT_GT(errors, copies / 4);
  EXPECT_LT(errors, copies);
}

TEST(Midi, ManyTracksOfNothingAreFast) {
  std::string file = "MThd" + bytes({0, 0, 0, 6, 0, 1, 0xFF, 0xFF, 0, 96});
  for (int i = 0; i < 0xFFFF; ++i) {
    file += "MTrk" + bytes({0, 0, 0, 0});
  }
  EXPECT_EQ(decode(file).tracks, 0xFFFF);
}

TEST(Midi, Files) {
  const auto path =
      std::filesystem::temp_directory_path() / ("heed-midi-" + std::to_string(::getpid()) + ".mid");
  write_midi(path, kPiece);
  expect_notes(read_midi(path).notes, kPiece);
  write_file(path, "MThd");
  EXPECT_EQ(error_of([&] { read_midi(path); }),
            "[midi] " + path.string() +
                " at byte 4: the header's length of 4 bytes, but only 0 are left");
  std::filesystem::remove(path);
  EXPECT_EQ(error_of([&] { read_midi(path); }),
            "[file] cannot open " + path.string() + ": No such file or directory");
}

}  // namespace
}  // namespace heed
