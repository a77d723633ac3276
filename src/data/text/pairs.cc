#include "data/text/pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "text/unicode.h"

namespace heed {
namespace {

constexpr size_t kLinesKept = 5;  // of each reason, for the report
constexpr std::array<const char*, 4> kReasonNames = {"without two columns", "with invalid UTF-8",
                                                     "empty", "over-long"};

bool blank(std::string_view text) {
  for (const CodePoint& character : CodePoints(text)) {
    if (!is_space(character.value)) {
      return false;
    }
  }
  return true;
}

// Reads to the end: how many lines there are.
int64_t count_lines(LineReader& reader) {
  for (std::string line; reader.next(line);) {
  }
  return reader.line_number();
}

}  // namespace

int64_t SkipReport::skipped() const {
  return std::accumulate(reasons.begin(), reasons.end(), int64_t{0},
                         [](int64_t sum, const Skipped& one) { return sum + one.pairs; });
}

std::string SkipReport::text() const {
  if (skipped() == 0) {
    return fmt::format("skipped none of {} pairs", read);
  }
  std::string list;
  for (size_t i = 0; i < reasons.size(); ++i) {
    const Skipped& one = reasons[i];
    if (one.pairs > 0) {
      const bool more = one.pairs > static_cast<int64_t>(one.lines.size());
      list += fmt::format("{} {} {} ({} {}{})", list.empty() ? ":" : ",", one.pairs,
                          kReasonNames[i], one.pairs == 1 ? "line" : "lines",
                          fmt::join(one.lines, ", "), more ? ", ..." : "");
    }
  }
  return fmt::format("skipped {} of {} pairs{}", skipped(), read, list);
}

TextPairs::TextPairs(std::vector<PairFiles> files) : files_(std::move(files)) {
  int64_t from_standard_input = 0;
  for (const PairFiles& pair : files_) {
    from_standard_input += (pair.source == "-" ? 1 : 0) + (pair.target == "-" ? 1 : 0);
  }
  check(from_standard_input <= 1,
        "[pairs] standard input (-) is given for {} files, expected at most 1",
        from_standard_input);
}

bool TextPairs::next(TextPair& pair) {
  while (true) {
    if (source_ != nullptr && next_in_files(pair)) {
      return true;
    }
    if (opened_ == files_.size()) {
      source_.reset();
      return false;
    }
    const PairFiles& files = files_[opened_++];
    source_ = std::make_unique<LineReader>(files.source);
    target_ = files.target.empty() ? nullptr : std::make_unique<LineReader>(files.target);
  }
}

bool TextPairs::next_in_files(TextPair& pair) {
  if (target_ == nullptr) {
    return split_columns(pair);
  }
  const bool source = source_->next(pair.source);
  const bool target = target_->next(pair.target);
  if (source != target) {
    const int64_t sources = count_lines(*source_);
    const int64_t targets = count_lines(*target_);
    fail("[pairs] {} has {} lines, but {} has {}; aligned files need the same number of lines",
         source_->name(), sources, target_->name(), targets);
  }
  pair.line = source_->line_number();
  report_.read += source ? 1 : 0;
  return source;
}

bool TextPairs::split_columns(TextPair& pair) {
  while (source_->next(columns_)) {
    ++report_.read;
    pair.line = source_->line_number();
    const size_t tab = columns_.find('\t');
    if (tab == std::string::npos) {
      skip(SkipReason::kColumns);
      continue;
    }
    const size_t second = std::min(columns_.find('\t', tab + 1), columns_.size());
    pair.source.assign(columns_, 0, tab);
    pair.target.assign(columns_, tab + 1, second - tab - 1);
    return true;
  }
  return false;
}

void TextPairs::skip(SkipReason reason) {
  SkipReport::Skipped& skipped = report_.reasons[static_cast<size_t>(reason)];
  ++skipped.pairs;
  if (skipped.lines.size() < kLinesKept) {
    const std::string file = files_.size() == 1 ? "" : source_->name() + ":";
    skipped.lines.push_back(fmt::format("{}{}", file, source_->line_number()));
  }
}

std::string Corpus::names() const {
  std::string list;
  for (const PairFiles& pair : files) {
    list += (list.empty() ? "" : ", ") + pair.source.string();
    list += pair.target.empty() ? "" : ", " + pair.target.string();
  }
  return list;
}

PairStream::PairStream(const Corpus& corpus)
    : source_(corpus.source),
      target_(corpus.target),
      max_length_(static_cast<size_t>(corpus.max_length)),
      texts_(corpus.files) {
  check(corpus.max_length > 0, "[pairs] max_length is {}, expected at least 1", corpus.max_length);
}

bool PairStream::next(EncodedPair& pair) {
  while (texts_.next(text_)) {
    const std::optional<SkipReason> fault = encode(pair);
    if (!fault) {
      return true;
    }
    texts_.skip(*fault);
  }
  return false;
}

// Why the pair is skipped, if it is.
std::optional<SkipReason> PairStream::encode(EncodedPair& pair) const {
  if (!valid_utf8(text_.source) || !valid_utf8(text_.target)) {
    return SkipReason::kUtf8;
  }
  if (blank(text_.source) || blank(text_.target)) {
    return SkipReason::kEmpty;
  }
  pair.source = source_->encode(text_.source);
  pair.target = target_->encode(text_.target);
  pair.line = text_.line;
  if (pair.source.empty() || pair.target.empty()) {
    return SkipReason::kEmpty;  // of characters that the tokenizer drops
  }
  if (pair.source.size() > max_length_ || pair.target.size() > max_length_) {
    return SkipReason::kLong;
  }
  return std::nullopt;
}

}  // namespace heed
