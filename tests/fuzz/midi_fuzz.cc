// Any bytes are either a MIDI file whose notes survive being encoded and written, or an Error.
#include <cstdlib>
#include <string>

#include "base/error.h"
#include "formats/midi.h"
#include "music/performance.h"

namespace {

void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

void check_piece(const heed::MidiPiece& piece) {
  double last = 0.0;
  for (const heed::Note& note : piece.notes) {
    require(note.start >= last && note.end >= note.start && note.end <= piece.duration);
    require(note.pitch >= 0 && note.pitch < heed::kPitches);
    require(note.velocity >= 1 && note.velocity <= 127);
    last = note.start;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  heed::MidiPiece piece;
  try {
    piece = heed::decode_midi(std::as_bytes(std::span(data, size)), "fuzz");
  } catch (const heed::Error&) {
    return 0;
  }
  check_piece(piece);
  heed::apply_pedal(piece);
  check_piece(piece);
  if (piece.duration > heed::kLongestPiece - 1.0) {
    return 0;  // rounded to steps it may be too long
  }
  // From here on nothing may fail.
  const std::string file = heed::encode_midi(piece.notes);
  const heed::MidiPiece again = heed::decode_midi(std::as_bytes(std::span(file)), "written");
  require(again.notes.size() <= piece.notes.size());
  const std::vector<int32_t> ids = heed::encode_performance(piece.notes);

  require(heed::encode_performance(heed::decode_performance(ids)) == ids);
  return 0;
}
