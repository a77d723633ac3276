// tokenizer_cases gpt2|bert FOLDER CASES: runs files of texts and the ids that others give them.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "data/text/lines.h"
#include "text/bpe/byte_bpe.h"
#include "text/wordpiece.h"

namespace heed {
namespace {

constexpr const char* kUsage = R"(usage: tokenizer_cases gpt2|bert FOLDER CASES

FOLDER has the tokenizer's files
  gpt2   vocab.json and merges.txt, or gpt2-vocab.json and gpt2-merges.txt
  bert   vocab.txt, for lower-cased text
CASES is one of
  JSON   a list of {"text": "...", "ids": [1, 2]}
  TSV    lines of a text, a tab, and ids with spaces between
plain or gzip. No START or END is added.

Prints a line for each text whose ids differ, and the counts.
Returns 0 if none differ, 1 if some do, 2 if something cannot be read.
)";

struct Case {
  std::string text;
  std::vector<int32_t> ids;
};

std::shared_ptr<const Tokenizer> load(const std::string& kind,
                                      const std::filesystem::path& folder) {
  if (kind == "bert") {
    const std::filesystem::path file = folder / "vocab.txt";
    return WordPiece::from_vocab(read_file(file), WordPieceOptions(), file.string());
  }
  check(kind == "gpt2", "[tokenizer_cases] the kind is \"{}\", expected gpt2 or bert", kind);
  const std::string prefix = std::filesystem::exists(folder / "vocab.json") ? "" : "gpt2-";
  return ByteBpe::from_gpt2(read_file(folder / (prefix + "vocab.json")),
                            read_file(folder / (prefix + "merges.txt")), folder.string());
}

std::vector<int32_t> parse_ids(std::string_view text, const std::string& place) {
  std::vector<int32_t> ids;
  while (!text.empty()) {
    int32_t id = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
    const bool at_end = end == text.data() + text.size();
    check(error == std::errc() && (at_end || *end == ' '),
          "[{}] the ids go on with \"{}\", expected numbers with spaces between", place, text);
    ids.push_back(id);
    text.remove_prefix(static_cast<size_t>(end - text.data()) + (at_end ? 0 : 1));
  }
  return ids;
}

std::vector<Case> parse_tsv(const std::vector<std::string>& lines, const std::string& file) {
  std::vector<Case> cases;
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string place = fmt::format("{}:{}", file, i + 1);
    // Ids have no tabs, but a text may.
    const size_t tab = lines[i].rfind('\t');
    check(tab != std::string::npos, "[{}] there is no tab between text and ids", place);
    cases.push_back({lines[i].substr(0, tab), parse_ids(lines[i].substr(tab + 1), place)});
  }
  return cases;
}

std::vector<Case> parse_json(const std::vector<std::string>& lines, const std::string& file) {
  try {
    std::vector<Case> cases;
    for (const auto& c : nlohmann::json::parse(fmt::format("{}", fmt::join(lines, "\n")))) {
      cases.push_back({c.at("text"), c.at("ids")});
    }
    return cases;
  } catch (const nlohmann::json::exception& error) {
    fail("[{}] this is not a list of cases: {}", file, error.what());
  }
}

std::vector<Case> read_cases(const std::filesystem::path& file) {
  const std::vector<std::string> lines = read_lines(file);
  check(!lines.empty(), "[{}] there are no cases", file.string());
  const std::filesystem::path name = file.extension() == ".gz" ? file.stem() : file.filename();
  return name.extension() == ".json" ? parse_json(lines, file.string())
                                     : parse_tsv(lines, file.string());
}

int run(const std::string& kind, const std::string& folder, const std::string& file) {
  const auto tokenizer = load(kind, folder);
  const std::vector<Case> cases = read_cases(file);
  int64_t misses = 0;
  for (const Case& c : cases) {
    const std::vector<int32_t> ids = tokenizer->encode(c.text);
    if (ids != c.ids) {
      ++misses;
      fmt::print("MISS \"{}\"\n  expected {}\n  got      {}\n", c.text, fmt::join(c.ids, " "),
                 fmt::join(ids, " "));
    }
  }
  fmt::print("{} cases, {} misses\n", cases.size(), misses);
  return misses == 0 ? 0 : 1;
}

}  // namespace
}  // namespace heed

int main(int count, char** arguments) {
  if (count != 4) {
    fmt::print(stderr, "{}", heed::kUsage);
    return 2;
  }
  try {
    return heed::run(arguments[1], arguments[2], arguments[3]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}
