// Picks the tokenizer by the file or by the kind.
#include "text/tokenizer.h"

#include <array>
#include <sstream>
#include <string>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "text/sentencepiece.h"
#include "text/vocabulary.h"

namespace heed {
namespace {

// A vocabulary of a million tokens takes some 20 MB.
constexpr uintmax_t kMostBytes = uintmax_t{256} << 20U;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (line.ends_with('\r')) {
      line.pop_back();
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace

std::shared_ptr<const Tokenizer> load_tokenizer(const std::filesystem::path& file) {
  const std::string where = file.string();
  std::error_code error;
  const uintmax_t bytes = std::filesystem::file_size(file, error);
  check(!error, "[{}] cannot read the tokenizer: {}", where, error.message());
  check(bytes > 0, "[{}] the tokenizer's file is empty", where);
  check(bytes <= kMostBytes, "[{}] {} bytes are too many for a tokenizer, expected at most {}",
        where, bytes, kMostBytes);
  std::string content = read_file(file);
  if (file.extension() == ".txt") {
    return Vocabulary::from_lines(lines_of(content), where);
  }
  if (file.extension() == ".json" || content.front() == '{') {
    return Vocabulary::from_json(content, where);
  }
  return load_sentencepiece(std::move(content), where);
}

std::shared_ptr<const Tokenizer> train_tokenizer(const std::vector<std::string>& lines,
                                                 const TokenizerTraining& options) {
  check(options.vocabulary > 4, "[tokenizer] vocabulary is {}, expected more than 4",
        options.vocabulary);
  check(options.character_coverage >= 0.98F && options.character_coverage <= 1.0F,
        "[tokenizer] character_coverage is {}, expected 0.98 to 1", options.character_coverage);
  check(options.least_count >= 1, "[tokenizer] least_count is {}, expected at least 1",
        options.least_count);
  check(!lines.empty(), "[tokenizer] there are no lines to train from");
  if (options.kind == "unigram" || options.kind == "bpe") {
    return train_sentencepiece(lines, options);
  }
  check(options.kind == "word" || options.kind == "char",
        "[tokenizer] kind is \"{}\", expected unigram, bpe, word or char; the nearest is \"{}\"",
        options.kind, nearest(options.kind, {"unigram", "bpe", "word", "char"}));
  return Vocabulary::train(lines, options);
}

}  // namespace heed
