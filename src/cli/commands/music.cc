// `heed music`: MIDI files to performance events and back, and what is in them.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>

#include "base/error.h"
#include "cli/command.h"
#include "cli/pictures/piano_roll.h"
#include "data/text/lines.h"
#include "formats/midi.h"
#include "music/performance.h"

namespace heed::cli {
namespace {

struct MusicEncodeOptions {
  std::vector<std::string> files;
  bool pedal = true;
  bool names = false;
};

struct MusicDecodeOptions {
  std::string ids;
  std::string output;
};

// A file that cannot be read is named, the others go on, and the program fails at the end.
template <typename Use>
void for_each_file(const std::vector<std::string>& files, const Use& use) {
  bool failed = false;
  for (const std::string& file : files) {
    try {
      use(file);
    } catch (const Error& error) {
      std::fflush(stdout);
      fmt::print(stderr, "heed: {}\n", error.what());
      failed = true;
    }
  }
  if (failed) {
    throw ExitStatus{1};
  }
}

void encode(const MusicEncodeOptions& options) {
  for_each_file(options.files, [&](const std::string& file) {
    MidiPiece piece = read_midi(file);
    if (options.pedal) {
      apply_pedal(piece);
    }
    const std::vector<int32_t> ids = encode_performance(piece.notes);
    if (!options.names) {
      fmt::print("{}\n", fmt::join(ids, " "));
      return;
    }
    std::vector<std::string> names;
    names.reserve(ids.size());
    for (const int32_t id : ids) {
      names.push_back(performance_symbol(id));
    }
    fmt::print("{}\n", fmt::join(names, " "));
  });
}

std::vector<int32_t> parse_ids(std::string_view line) {
  std::vector<int32_t> ids;
  while (!line.empty()) {
    const std::string_view word = line.substr(0, line.find(' '));
    if (!word.empty()) {
      int32_t id = 0;
      const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);
      check(error == std::errc() && end == word.data() + word.size(), "\"{}\" is not an id", word);
      ids.push_back(id);
    }
    line.remove_prefix(std::min(word.size() + 1, line.size()));
  }
  return ids;
}

// All lines are looked at before the first file is written.
void decode(const MusicDecodeOptions& options) {
  check_output(options.output);
  std::vector<std::vector<Note>> pieces;
  LineReader reader(options.ids);
  for (std::string line; reader.next(line);) {
    try {
      pieces.push_back(decode_performance(parse_ids(line)));
    } catch (const Error& error) {
      fail("[{}:{}] {}", reader.name(), reader.line_number(), error.what());
    }
  }
  check(!pieces.empty(), "[music] {} is empty, expected one piece per line", reader.name());
  for (size_t i = 0; i < pieces.size(); ++i) {
    const std::filesystem::path path = numbered_path(options.output, i + 1, pieces.size());
    write_midi(path, pieces[i]);
    fmt::print("{}: {} notes\n", path.string(), pieces[i].size());
  }
}

// "C4 (60)"
std::string pitch_text(int pitch) { return fmt::format("{} ({})", pitch_name(pitch), pitch); }

void print_notes(const std::vector<Note>& notes) {
  fmt::print("  notes       {}\n", notes.size());
  if (notes.empty()) {
    return;
  }
  const auto [lowest, highest] = std::ranges::minmax(notes, {}, &Note::pitch);
  const auto [softest, loudest] = std::ranges::minmax(notes, {}, &Note::velocity);
  double sum = 0.0;
  for (const Note& note : notes) {
    sum += note.velocity;
  }
  fmt::print("  pitches     {} to {}\n", pitch_text(lowest.pitch), pitch_text(highest.pitch));
  fmt::print("  velocities  {} to {}, mean {:.1f}\n", softest.velocity, loudest.velocity,
             sum / static_cast<double>(notes.size()));
}

void info(const std::vector<std::string>& files) {
  for_each_file(files, [](const std::string& file) {
    const MidiPiece piece = read_midi(file);
    fmt::print("{}\n  format      {}, {} {}\n  duration    {:.2f} s\n", file, piece.format,
               piece.tracks, piece.tracks == 1 ? "track" : "tracks", piece.duration);
    print_notes(piece.notes);
    fmt::print("  pedal       {} events\n", piece.pedals.size());
    if (piece.tempos.empty()) {
      fmt::print("  tempo       not given, so 120 quarter notes per minute\n");
      return;
    }
    const auto [slowest, fastest] =
        std::ranges::minmax(piece.tempos, {}, &MidiTempo::quarters_per_minute);
    if (slowest.quarters_per_minute == fastest.quarters_per_minute) {
      fmt::print("  tempo       {:.4g} quarter notes per minute\n", slowest.quarters_per_minute);
      return;
    }
    fmt::print("  tempo       {} events, {:.4g} to {:.4g} quarter notes per minute\n",
               piece.tempos.size(), slowest.quarters_per_minute, fastest.quarters_per_minute);
  });
}

void add_encode(Command& app) {
  auto options = std::make_shared<MusicEncodeOptions>();
  Command command =
      app.subcommand("encode", "Convert MIDI files to performance events, one piece per line");
  command.option("FILE", options->files, "MIDI files").required();
  command.flag("--pedal,!--no-pedal", options->pedal,
               "let notes sound while the sustain pedal is down (default), or only while their "
               "keys are");
  command.flag("--names", options->names, "print names such as NOTE_ON<60> instead of ids");
  command.footer(
      "There are 388 ids: 0-127 for keys going down, 128-255 for keys going up, 256-355 for time "
      "shifts of 10 ms to 1 s, 356-387 for velocities. Files that cannot be read are reported on "
      "standard error and left out.");
  command.example("Convert a file", "heed music encode sonata.mid > sonata.txt");
  command.example("Show the names of its events, without the pedal",
                  "heed music encode --no-pedal --names sonata.mid");
  command.example("Convert many files", "heed music encode performances/*.mid > train.txt");
  command.action([options] { encode(*options); });
}

void add_decode(Command& app) {
  auto options = std::make_shared<MusicDecodeOptions>();
  Command command = app.subcommand("decode", "Convert performance events to MIDI files");
  command.option("FILE", options->ids, "ids, one piece per line; -: standard input").required();
  command
      .option("--output", options->output,
              "MIDI file to write; several pieces go to NAME-1.mid, NAME-2.mid, ...")
      .value_name("FILE")
      .required();
  command.example("Convert a file", "heed music decode sonata.txt --output sonata.mid");
  command.example("Write a chord",
                  "echo '372 60 64 67 355 188 192 195' | heed music decode - --output chord.mid");
  command.action([options] { decode(*options); });
}

void add_info(Command& app) {
  auto files = std::make_shared<std::vector<std::string>>();
  Command command = app.subcommand("info", "Describe MIDI files");
  command.option("FILE", *files, "MIDI files").required();
  command.example("Describe a file", "heed music info sonata.mid");
  command.example("Describe many files", "heed music info performances/*.mid");
  command.action([files] { info(*files); });
}

}  // namespace

void add_music(Command& app) {
  Command music = app.subcommand("music", "Convert and describe MIDI files, and test models");
  music.group("Music");
  music.require_subcommand();
  music.example("Describe a MIDI file", "heed music info sonata.mid");
  music.example("Convert a MIDI file to performance events",
                "heed music encode sonata.mid > sonata.txt");
  music.example("Convert events to a MIDI file", "heed music decode sonata.txt --output copy.mid");
  music.example("Measure how well models remember a motif",
                "heed music motif relative=runs/music-demo plain=runs/music-demo-plain");
  add_encode(music);
  add_decode(music);
  add_info(music);
  add_music_motif(music);
}

}  // namespace heed::cli
