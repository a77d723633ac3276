// The edits of one pair of texts: greedily takes the shift that saves most until none saves any,
// then counts the edits that are left. Limits and the order of preference are sacreBLEU's; another
// choice among equals would give other numbers.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <tuple>

#include "train/metrics/ter.h"

namespace heed {
namespace {

constexpr int kLongestShift = 10;
constexpr int kFarthestShift = 50;
constexpr int kBeamWidth = 25;
constexpr int kMostCandidates = 1000;
constexpr int kInfinity = std::numeric_limits<int>::max() / 2;

// Positions are int, for differences of them count; containers want size_t.
size_t at(int position) { return static_cast<size_t>(position); }

// How the words of the two texts belong together after the cheapest edits.
struct Alignment {
  std::vector<int> hypothesis_of;      // by reference word: the last hypothesis word used up to it
  std::vector<char> hypothesis_wrong;  // by word: edited
  std::vector<char> reference_wrong;
};

// Levenshtein distances of texts of one length to one reference. Only a band around the diagonal is
// looked at and kept, so memory is linear in the lengths.
class BandedDistance {
 public:
  BandedDistance(const Symbols& reference, int length);

  int start(const Symbols& hypothesis);
  // The text has its first `same` words in common with that of start().
  int resume(const Symbols& hypothesis, int same);
  Alignment align(const Symbols& hypothesis) const;  // that of start()

 private:
  // Columns [begin, end) of a row of the matrix; the others are infinite.
  struct Row {
    int begin = 0;
    int end = 0;
    int* cells = nullptr;
    int at(int j) const { return j >= begin && j < end ? cells[j - begin] : kInfinity; }
  };

  void fill(const Row& row, const Row& above, char32_t word) const;

  const Symbols& reference_;
  std::vector<int> cells_;
  std::vector<Row> rows_;  // row i: the first i words of the hypothesis
  std::vector<int> spare_cells_;
};

BandedDistance::BandedDistance(const Symbols& reference, int length) : reference_(reference) {
  const int columns = static_cast<int>(reference.size()) + 1;
  const double slope = length == 0 ? 1.0 : (columns - 1) / static_cast<double>(length);
  // With very different lengths the bands of neighbouring rows would not overlap.
  const int half =
      kBeamWidth < slope / 2 ? static_cast<int>(std::ceil(slope / 2 + kBeamWidth)) : kBeamWidth;
  rows_.push_back({.begin = 0, .end = columns});
  size_t total = at(columns);
  size_t widest = 0;
  for (int i = 1; i <= length; ++i) {
    const int diagonal = static_cast<int>(std::floor(i * slope));
    Row row{.begin = std::max(0, diagonal - half), .end = std::min(columns, diagonal + half)};
    if (i == length) {
      row.end = columns;
    }
    total += at(row.end - row.begin);
    widest = std::max(widest, at(row.end - row.begin));
    rows_.push_back(row);
  }
  cells_.resize(total);
  spare_cells_.resize(2 * widest);
  int* next = cells_.data();
  for (Row& row : rows_) {
    row.cells = next;
    next += row.end - row.begin;
  }
  for (int j = 0; j < columns; ++j) {
    rows_[0].cells[j] = j;
  }
}

void BandedDistance::fill(const Row& row, const Row& above, char32_t word) const {
  int left = kInfinity;
  for (int j = row.begin; j < row.end; ++j) {
    int cost = std::min(above.at(j), left) + 1;
    if (j > 0) {
      const int replaced = word == reference_[at(j - 1)] ? 0 : 1;
      cost = std::min(cost, above.at(j - 1) + replaced);
    }
    left = row.cells[j - row.begin] = cost;
  }
}

int BandedDistance::start(const Symbols& hypothesis) {
  for (size_t i = 1; i < rows_.size(); ++i) {
    fill(rows_[i], rows_[i - 1], hypothesis[i - 1]);
  }
  return rows_.back().at(static_cast<int>(reference_.size()));
}

int BandedDistance::resume(const Symbols& hypothesis, int same) {
  Row above = rows_[at(same)];
  for (size_t i = at(same) + 1; i < rows_.size(); ++i) {
    Row row = rows_[i];
    row.cells = spare_cells_.data() + (i % 2) * (spare_cells_.size() / 2);
    fill(row, above, hypothesis[i - 1]);
    above = row;
  }
  return above.at(static_cast<int>(reference_.size()));
}

// Back through the matrix. Among equally cheap ways, keeping or replacing a word is preferred, then
// deleting one of the hypothesis, then inserting one of the reference.
Alignment BandedDistance::align(const Symbols& hypothesis) const {
  size_t i = hypothesis.size();
  size_t j = reference_.size();
  Alignment result{.hypothesis_of = std::vector<int>(j),
                   .hypothesis_wrong = std::vector<char>(i, 0),
                   .reference_wrong = std::vector<char>(j, 0)};
  while (i > 0 || j > 0) {
    const int column = static_cast<int>(j);
    const int cost = rows_[i].at(column);
    const bool both = i > 0 && j > 0;
    const char wrong = both && hypothesis[i - 1] == reference_[j - 1] ? 0 : 1;
    const bool replaced = both && cost == rows_[i - 1].at(column - 1) + wrong;
    const bool deleted = !replaced && i > 0 && cost == rows_[i - 1].at(column) + 1;
    if (!deleted) {
      result.hypothesis_of[j - 1] = static_cast<int>(i) - 1;
      result.reference_wrong[j - 1] = replaced ? wrong : 1;
      --j;
    }
    if (deleted || replaced) {
      result.hypothesis_wrong[i - 1] = deleted ? 1 : wrong;
      --i;
    }
  }
  return result;
}

// Moves `length` words at `start` so that they stand before the word at `target`.
struct Shift {
  int saved = 0;
  int length = 0;
  int start = 0;
  int target = 0;

