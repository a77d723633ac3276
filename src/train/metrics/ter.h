// Translation edit rate (Snover et al., 2006): insertions, deletions, replacements and shifts of
// phrases that turn a hypothesis into a reference, per word of it. The numbers and the limits of
// the search for shifts are sacreBLEU's, which follow tercom.
// Pure functions; safe to call from any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "train/metrics/score_text.h"

namespace heed {

struct TerOptions {
  bool normalized = false;     // tokenize as tercom does; otherwise words are what spaces separate
  bool no_punct = false;       // drop punctuation
  bool asian_support = false;  // with normalized: Chinese and Japanese characters are words; with
                               // no_punct: theirs goes too
  bool case_sensitive = false;
};

struct TerScore {
  double score = 0.0;  // 0 is perfect; above 100 if there are more edits than words
  int64_t edits = 0;
  double reference_length = 0.0;  // means over a sentence's references, added up
  int references = 0;             // per sentence; -1 if that differs
};

// references[i] are those of hypotheses[i], at least one; the one with fewest edits counts.
TerScore ter(std::span<const std::string> hypotheses,
             std::span<const std::vector<std::string>> references, const TerOptions& options = {});

TerScore sentence_ter(const std::string& hypothesis, const std::vector<std::string>& references,
                      const TerOptions& options = {});

// The edits between two texts as the numbers of their words.
int64_t translation_edits(const Symbols& hypothesis, const Symbols& reference);

std::string ter_signature(const TerScore& score, const TerOptions& options,
                          const std::string& version);

}  // namespace heed
