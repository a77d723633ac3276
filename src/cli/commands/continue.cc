// `heed continue`: a motif goes in, its continuation comes out as MIDI, sound and pictures; or a
// melody, and its accompaniment.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "cli/command.h"
#include "cli/pictures/music_page.h"
#include "cli/pictures/piano_roll.h"
#include "cli/share_progress.h"
#include "cli/train_progress.h"
#include "decode/music/accompany.h"
#include "decode/music/music.h"
#include "decode/music/note_attention.h"
#include "formats/sound.h"
#include "music/melody.h"

namespace heed::cli {
namespace {

constexpr double kDefaultSeconds = 30.0;

struct ContinueArguments {
  std::string model;
  std::string motif;
  std::string melody;
  std::string output;
  std::string audio;
  std::string roll;
  std::string attention;
  std::optional<DType> precision;
  std::optional<double> motif_seconds;
  std::optional<double> seconds;
  std::optional<int64_t> tokens;
  MusicOptions options;
  bool pedal = true;
};

// Everything that can be found out before the work begins.
void check_arguments(const ContinueArguments& arguments) {
  check(!arguments.seconds || !arguments.tokens, "--seconds and --tokens cannot be combined");
  check(!arguments.motif_seconds || !arguments.motif.empty() || !arguments.melody.empty(),
        "--motif-seconds needs --motif or --melody");
  if (!arguments.melody.empty()) {
    check(arguments.motif.empty(), "--motif and --melody cannot be combined");
    check(!arguments.seconds && !arguments.tokens,
          "--melody determines the length of the piece; leave --seconds and --tokens out");
    check(arguments.attention.empty(), "--attention cannot be combined with --melody");
  }
  check_output("--output", arguments.output, {".mid", ".midi"});
  check_output("--audio", arguments.audio, {".wav"});
  check_output("--roll", arguments.roll, {".svg", ".png"});
  check_output("--attention", arguments.attention, {".html"});
  check_sampling(arguments.options.sampling);
  if (!arguments.audio.empty()) {
    const std::string missing = why_no_sound();
    check(missing.empty(), "{}", missing);
  }
}

class ContinueProgress {
 public:
  void operator()(const MusicProgress& progress) {
    const double elapsed = line_.seconds();
    line_.say(fmt::format(
        "{} notes, {:.1f} s of music, {:.0f} tokens/s, {:.1f} s of music per second, {} left",
        progress.notes, progress.seconds, static_cast<double>(progress.tokens) / elapsed,
        progress.seconds / elapsed, format_seconds(elapsed * (1.0 / progress.share - 1.0))));
  }
  void end() { line_.clear(); }

