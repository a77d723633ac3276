// Picks the tokenizer by the file or by the kind.
#include "text/tokenizer.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <sstream>
#include <string>

#include "base/config.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "text/bpe/byte_bpe.h"
#include "text/bpe/byte_bpe_train.h"
#include "text/sentencepiece.h"
#include "text/tokenizer_json.h"
#include "text/vocabulary.h"
#include "text/wordpiece.h"
#include "text/wordpiece_train.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

// A vocabulary of a million tokens takes some 20 MB.
constexpr uintmax_t kMostBytes = uintmax_t{256} << 20U;

std::string read_content(const fs::path& file) {
  std::error_code error;
  const uintmax_t bytes = fs::file_size(file, error);
  check(!error, "[{}] cannot read the tokenizer: {}", file.string(), error.message());
  check(bytes > 0, "[{}] the tokenizer's file is empty", file.string());
  check(bytes <= kMostBytes, "[{}] {} bytes are too many for a tokenizer, expected at most {}",
        file.string(), bytes, kMostBytes);
  return read_file(file);
}

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

// How BERT's text is cleaned, from the tokenizer_config.json beside its vocabulary. What it
// leaves out is as in the original BERT.
WordPieceOptions read_wordpiece_options(const fs::path& file) {
  WordPieceOptions options;
  if (!fs::exists(file)) {
    return options;
  }
  constexpr int kDepth = 32;
  const auto shallow = [&](int depth, Json::parse_event_t /*event*/, Json& /*value*/) {
    check(depth <= kDepth, "[{}] this is nested more than {} deep", file.string(), kDepth);
    return true;
  };
  const Json json = Json::parse(read_content(file), shallow, false);
  check(json.is_object(), "[{}] this is not a JSON object", file.string());
  const auto flag = [&](const char* name) -> std::optional<bool> {
    const auto found = json.find(name);
    if (found == json.end() || found->is_null()) {
      return std::nullopt;
    }
    check(found->is_boolean(), "[{}] {} is {}, expected true or false", file.string(), name,
          found->type_name());
    return found->get<bool>();
  };
  options.lower_case = flag("do_lower_case").value_or(options.lower_case);
  options.strip_accents = flag("strip_accents");
  options.chinese_characters = flag("tokenize_chinese_chars").value_or(options.chinese_characters);
  return options;
}

// Files that load_tokenizer() knows by their names. A SentencePiece model takes
// precedence over a tokenizer.json, which then describes the same vocabulary.
constexpr std::array<const char*, 3> kWholeFiles = {"tokenizer.model", "vocabulary.json",
                                                    "tokenizer.json"};

// The file that a folder's tokenizer is loaded from.
std::optional<fs::path> tokenizer_file(const fs::path& folder) {
  for (const char* name : kWholeFiles) {
    if (fs::exists(folder / name)) {
      return folder / name;
    }
  }
  if (fs::exists(folder / "vocab.json") && fs::exists(folder / "merges.txt")) {
    return folder / "vocab.json";
  }
  return fs::exists(folder / "vocab.txt") ? std::optional(folder / "vocab.txt") : std::nullopt;
}

// Whether this is an object of ids by piece.
bool is_gpt2_vocabulary(const std::string& json) {
  const auto outermost = [](int depth, Json::parse_event_t /*event*/, Json& /*value*/) {
    return depth <= 1;
  };
  const Json parsed = Json::parse(json, outermost, false);
  return parsed.is_object() && std::all_of(parsed.begin(), parsed.end(), [](const Json& value) {
           return value.is_number_integer();
         });
}

std::shared_ptr<const Tokenizer> load_bert(const fs::path& file, std::string_view vocab_txt) {
  return WordPiece::from_vocab(vocab_txt,
                               read_wordpiece_options(file.parent_path() / "tokenizer_config.json"),
                               file.string());
}

// No word crosses the end of a text, so lines that keep their line ends are joined into one text,
// and each other line is a text of its own.
std::vector<std::string> join_lines(const std::vector<std::string>& lines) {
  std::vector<std::string> texts;
  bool goes_on = false;
  for (const std::string& line : lines) {
    if (goes_on) {
      texts.back() += line;
    } else {
      texts.push_back(line);
    }
    goes_on = line.ends_with('\n');
  }
  return texts;
}

}  // namespace

std::shared_ptr<const Tokenizer> load_tokenizer(const fs::path& file) {
  const std::string where = file.string();
  std::string content = read_content(file);
  if (file.extension() == ".txt") {
    std::vector<std::string> lines = lines_of(content);
    const bool bert = std::find(lines.begin(), lines.end(), "[UNK]") != lines.end();
    return bert ? load_bert(file, content) : Vocabulary::from_lines(std::move(lines), where);
  }
  const fs::path merges = file.parent_path() / "merges.txt";
  if (file.filename() == "vocab.json" && fs::exists(merges)) {
    return ByteBpe::from_gpt2(content, read_content(merges), where);
  }
  check(!where.ends_with("vocab.json") || !is_gpt2_vocabulary(content),
        "[{}] this lists the pieces of GPT-2's kind of tokenizer; name it vocab.json, with its "
        "merges.txt beside it",
        where);
  if (file.extension() == ".json" || content.front() == '{') {
    return file.filename() == "tokenizer.json" || is_tokenizer_json(content)
               ? read_tokenizer_json(content, where)
               : Vocabulary::from_json(content, where);
  }
  return load_sentencepiece(std::move(content), where);
}

bool has_tokenizer(const fs::path& folder) { return tokenizer_file(folder).has_value(); }

std::shared_ptr<const Tokenizer> load_tokenizer_folder(const fs::path& folder) {
  const std::optional<fs::path> file = tokenizer_file(folder);
  check(file.has_value(),
        "[{}] there is no tokenizer in this folder: neither tokenizer.model, vocabulary.json, "
        "tokenizer.json, vocab.json with merges.txt nor vocab.txt",
        folder.string());
  return file->filename() == "vocab.txt" ? load_bert(*file, read_content(*file))
                                         : load_tokenizer(*file);
}

const std::vector<std::string>& tokenizer_kinds() {
  static const std::vector<std::string> kinds = {"unigram", "bpe",  "byte_bpe", "wordpiece",
                                                 "word",    "char", "token"};
  return kinds;
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
  const std::string& kind = options.kind;
  const std::vector<std::string>& kinds = tokenizer_kinds();
  check(std::find(kinds.begin(), kinds.end(), kind) != kinds.end(),
        "[tokenizer] kind is \"{}\", expected one of: {}; did you mean \"{}\"?", kind,
        fmt::join(kinds, ", "), nearest(kind, kinds));
  check(!options.lower_case || (kind != "byte_bpe" && kind != "token"),
        "[tokenizer] lower_case is true, but {} takes text as it is", kind);
  if (kind == "unigram" || kind == "bpe") {
    return train_sentencepiece(lines, options);
  }
  if (kind == "byte_bpe") {
    return train_byte_bpe(join_lines(lines), options.vocabulary);
  }
  if (kind == "wordpiece") {
    return train_wordpiece(lines, options.vocabulary, {.lower_case = options.lower_case});
  }
  return Vocabulary::train(lines, options);
}

}  // namespace heed
