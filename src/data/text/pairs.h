// Aligned texts, such as sentences and their translations, as a stream of pairs: first as texts
// (TextPairs), then as ids (PairStream). Files may be larger than memory.
//
// Pairs that a model cannot learn from are skipped, counted and reported, never silently dropped.
// A stream belongs to one thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/text/lines.h"
#include "text/tokenizer.h"

namespace heed {

// Line n of one file belongs to line n of the other. Without a target file the source file has two
// columns, separated by a tab; further columns are ignored.
struct PairFiles {
  std::filesystem::path source;
  std::filesystem::path target;
};

enum class SkipReason { kColumns, kUtf8, kEmpty, kLong };

struct SkipReport {
  struct Skipped {
    int64_t pairs = 0;
    std::vector<std::string> lines;  // the first few: "17", or "news.en:17" if there are more files
  };
  int64_t read = 0;  // pairs looked at
  std::array<Skipped, 4> reasons;

  const Skipped& of(SkipReason reason) const { return reasons[static_cast<size_t>(reason)]; }
  int64_t skipped() const;
  // "skipped 12 of 29000 pairs: 3 empty (lines 17, 40, 99), 9 over-long (lines 1, 2, 5, 8, 9, ...)"
  std::string text() const;
};

struct TextPair {
  std::string source;
  std::string target;
  int64_t line = 0;  // in its file, from 1
};

// The texts as they stand in the files, one file pair after the other.
class TextPairs {
 public:
  explicit TextPairs(std::vector<PairFiles> files);

  // False at the end. Files of unequal length are an Error that names both counts.
  bool next(TextPair& pair);

  // Counts the last pair of next() as skipped.
  void skip(SkipReason reason);
  const SkipReport& report() const { return report_; }

 private:
  bool next_in_files(TextPair& pair);
  bool split_columns(TextPair& pair);

  std::vector<PairFiles> files_;
  size_t opened_ = 0;  // files_[opened_ - 1] is being read
  std::unique_ptr<LineReader> source_;
  std::unique_ptr<LineReader> target_;  // null: columns
  std::string columns_;
  SkipReport report_;
};

// What is read, and how it becomes ids.
struct Corpus {
  std::vector<PairFiles> files;
  std::shared_ptr<const Tokenizer> source;
  std::shared_ptr<const Tokenizer> target;
  int64_t max_length = 256;  // pairs with more ids on either side are skipped

  std::string names() const;  // of the files, for messages
};

struct EncodedPair {
  std::vector<int32_t> source;
  std::vector<int32_t> target;
  int64_t line = 0;
};

// The usable pairs, encoded. Neither side is empty or longer than max_length.
class PairStream {
 public:
  explicit PairStream(const Corpus& corpus);

  bool next(EncodedPair& pair);
  const SkipReport& report() const { return texts_.report(); }

 private:
  std::optional<SkipReason> encode(EncodedPair& pair) const;

  std::shared_ptr<const Tokenizer> source_;
  std::shared_ptr<const Tokenizer> target_;
  size_t max_length_;
  TextPairs texts_;
  TextPair text_;
};

}  // namespace heed