 private:
  ShareProgress line_;
};

// The file without percussion, which no model knows; of it, if asked for, only the beginning.
MidiPiece read_notes(const ContinueArguments& arguments, bool pedal) {
  const bool motif = !arguments.motif.empty();
  const std::string& file = motif ? arguments.motif : arguments.melody;
  MidiPiece piece = read_midi(file);
  if (pedal) {
    apply_pedal(piece);
  }
  std::erase_if(piece.notes, [](const Note& note) { return note.channel == kPercussion; });
  check(!piece.notes.empty(), "[continue] {} has no notes{}", file,
        motif ? "; leave --motif out to let the model begin" : ", expected a melody");
  if (const std::optional<double> seconds = arguments.motif_seconds) {
    std::erase_if(piece.notes, [&](const Note& note) { return note.start >= *seconds; });
    for (Note& note : piece.notes) {
      note.end = std::min(note.end, *seconds);
    }
    check(!piece.notes.empty(), "[continue] no note of {} begins in the first {} seconds", file,
          *seconds);
  }
  return piece;
}

// The motif's notes, as the model's form wants them; sets the tempo of a chorale.
std::vector<Note> read_motif(const ContinueArguments& arguments, MusicForm form,
                             MusicOptions& options) {
  if (arguments.motif.empty()) {
    return {};
  }
  const bool chorale = form == MusicForm::chorale;
  MidiPiece piece = read_notes(arguments, !chorale && arguments.pedal);
  if (chorale) {
    options.quarters_per_minute = even_tempo(piece);
  }
  return std::move(piece.notes);
}

// Why a piece ends where it does, if it was not as long as wanted.
const char* end_of(GenerateEnd end) {
  return end == GenerateEnd::end_token ? ", where the model ended it"
         : end == GenerateEnd::length  ? ", where its tokens were used up"
                                       : "";
}

void report(const std::string& file, const ContinuedPiece& piece, int64_t context) {
  const auto made = std::count_if(piece.notes.begin(), piece.notes.end(),
                                  [&](const Note& note) { return piece.is_new(note); });
  const auto motif = std::ssize(piece.notes) - made;
  fmt::print("{}: {}{} new notes in {:.2f} s{}\n", file,
             motif > 0 ? fmt::format("{} notes of the motif, ", motif) : "", made,
             piece.duration - piece.motif_end, end_of(piece.end));
  if (piece.forgotten > 0) {
    fmt::print(stderr, "heed: {}: the context is {} tokens; the oldest {} were dropped\n", file,
               context, piece.forgotten);
  }
}

void write_roll(const std::filesystem::path& path, const PianoRoll& roll) {
  write_file(path, path.extension() == ".svg" ? render_roll_svg(roll) : render_roll_png(roll));
}

void write_pictures(const LoadedLanguageModel& model, const ContinueArguments& arguments,
                    const ContinuedPiece& piece, size_t number) {
  const auto path_of = [&](const std::string& file) {
    return numbered_path(file, number, static_cast<size_t>(arguments.options.pieces));
  };
  const std::string title =
      arguments.motif.empty()
          ? "An improvisation"
          : std::filesystem::path(arguments.motif).filename().string() + ", continued";
  if (!arguments.roll.empty()) {
    write_roll(path_of(arguments.roll),
               {.title = title, .notes = piece.notes, .motif_end = piece.motif_end});
  }
  if (!arguments.attention.empty()) {
    const NoteAttention attention = attention_of_notes(model, piece);
    if (attention.queries.empty()) {
      fmt::print(stderr, "heed: {} is not written: there is no new note\n",
                 path_of(arguments.attention).string());
      return;
    }
    if (attention.first_token > 0) {
      fmt::print(stderr, "heed: {}: shows the attention of the last {} of {} tokens\n",
                 path_of(arguments.attention).string(), piece.tokens.size() - attention.first_token,
                 piece.tokens.size());
    }
    write_file(path_of(arguments.attention), render_music_page(title, piece, attention));
  }
}

// The model as it is needed, or an Error that says what to do.
template <typename Interface>
std::unique_ptr<Loaded<Interface>> load_player(const ContinueArguments& arguments,
                                               const char* advice) {
  auto loaded = std::make_unique<Loaded<Interface>>();
  load_folder(arguments.model, arguments.precision, *loaded);
  loaded->model = dynamic_cast<const Interface*>(loaded->any.get());
  check(loaded->model != nullptr, "[continue] {} is a {}: {}", arguments.model, loaded->spec().kind,
        advice);
  return loaded;
}

// The melody's notes; sets the tempo of a chorale.
std::vector<Note> read_melody(const ContinueArguments& arguments, MusicForm form,
                              MusicOptions& options) {
  MidiPiece piece = read_notes(arguments, false);
  if (form == MusicForm::chorale) {
    options.quarters_per_minute = even_tempo(piece);
  }
  MelodySplit split = split_melody(piece.notes);
  if (!split.accompaniment.empty()) {
    fmt::print(
        stderr,
        "heed: {}: the melody is the highest voice; {} of {} notes sound below it and are left "
        "out\n",
        arguments.melody, split.accompaniment.size(),
        split.accompaniment.size() + split.melody.size());
  }
  return std::move(split.melody);
}

void accompany(const ContinueArguments& arguments) {
  const auto model = load_player<Seq2SeqModel>(
      arguments,
      "--melody needs an encoder-decoder that learned to accompany; train one with "
      "task = \"accompany\", as recipes/music/jsb-harmonise.toml");
  const MusicForm form = music_of(*model);
  MusicOptions options = arguments.options;
  const std::vector<Note> melody = read_melody(arguments, form, options);
  ContinueProgress progress;
  const auto pieces = accompany_melody(*model, melody, options, std::ref(progress));
  progress.end();
  MidiWriting writing{.format = 1};
  if (form == MusicForm::chorale) {
    writing.quarters_per_minute = options.quarters_per_minute;
  }
  for (size_t i = 0; i < pieces.size(); ++i) {
    const AccompaniedPiece& piece = pieces[i];
    const auto path_of = [&](const std::string& file) {
      return numbered_path(file, i + 1, pieces.size());
    };
    write_midi(path_of(arguments.output), piece.notes, writing);
    const auto given = std::count_if(piece.notes.begin(), piece.notes.end(), [](const Note& note) {
      return note.channel == kMelodyChannel;
    });
    // A chorale has exactly the tokens that its melody needs.
    fmt::print("{}: {} notes of the melody, {} of the accompaniment in {:.2f} s{}\n",
               path_of(arguments.output).string(), given, std::ssize(piece.notes) - given,
               piece.duration, form == MusicForm::chorale ? "" : end_of(piece.end));
    if (!arguments.audio.empty()) {
      write_wav(path_of(arguments.audio), piece.notes);
    }
    if (!arguments.roll.empty()) {
      const std::string name = std::filesystem::path(arguments.melody).filename().string();
      write_roll(path_of(arguments.roll),
                 {.title = name + ", accompanied", .notes = piece.notes, .accompanied = true});
    }
  }
}

void run(const ContinueArguments& arguments) {
  check_arguments(arguments);
  if (!arguments.melody.empty()) {
    accompany(arguments);
    return;
  }
  const auto model = load_player<LanguageModel>(
      arguments,
      "motifs are continued by a language model of music; train one with task = "
      "\"music\", as recipes/music/jsb.toml, or give this one a melody to accompany with "
      "--melody");
  const MusicForm form = music_of(*model);
  if (!arguments.attention.empty()) {
    check_has_attention(*model);
  }
  MusicOptions options = arguments.options;
  const std::vector<Note> motif = read_motif(arguments, form, options);
  if (arguments.tokens) {
    options.max_tokens = *arguments.tokens;
  } else {
    options.seconds = arguments.seconds.value_or(kDefaultSeconds);
    options.max_tokens = most_tokens(options.seconds);
  }
  ContinueProgress progress;
  const auto pieces = continue_music(*model, motif, options, std::ref(progress));
  progress.end();
  for (size_t i = 0; i < pieces.size(); ++i) {
    const auto path = numbered_path(arguments.output, i + 1, pieces.size());
    const MidiWriting performance{};
    const MidiWriting chorale{.format = 1, .quarters_per_minute = options.quarters_per_minute};
    write_midi(path, pieces[i].notes, form == MusicForm::chorale ? chorale : performance);
    report(path.string(), pieces[i], model->model->context());
    if (!arguments.audio.empty()) {
      write_wav(numbered_path(arguments.audio, i + 1, pieces.size()), pieces[i].notes);
    }
    write_pictures(*model, arguments, pieces[i], i + 1);
  }
}

void add_examples(Command& command) {
  command.example("Improvise half a minute", "heed continue --model runs/piano --output piece.mid");
  command.example("Continue a motif for a minute",
                  "heed continue --model runs/piano --motif theme.mid --seconds 60 --output "
                  "piece.mid");
  command.example("Write sound and pictures too",
                  "heed continue --model runs/piano --motif theme.mid --output piece.mid --audio "
                  "piece.wav --roll piece.svg --attention piece.html");
  command.example("Improvise four pieces",
                  "heed continue --model runs/piano --n 4 --temperature 0.95 --top-p 0.98 --output "
                  "free.mid");
  command.example("Harmonise a melody",
                  "heed continue --model runs/jsb-harmonise --melody tune.mid --output "
                  "chorale.mid");
}

}  // namespace

void add_continue(Command& app) {
  auto arguments = std::make_shared<ContinueArguments>();
  Command command =
      app.subcommand("continue", "Continue a motif, improvise, or accompany a melody");
  command.group("Music");
  command.option("--model", arguments->model, "folder of a model trained on music")
      .value_name("DIR")
      .required();
  command
      .option("--motif", arguments->motif,
              "MIDI file to continue (default: none, the model improvises)")
      .value_name("FILE");
  command
      .option("--motif-seconds", arguments->motif_seconds,
              "use only the first X seconds of the motif or melody (default: all)")
      .positive();
  command
      .option("--melody", arguments->melody,
              "MIDI file to accompany, with a model that was trained to")
      .value_name("FILE");
  command
      .option("--seconds", arguments->seconds,
              fmt::format("seconds of new music (default: {:.0f})", kDefaultSeconds))
      .range(0.01, kLongestPiece);
  command.option("--tokens", arguments->tokens, "number of new tokens, instead of --seconds")
      .range(1, 1 << 30);
  command.option("--output", arguments->output, "MIDI file to write").value_name("FILE").required();
  command.option("--audio", arguments->audio, "FILE.wav for the piece, played on a piano")
      .value_name("FILE");
  command.option("--roll", arguments->roll, "FILE.svg or FILE.png for its piano roll")
      .value_name("FILE");
  command
      .option("--attention", arguments->attention,
              "FILE.html for the earlier notes that each new note attends to")
      .value_name("FILE");
  command.flag("--pedal,!--no-pedal", arguments->pedal,
               "let the motif's notes sound while the sustain pedal is down (default), or only "
               "while their keys are");
  MusicOptions& options = arguments->options;
  add_sampling(command, options.sampling);
  command.option("--seed", options.seed, "random seed; the same seed gives the same music")
      .show_default();
  command.option("--n", options.pieces, "number of pieces, written to NAME-1.mid, NAME-2.mid, ...")
      .range(1, 1000)
      .show_default();
  add_precision(command, arguments->precision);
  command.footer(
      "Models of performances continue any MIDI file. Models of chorales continue four voices on "
      "a grid of sixteenths, at the tempo of the file. HEED_SOUNDFONT names a soundfont for "
      "--audio.");
  add_examples(command);
  command.action([arguments] { run(*arguments); });
}

}  // namespace heed::cli
