// chrF (Popovic, 2015) and chrF++ (2017): the F-score of character n-grams, and of word n-grams
// too, with sacreBLEU's numbers. Pure functions; safe to call from any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace heed {

struct ChrfOptions {
  int char_order = 6;
  int word_order = 0;  // 2 makes it chrF++
  int beta = 2;        // how many times more recall matters than precision
  bool lowercase = false;
  bool remove_whitespace = true;
  // Every order counts, one without n-grams as almost 0, as in chrF++.py and Moses. Otherwise
  // orders longer than the texts are left out.
  bool eps_smoothing = false;
};

struct ChrfCounts {
  int64_t hypothesis = 0;  // n-grams
  int64_t reference = 0;
  int64_t matched = 0;
};

struct ChrfScore {
  double score = 0.0;              // 0 to 100
  std::vector<ChrfCounts> counts;  // character orders from 1, then word orders from 1
  int references = 0;              // per sentence; -1 if that differs
};

// references[i] are those of hypotheses[i], at least one; the one with the best score counts.
ChrfScore chrf(std::span<const std::string> hypotheses,
               std::span<const std::vector<std::string>> references,
               const ChrfOptions& options = {});

ChrfScore sentence_chrf(const std::string& hypothesis, const std::vector<std::string>& references,
                        const ChrfOptions& options = {});

std::string chrf_name(const ChrfOptions& options);  // "chrF2", "chrF2++"
std::string chrf_signature(const ChrfScore& score, const ChrfOptions& options,
                           const std::string& version);

}  // namespace heed
