#include "decode/music/music.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

#include "base/error.h"
#include "decode/music/composition.h"
#include "music/performance.h"

namespace heed {
namespace {

constexpr double kSecondsPerMinute = 60.0;
constexpr double kSixteenthsPerQuarter = 4.0;
constexpr double kLongestGrid = 1e6;  // sixteenths; MIDI's fastest tempo has millions a second

// The sixteenths that a note takes, at least one, of `step` seconds each.
struct GridSpan {
  size_t begin = 0;
  size_t end = 0;
};
GridSpan grid_span(const Note& note, double step) {
  check(note.start >= 0.0 && note.start <= note.end && note.end <= kLongestPiece,
        "[continue] a note from {} to {} s, expected 0 to {}", note.start, note.end, kLongestPiece);
  check(note.pitch >= 0 && note.pitch < kPitches, "[continue] pitch {}, expected 0 to {}",
        note.pitch, kPitches - 1);
  check(note.end / step <= kLongestGrid,
        "[continue] the music lasts {:.0f} sixteenths, expected at most {:.0f}", note.end / step,
        kLongestGrid);
  const auto begin = static_cast<size_t>(std::llround(note.start / step));
  return {begin, std::max(begin + 1, static_cast<size_t>(std::llround(note.end / step)))};
}

void find_keys(const ContinuedPiece& piece, NoteTokens& found) {
  std::map<std::pair<int64_t, int>, int64_t> begun;  // notes by step and pitch
  for (size_t i = 0; i < piece.notes.size(); ++i) {
    const Note& note = piece.notes[i];
    begun[{std::llround(note.start * kStepsPerSecond), note.pitch}] = static_cast<int64_t>(i);
  }
  std::array<int64_t, kPitches> down;
  down.fill(-1);
  MusicClock clock(MusicForm::performance, 0.0);
  int32_t before = -1;
  for (size_t token = 1; token < piece.tokens.size(); ++token) {
    const int32_t symbol = symbol_of(piece.tokens[token]);
    int64_t& note = found.note_of_token[token];
    clock.add(symbol);
    if (symbol < kNoteOff) {
      const auto key = begun.find({clock.steps(), symbol - kNoteOn});
      note = key == begun.end() ? -1 : key->second;  // those of no length vanish
      down[static_cast<size_t>(symbol - kNoteOn)] = note;
      if (note >= 0) {
        found.token_of_note[static_cast<size_t>(note)] = token;
      }
      if (before >= kVelocity) {
        found.note_of_token[token - 1] = note;
      }
    } else if (symbol < kTimeShift) {
      note = std::exchange(down[static_cast<size_t>(symbol - kNoteOff)], -1);
    }
    before = symbol;
  }
}

void find_voices(const ContinuedPiece& piece, NoteTokens& found) {
  std::array<std::vector<size_t>, kVoices> of_voice;  // notes in order
  for (size_t i = 0; i < piece.notes.size(); ++i) {
    of_voice.at(static_cast<size_t>(piece.notes[i].channel)).push_back(i);
  }
  std::array<size_t, kVoices> begun{};
  std::array<int32_t, kVoices> last;
  last.fill(kChoraleSilence);
  for (size_t token = 1; token < piece.tokens.size(); ++token) {
    const size_t voice = (token - 1) % kVoices;
    const int32_t symbol = symbol_of(piece.tokens[token]);
    if (begins_note(MusicForm::chorale, symbol, last[voice])) {
      found.token_of_note[of_voice[voice].at(begun[voice]++)] = token;
    }
    if (symbol != kChoraleSilence) {
      found.note_of_token[token] = static_cast<int64_t>(of_voice[voice].at(begun[voice] - 1));
    }
    last[voice] = symbol;
  }
}

}  // namespace

MusicForm music_of(const LoadedFolder& model) {
  const std::optional<MusicForm> form = model.config.music();
  check(
      form.has_value(),
      "[music] a {} tokenizer of {} tokens is not a vocabulary of music; was the model trained on "
      "it?",
      model.tokenizers.target->kind(), model.tokenizers.target->size());
  return *form;
}

double sixteenth_seconds(double quarters_per_minute) {
  check(std::isfinite(quarters_per_minute) && quarters_per_minute > 0.0,
        "[continue] {} quarter notes per minute, expected a positive number", quarters_per_minute);
  return kSecondsPerMinute / quarters_per_minute / kSixteenthsPerQuarter;
}

void check_prompt(int64_t tokens) {
  constexpr int64_t kLongestPrompt = 32768;
  check(tokens <= kLongestPrompt,
        "[continue] the file has {} tokens, expected at most {}; use only its beginning with "
        "--motif-seconds",
        tokens, kLongestPrompt);
}

int64_t most_tokens(double seconds) {
  constexpr double kMostTokensPerSecond = 400.0;
  return 1000 + static_cast<int64_t>(seconds * kMostTokensPerSecond);
}

std::vector<ContinuedPiece> continue_music(const LoadedLanguageModel& model,
                                           std::span<const Note> motif, const MusicOptions& options,
                                           const MusicCallback& progress) {
  check(options.pieces > 0, "[continue] {} pieces, expected some", options.pieces);
  const Composition composition(model, motif, options);
  MusicRows rows = composition.rows(static_cast<size_t>(options.pieces), progress);
  std::vector<GenerateRequest> requests;
  for (size_t i = 0; i < rows.size(); ++i) {
    requests.push_back({composition.prompt(), i});
  }
  const std::vector<Generated> made =
      generate(model, requests, composition.generating(),
               {.token = [&](size_t row, int32_t id) { return rows.add(row, id); }});
  std::vector<ContinuedPiece> pieces;
  for (size_t i = 0; i < rows.size(); ++i) {
    pieces.push_back(composition.finish(rows, i, made[i]));
  }
  return pieces;
}

Chorale quantise_chorale(std::span<const Note> notes, double quarters_per_minute) {
  const double step = sixteenth_seconds(quarters_per_minute);
  std::vector<std::vector<int>> sounding;
  for (const Note& note : notes) {
    if (note.channel == kPercussion) {
      continue;
    }
    const auto [begin, end] = grid_span(note, step);
    sounding.resize(std::max(sounding.size(), end));
    for (size_t at = begin; at < end; ++at) {
      check(sounding[at].size() < kVoices,
            "[continue] more than {} notes sound at {:.2f} s: this model continues pieces of four "
            "voices",
            kVoices, static_cast<double>(at) * step);
      sounding[at].push_back(note.pitch);
    }
  }
  Chorale chorale;
  for (std::vector<int>& pitches : sounding) {
    std::sort(pitches.begin(), pitches.end(), std::greater<>());
    chorale.emplace_back().fill(kSilence);
    std::copy(pitches.begin(), pitches.end(), chorale.back().begin());
  }
  return chorale;
}

std::vector<int> quantise_melody(std::span<const Note> notes, double quarters_per_minute) {
  const double step = sixteenth_seconds(quarters_per_minute);
  std::vector<int> line;
  for (const Note& note : notes) {
    if (note.channel == kPercussion) {
      continue;
    }
    const auto [begin, end] = grid_span(note, step);
    line.resize(std::max(line.size(), end), kSilence);
    for (size_t at = begin; at < end; ++at) {
      line[at] = std::max(line[at], note.pitch);
    }
  }
  return line;
}

double even_tempo(MidiPiece& piece) {
  constexpr double kMidiTempo = 120.0;
  double even = kMidiTempo;
  for (const MidiTempo& tempo : piece.tempos) {  // of several at once the last one counts
    even = tempo.time <= 0.0 ? tempo.quarters_per_minute : even;
  }
  struct Stretch {
    double begin, moved_begin, tempo;
  };
  std::vector<Stretch> stretches{{0.0, 0.0, even}};
  const auto moved_by = [&](const Stretch& stretch, double time) {
    return stretch.moved_begin + (time - stretch.begin) * stretch.tempo / even;
  };
  for (const MidiTempo& change : piece.tempos) {
    stretches.push_back(
        {change.time, moved_by(stretches.back(), change.time), change.quarters_per_minute});
  }
  const auto moved = [&](double time) {
    const auto after = std::upper_bound(
        stretches.begin() + 1, stretches.end(), time,
        [](double moment, const Stretch& stretch) { return moment < stretch.begin; });
    return moved_by(*(after - 1), time);
  };
  for (Note& note : piece.notes) {
    note.start = moved(note.start);
    note.end = moved(note.end);
  }
  for (MidiPedal& pedal : piece.pedals) {
    pedal.time = moved(pedal.time);
  }
  piece.duration = moved(piece.duration);
  piece.tempos = {{.time = 0.0, .quarters_per_minute = even}};
  return even;
}

NoteTokens note_tokens(const ContinuedPiece& piece, MusicForm form) {
  NoteTokens found{.note_of_token = std::vector<int64_t>(piece.tokens.size(), -1),
                   .token_of_note = std::vector<size_t>(piece.notes.size(), 0)};
  (form == MusicForm::performance ? find_keys : find_voices)(piece, found);
  return found;
}

}  // namespace heed
