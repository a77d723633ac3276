#include "tasks/fertilities.h"

#include <algorithm>
#include <numeric>
#include <sstream>

#include "base/error.h"
#include "data/text/lines.h"

namespace heed {
namespace {

std::vector<int64_t> parse_counts(const std::string& line, const std::string& place) {
  std::istringstream stream(line);
  std::vector<int64_t> counts;
  for (std::string word; stream >> word;) {
    const bool digits = word.size() <= 6 && std::all_of(word.begin(), word.end(), [](char c) {
                          return '0' <= c && c <= '9';
                        });
    check(digits, "[fertilities] {} has \"{}\", expected a count", place, word);
    counts.push_back(std::stoll(word));
  }
  return counts;
}

}  // namespace

std::vector<std::vector<int64_t>> read_fertilities(const std::vector<std::string>& files,
                                                   const Corpus& corpus, bool source_end) {
  check(files.size() == corpus.files.size(),
        "[fertilities] there are {} files for {} files of sources, expected as many", files.size(),
        corpus.files.size());
  constexpr const char* kAdvice =
      "make the file with heed distil --alignments, together with these targets";
  std::vector<std::vector<int64_t>> all;
  for (size_t i = 0; i < files.size(); ++i) {
    const std::vector<std::string> lines = read_lines(files[i]);
    Corpus part = corpus;
    part.files = {corpus.files[i]};
    PairStream pairs(part);
    for (EncodedPair pair; pairs.next(pair);) {
      const std::string place = fmt::format("{}:{}", files[i], pair.line);
      check(pair.line <= std::ssize(lines),
            "[fertilities] {} has {} lines, expected one per pair: {}", files[i], lines.size(),
            kAdvice);
      std::vector<int64_t> counts = parse_counts(lines[static_cast<size_t>(pair.line - 1)], place);
      const int64_t tokens = std::ssize(pair.source) + (source_end ? 1 : 0);
      check(std::ssize(counts) == tokens,
            "[fertilities] {} has {} counts, expected {}, one per token of the source: {}", place,
            counts.size(), tokens, kAdvice);
      const int64_t total = std::accumulate(counts.begin(), counts.end(), int64_t{0});
      check(total == std::ssize(pair.target),
            "[fertilities] the counts of {} add up to {}, the target has {} tokens: {}", place,
            total, pair.target.size(), kAdvice);
      all.push_back(std::move(counts));
    }
  }
  return all;
}

}  // namespace heed
