#include "data/music/accompaniment.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "data/music/music_tokens.h"
#include "music/performance.h"

namespace heed {
namespace {

EncodedPair chorale_pair(std::span<const ChoraleStep> steps) {
  std::vector<int> soprano;
  for (const ChoraleStep& step : steps) {
    soprano.push_back(step.front());
  }
  EncodedPair pair{.source = soprano_tokens(soprano), .target = {}};
  const std::vector<int32_t> all =
      music_tokens(encode_chorale(Chorale(steps.begin(), steps.end())));
  for (size_t i = 0; i < all.size(); ++i) {
    if (i % kVoices != 0) {
      pair.target.push_back(all[i]);
    }
  }
  return pair;
}

// The notes that begin in a span of time, from its beginning on. They are sorted by start.
std::vector<Note> notes_within(const std::vector<Note>& notes, double begin, double end) {
  const auto before = [](const Note& note, double time) { return note.start < time; };
  std::vector<Note> inside(std::lower_bound(notes.begin(), notes.end(), begin, before),
                           std::lower_bound(notes.begin(), notes.end(), end, before));
  for (Note& note : inside) {
    note.start -= begin;
    note.end = std::min(note.end, end) - begin;
  }
  return inside;
}

class Windows {
 public:
  Windows(const MelodySplit& split, const PairCuts& cuts) : split_(split), cuts_(cuts) {}

  void add(double begin, double end) {
    const std::vector<Note> melody = notes_within(split_.melody, begin, end);
    const std::vector<Note> others = notes_within(split_.accompaniment, begin, end);
    if (melody.empty() && others.empty()) {
      return;
    }
    EncodedPair pair{.source = melody_tokens(melody),
                     .target = music_tokens(encode_performance(others))};
    if (std::max(std::ssize(pair.source), std::ssize(pair.target)) < cuts_.longest) {
      pairs_.push_back(std::move(pair));
    } else if (end - begin > 1.0 / kStepsPerSecond) {
      const double middle = begin + cuts_.at * (end - begin);
      add(begin, middle);
      add(middle, end);
    }
  }

  std::vector<EncodedPair> take() { return std::move(pairs_); }

 private:
  const MelodySplit& split_;
  const PairCuts& cuts_;
  std::vector<EncodedPair> pairs_;
};

}  // namespace

std::vector<int32_t> melody_tokens(std::span<const Note> melody) {
  return music_tokens(encode_performance(melody_line(melody)));
}

std::vector<int32_t> soprano_tokens(std::span<const int> soprano) {
  std::vector<int32_t> symbols;
  for (const int pitch : soprano) {
    symbols.insert(symbols.end(), kAccompanyingVoices, pitch == kSilence ? kChoraleSilence : pitch);
  }
  return music_tokens(symbols);
}

Chorale harmonised(std::span<const int> soprano, std::span<const int32_t> symbols) {
  std::vector<int32_t> all;
  for (size_t i = 0; i < soprano.size(); ++i) {
    all.push_back(soprano[i] == kSilence ? kChoraleSilence : soprano[i]);
    for (size_t at = i * kAccompanyingVoices; at < (i + 1) * kAccompanyingVoices; ++at) {
      all.push_back(at < symbols.size() ? symbols[at] : kChoraleSilence);
    }
  }
  return decode_chorale(all);
}

std::vector<EncodedPair> accompaniment_pairs(std::span<const ChoraleStep> chorale,
                                             const PairCuts& cuts) {
  const int64_t steps = std::ssize(chorale);
  if (steps == 0) {
    return {};
  }
  if (kAccompanyingVoices * steps < cuts.longest || steps == 1) {
    return {chorale_pair(chorale)};
  }
  const auto middle = static_cast<size_t>(
      std::clamp<int64_t>(std::llround(cuts.at * static_cast<double>(steps)), 1, steps - 1));
  std::vector<EncodedPair> pairs = accompaniment_pairs(chorale.first(middle), cuts);
  std::vector<EncodedPair> rest = accompaniment_pairs(chorale.subspan(middle), cuts);
  std::move(rest.begin(), rest.end(), std::back_inserter(pairs));
  return pairs;
}

std::vector<EncodedPair> accompaniment_pairs(const MelodySplit& performance, const PairCuts& cuts) {
  double end = 0.0;
  for (const std::vector<Note>* part : {&performance.melody, &performance.accompaniment}) {
    for (const Note& note : *part) {
      // Those of no length at the very end are inside too.
      end = std::max(end, std::max(note.end, note.start + 1.0 / kStepsPerSecond));
    }
  }
  Windows windows(performance, cuts);
  windows.add(0.0, end);
  return windows.take();
}

}  // namespace heed
