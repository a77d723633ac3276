#include "data/music/music_demo.h"

#include <array>

#include "base/random.h"

namespace heed {
namespace {

// A note of a motif: its degree of the scale, from the tonic, and its length in steps.
struct Tone {
  int degree;
  int steps;
};

constexpr double kStep = 0.01;  // seconds
constexpr int kShort = 20;      // steps
constexpr int kLong = 40;
constexpr int kScaleSize = 7;

// A major scale goes on above and below the octave.
int pitch_of(int tonic, int degree) {
  constexpr std::array<int, kScaleSize> kMajor{0, 2, 4, 5, 7, 9, 11};
  const int octave = (degree >= 0 ? degree : degree - kScaleSize + 1) / kScaleSize;
  return tonic + 12 * octave + kMajor[static_cast<size_t>(degree - octave * kScaleSize)];
}

class Composer {
 public:
  explicit Composer(const DemoPieceOptions& options)
      : random_{options.seed, options.index}, tonic_(55 + draw(12)) {
    compose_motif();
    for (int64_t i = 0; i < options.sections; ++i) {
      const bool returns = i < 2 || i % 2 == 1;
      add_section(returns ? DemoSectionKind::motif : static_cast<DemoSectionKind>(1 + draw(3)));
    }
  }

  DemoPiece take() { return std::move(piece_); }

 private:
  int draw(uint32_t below) { return static_cast<int>(random_.bits(drawn_++) % below); }

  // Four to six notes that begin on the tonic's chord and move by steps and small leaps.
  void compose_motif() {
    const int count = 4 + draw(3);
    int degree = 2 * draw(3);
    for (int i = 0; i < count; ++i) {
      motif_.push_back({degree, draw(3) == 0 ? kLong : kShort});
      const int leap = 1 + draw(3);
      degree += draw(2) == 0 && degree - leap >= -2 ? -leap : leap;
      degree = degree > 9 ? degree - 2 * leap : degree;
    }
  }

  void add_section(DemoSectionKind kind) {
    const auto first = std::ssize(piece_.notes);
    const int shift = kind == DemoSectionKind::sequence ? 1 + draw(3) : 0;
    if (kind == DemoSectionKind::cadence) {  // dominant, leading tone, tonic
      for (const Tone tone : {Tone{4, kShort}, Tone{6, kShort}, Tone{7, kLong}}) {
        add_note(tone);
      }
    } else {
      for (Tone tone : motif_) {
        tone.degree = kind == DemoSectionKind::inversion ? 2 * motif_.front().degree - tone.degree
                                                         : tone.degree + shift;
        add_note(tone);
      }
    }
    piece_.sections.push_back({kind, first, std::ssize(piece_.notes) - first});
  }

  void add_note(const Tone& tone) {
    constexpr int kVelocity = 78;  // stands for its bin: see music/performance.h
    piece_.notes.push_back({.start = static_cast<double>(now_) * kStep,
                            .end = static_cast<double>(now_ + tone.steps) * kStep,
                            .pitch = pitch_of(tonic_, tone.degree),
                            .velocity = kVelocity,
                            .channel = 0});
    now_ += tone.steps;
  }

  RandomStream random_;
  uint64_t drawn_ = 0;
  int tonic_;
  int64_t now_ = 0;  // steps
  std::vector<Tone> motif_;
  DemoPiece piece_;
};

}  // namespace

DemoPiece compose_demo(const DemoPieceOptions& options) { return Composer(options).take(); }

}  // namespace heed
