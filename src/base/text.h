// Small helpers for texts in messages.
#pragma once

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heed {

// Insertions, deletions and replacements that turn a into b (Levenshtein).
inline size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, replaced}));
    }
  }
  return row.back();
}

// The candidate most like `wanted`, for "did you mean"; empty if there is none. Beyond a typing
// error a name that contains all of `wanted` is nearer than one that happens to share letters with
// it: "layers" means "encoder_layers", not "heads".
inline std::string nearest(std::string_view wanted, const std::vector<std::string>& candidates) {
  constexpr size_t kTypingErrors = 2;
  const auto farness = [&](const std::string& candidate) {
    const size_t edits = edit_distance(wanted, candidate);
    const bool contains = wanted.size() > 2 && candidate.find(wanted) != std::string::npos;
    return std::pair(edits > kTypingErrors && !contains, edits);
  };
  const auto best = std::min_element(
      candidates.begin(), candidates.end(),
      [&](const std::string& a, const std::string& b) { return farness(a) < farness(b); });
  return best == candidates.end() ? std::string() : *best;
}

// The same, and empty if not even the nearest could be meant.
inline std::string similar(std::string_view wanted, const std::vector<std::string>& candidates) {
  std::string near = nearest(wanted, candidates);
  const bool contains = wanted.size() > 2 && near.find(wanted) != std::string::npos;
  const size_t most = std::max<size_t>(2, wanted.size() / 3);
  return contains || edit_distance(wanted, near) <= most ? near : std::string();
}

}  // namespace heed
