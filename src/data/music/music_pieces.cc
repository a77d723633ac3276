#include "data/music/music_pieces.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "data/skipped_files.h"
#include "formats/midi.h"
#include "music/augment.h"
#include "music/performance.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

struct MidiFile {
  fs::path path;
  std::string name;
};

bool is_midi(const fs::path& path) {
  std::string ending = path.extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return ending == ".mid" || ending == ".midi";
}

void add_files(const fs::path& path, std::vector<MidiFile>& files) {
  std::error_code error;
  check(fs::exists(path, error), "[music] {} does not exist", path.string());
  if (!fs::is_directory(path, error)) {
    files.push_back({path, path.filename().string()});
    return;
  }
  std::vector<MidiFile> found;
  fs::recursive_directory_iterator entry(path, fs::directory_options::skip_permission_denied,
                                         error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    if (std::error_code ignored; entry->is_regular_file(ignored) && is_midi(entry->path())) {
      found.push_back({entry->path(), entry->path().lexically_relative(path).generic_string()});
    }
  }
  check(!error, "[music] cannot search {}: {}", path.string(), error.message());
  std::sort(found.begin(), found.end(),
            [](const MidiFile& a, const MidiFile& b) { return a.name < b.name; });
  files.insert(files.end(), found.begin(), found.end());
}

std::vector<Note> read_notes(const fs::path& path) {
  MidiPiece piece = read_midi(path);
  apply_pedal(piece);
  check(!encode_performance(piece.notes).empty(), "[midi] {} has no notes", path.string());
  return std::move(piece.notes);
}

}  // namespace

MusicPieces read_midi_pieces(const std::vector<std::string>& paths) {
  std::vector<MidiFile> files;
  for (const std::string& path : paths) {
    add_files(path, files);
  }
  check(!files.empty(), "[music] {} holds no .mid or .midi file", fmt::join(paths, ", "));
  MusicPieces result;
  std::vector<std::string> reasons;
  for (const MidiFile& file : files) {
    try {
      result.pieces.push_back({.name = file.name, .notes = read_notes(file.path), .chorale = {}});
    } catch (const Error& error) {
      reasons.emplace_back(error.what());
    }
  }
  result.skipped = describe_skipped("MIDI", reasons);
  check(!result.pieces.empty(), "[music] no MIDI file is left: {}", result.skipped);
  return result;
}

std::vector<MusicPiece> chorale_pieces(const std::vector<Chorale>& chorales, MusicForm form) {
  std::vector<MusicPiece> pieces;
  for (size_t i = 0; i < chorales.size(); ++i) {
    MusicPiece piece{.name = fmt::format("chorale {}", i), .notes = {}, .chorale = {}};
    if (form == MusicForm::performance) {
      piece.notes = chorale_notes(chorales[i]);
    } else {
      piece.chorale = chorales[i];
    }
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

MusicPiece augmented(const MusicPiece& piece, MusicForm form, const Augmentation& augmentation) {
  MusicPiece changed{.name = piece.name, .notes = {}, .chorale = {}};
  if (form == MusicForm::chorale) {
    changed.chorale = transpose_chorale(piece.chorale, augmentation.semitones);
  } else {
    changed.notes = stretch(
        augmentation.semitones == 0 ? piece.notes : transpose(piece.notes, augmentation.semitones),
        augmentation.stretch);
  }
  return changed;
}

std::vector<int32_t> piece_tokens(const MusicPiece& piece, MusicForm form,
                                  const Augmentation& augmentation) {
  const MusicPiece changed = augmented(piece, form, augmentation);
  const std::vector<int32_t> inside =
      music_tokens(form == MusicForm::chorale ? encode_chorale(changed.chorale)
                                              : encode_performance(changed.notes));
  std::vector<int32_t> tokens{kMusicStart};
  tokens.insert(tokens.end(), inside.begin(), inside.end());
  tokens.push_back(kMusicEnd);
  return tokens;
}

}  // namespace heed