  bool better_than(const Shift& other) const {
    return std::tuple(saved, length, -start, -target) >
           std::tuple(other.saved, other.length, -other.start, -other.target);
  }

  int first_moved() const { return std::min(start, target); }

  Symbols apply(const Symbols& words) const {
    Symbols result = words;
    const auto word = [&](int i) { return result.begin() + i; };
    if (target < start) {
      std::rotate(word(target), word(start), word(start + length));
    } else {
      // A target inside the moved words counts from where they begin.
      const int end = target > start + length ? target : target + length;
      std::rotate(word(start), word(start + length),
                  word(std::min(end, static_cast<int>(words.size()))));
    }
    return result;
  }
};

class ShiftSearch {
 public:
  ShiftSearch(const Symbols& hypothesis, const Symbols& reference)
      : words_(hypothesis),
        reference_(reference),
        distance_(reference, static_cast<int>(hypothesis.size())) {}

  int64_t edits() {
    int64_t shifts = 0;
    for (;;) {
      const int left = distance_.start(words_);
      const std::optional<Shift> best = best_shift(left);
      // A search cut short is not trusted.
      if (checked_ >= kMostCandidates || !best || best->saved <= 0) {
        return shifts + left;
      }
      words_ = best->apply(words_);
      ++shifts;
    }
  }

 private:
  // Looks at every phrase of the hypothesis that is also in the reference, not too far away.
  std::optional<Shift> best_shift(int unshifted) {
    const Alignment alignment = distance_.align(words_);
    const int words = static_cast<int>(words_.size());
    const int references = static_cast<int>(reference_.size());
    std::optional<Shift> best;
    for (int start = 0; start < words; ++start) {
      const int last = std::min(references - 1, start + kFarthestShift);
      for (int wanted = std::max(0, start - kFarthestShift); wanted <= last; ++wanted) {
        const int longest = std::min({kLongestShift, words - start, references - wanted});
        bool hypothesis_wrong = false;
        bool reference_wrong = false;
        for (int i = 0; i < longest && same_word(start + i, wanted + i); ++i) {
          hypothesis_wrong |= alignment.hypothesis_wrong[at(start + i)] != 0;
          reference_wrong |= alignment.reference_wrong[at(wanted + i)] != 0;
          const int aligned = alignment.hypothesis_of[at(wanted)];
          const bool in_place = aligned >= start && aligned <= start + i;
          // Only what is wrong here and missing there can save an edit.
          if (hypothesis_wrong && reference_wrong && !in_place) {
            try_targets({.length = i + 1, .start = start}, wanted, alignment, unshifted, best);
            if (checked_ >= kMostCandidates) {
              return best;
            }
          }
        }
      }
    }
    return best;
  }

  // Tries the places after what is aligned with the reference words from `wanted` - 1 on.
  void try_targets(Shift shift, int wanted, const Alignment& alignment, int unshifted,
                   std::optional<Shift>& best) {
    int previous = -1;
    for (int i = wanted - 1; i < wanted + shift.length; ++i) {
      shift.target = i < 0 ? 0 : alignment.hypothesis_of[at(i)] + 1;
      if (shift.target == previous) {
        continue;
      }
      previous = shift.target;
      shift.saved = unshifted - distance_.resume(shift.apply(words_), shift.first_moved());
      ++checked_;
      if (!best || shift.better_than(*best)) {
        best = shift;
      }
    }
  }

  bool same_word(int in_hypothesis, int in_reference) const {
    return words_[at(in_hypothesis)] == reference_[at(in_reference)];
  }

  Symbols words_;
  const Symbols& reference_;
  BandedDistance distance_;
  int checked_ = 0;
};

}  // namespace

int64_t translation_edits(const Symbols& hypothesis, const Symbols& reference) {
  if (reference.empty()) {
    return static_cast<int64_t>(hypothesis.size());
  }
  return ShiftSearch(hypothesis, reference).edits();
}

}  // namespace heed
