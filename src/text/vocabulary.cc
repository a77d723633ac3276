#include "text/vocabulary.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "base/error.h"
#include "text/unicode.h"

namespace heed {
namespace {

constexpr std::string_view kJoiner = "￭";
constexpr char32_t kJoinerCharacter = U'￭';
constexpr std::string_view kJoinerStandIn = "■";

// A token and the bytes of the text that it was read from.
struct Cut {
  std::string token;
  TextRange range;
};

// Calls use(character, range) for every character of a text, in lower case if asked.
template <typename Use>
void for_each_character(std::string_view text, bool lower, const Use& use) {
  size_t at = 0;
  for (const CodePoint& c : CodePoints(text)) {
    const TextRange range{at, at + c.bytes.size()};
    use(lower ? lower_case(c.value) : c.value, range);
    at = range.end;
  }
}

std::vector<Cut> split_characters(std::string_view text, bool lower) {
  std::vector<Cut> tokens;
  for_each_character(text, lower, [&](char32_t c, TextRange range) {
    tokens.push_back({c == U' ' ? std::string(kSpaceMark) : to_utf8(c), range});
  });
  return tokens;
}

// A joiner stands on the mark, never on the word, so that a word has one token wherever it stands.
std::vector<Cut> split_words(std::string_view text, bool lower) {
  enum class Before { space, word, mark };
  std::vector<Cut> tokens;
  Before before = Before::space;
  for_each_character(text, lower, [&](char32_t c, TextRange range) {
    if (is_space(c)) {
      before = Before::space;
      return;
    }
    const std::string character = c == kJoinerCharacter ? std::string(kJoinerStandIn) : to_utf8(c);
    if (is_punctuation(c)) {
      tokens.push_back(
          {before == Before::space ? character : std::string(kJoiner) + character, range});
      before = Before::mark;
      return;
    }
    if (before == Before::mark) {
      tokens.back().token += kJoiner;
    }
    if (before == Before::word) {
      tokens.back().token += character;
      tokens.back().range.end = range.end;
    } else {
      tokens.push_back({character, range});
    }
    before = Before::word;
  });
  return tokens;
}

// Also at line ends, since a text may have more than one line.
std::vector<Cut> split_at_spaces(std::string_view text) {
  std::vector<Cut> tokens;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find_first_of(" \n", begin), text.size());
    if (end > begin) {
      tokens.push_back({std::string(text.substr(begin, end - begin)), {begin, end}});
    }
    begin = end + 1;
  }
  return tokens;
}

std::vector<Cut> split(std::string_view text, const Vocabulary::Content& how) {
  if (how.pre_tokenized) {
    return split_at_spaces(text);
  }
  return how.kind == VocabularyKind::character ? split_characters(text, how.lower_case)
                                               : split_words(text, how.lower_case);
}

const char* name_of(VocabularyKind kind) { return kind == VocabularyKind::word ? "word" : "char"; }

struct NamedId {
  const char* name;
  int32_t SpecialIds::*id;
};
constexpr std::array<NamedId, 4> kSpecial = {{{"pad", &SpecialIds::pad},
                                              {"start", &SpecialIds::start},
                                              {"end", &SpecialIds::end},
                                              {"unk", &SpecialIds::unk}}};

void check_special(const SpecialIds& special, size_t size, std::string_view where) {
  for (const NamedId& a : kSpecial) {
    const int32_t id = special.*a.id;
    check(id >= -1 && id < static_cast<int64_t>(size),
          "[{}] special.{} is {}, expected an id below {}, or -1 for none", where, a.name, id,
          size);
    for (const NamedId& b : kSpecial) {
      check(a.id == b.id || id == -1 || id != special.*b.id,
            "[{}] special.{} and special.{} are both {}", where, a.name, b.name, id);
    }
  }
  check(special.unk >= 0, "[{}] special.unk is {}, but unknown tokens need an id", where,
        special.unk);
}

// Deeper JSON would overflow the stack of whoever prints it.
constexpr int kVocabularyDepth = 2;

// The content of the JSON, field by field.
struct Stored {
  struct Special {
    int32_t pad = -1;
    int32_t start = -1;
    int32_t end = -1;
    int32_t unk = -1;
    template <typename Visitor>
    void fields(Visitor& v) {
      v("pad", pad, "fills batches");
      v("start", start, "before the first token");
      v("end", end, "after the last token");
      v("unk", unk, "stands for tokens that are not listed");
    }
  };
  std::string kind;
  bool lower_case = false;
  bool pre_tokenized = false;
  Special special;
  std::vector<std::string> tokens;
  template <typename Visitor>
  void fields(Visitor& v) {
    v("kind", kind, "what a token is", {.choices = {"word", "char"}});
    v("lower_case", lower_case, "text is lower-cased first");
    v("pre_tokenized", pre_tokenized, "text comes with a space between tokens");
    v("special", special, "ids of special tokens; -1: none");
    v("tokens", tokens, "an id is a place in this list");
  }
};

}  // namespace

Vocabulary::Vocabulary(Content content, std::string_view where) : content_(std::move(content)) {
  check(!content_.tokens.empty(), "[{}] there are no tokens", where);
  check(content_.tokens.size() <= static_cast<size_t>(std::numeric_limits<int32_t>::max()),
        "[{}] {} tokens are too many", where, content_.tokens.size());
  check(!content_.pre_tokenized || content_.kind == VocabularyKind::word,
        "[{}] pre_tokenized is true, but the kind is char, expected word", where);
  check(!content_.pre_tokenized || !content_.lower_case,
        "[{}] pre_tokenized and lower_case are both true", where);
  check_special(content_.special, content_.tokens.size(), where);
  ids_.reserve(content_.tokens.size());
  for (size_t i = 0; i < content_.tokens.size(); ++i) {
    const std::string& token = content_.tokens[i];
    check(!token.empty(), "[{}] token {} is empty", where, i);
    check(valid_utf8(token), "[{}] token {} is not UTF-8", where, i);
    check(token.find(' ') == std::string::npos, "[{}] token {} is \"{}\", which has a space", where,
          i, token);
    const auto [entry, added] = ids_.emplace(token, static_cast<int32_t>(i));
    check(added, "[{}] tokens {} and {} are both \"{}\"", where, entry->second, i, token);
  }
}

bool Vocabulary::is_special(int32_t id) const {
  return std::any_of(kSpecial.begin(), kSpecial.end(),
                     [&](const NamedId& s) { return content_.special.*s.id == id; });
}

int32_t Vocabulary::id_of(std::string_view token) const {
  const auto found = ids_.find(token);
  // A text that spells a special token must not end a sentence.
  const bool known = found != ids_.end() && !is_special(found->second);
  return known ? found->second : content_.special.unk;
}

std::vector<int32_t> Vocabulary::encode(std::string_view text) const {
  return encode_with_offsets(text).ids;
}

Encoding Vocabulary::encode_with_offsets(std::string_view text) const {
  Encoding result;
  for (const Cut& cut : split(text, content_)) {
    result.ids.push_back(id_of(cut.token));
    result.ranges.push_back(cut.range);
  }
  return result;
}

std::string Vocabulary::decode(std::span<const int32_t> ids) const {
  std::string text;
  const bool characters = content_.kind == VocabularyKind::character;
  bool joined = true;  // to what comes before
  for (const int32_t id : ids) {
    const std::string whole = piece(id);
    if (id != content_.special.unk && is_special(id)) {
      continue;
    }
    std::string_view token = whole;
    if (characters) {
      text += token == kSpaceMark ? " " : token;
      continue;
    }
    const bool marks = !content_.pre_tokenized;
    if (marks && token.starts_with(kJoiner)) {
      joined = true;
      token.remove_prefix(kJoiner.size());
    }
    text += joined ? "" : " ";
    joined = marks && token.ends_with(kJoiner);
    token.remove_suffix(joined ? kJoiner.size() : 0);
    text += token;
  }
  return text;
}

std::string Vocabulary::piece(int32_t id) const {
  check(id >= 0 && id < size(), "[tokenizer] id {} is out of range, expected 0 to {}", id,
        size() - 1);
  return content_.tokens[static_cast<size_t>(id)];
}

std::optional<int32_t> Vocabulary::find(std::string_view piece) const {
  const auto found = ids_.find(piece);
  return found == ids_.end() ? std::nullopt : std::optional<int32_t>(found->second);
}

std::string_view Vocabulary::kind() const {
  return content_.pre_tokenized ? "token" : name_of(content_.kind);
}

std::string Vocabulary::serialize() const {
  const SpecialIds& special = content_.special;
  const Stored stored{
      .kind = name_of(content_.kind),
      .lower_case = content_.lower_case,
      .pre_tokenized = content_.pre_tokenized,
      .special = {special.pad, special.start, special.end, special.unk},
      .tokens = content_.tokens,
  };
  return config::write(stored).dump(1) + "\n";
}

std::shared_ptr<const Vocabulary> Vocabulary::from_json(std::string_view json,
                                                        std::string_view where) {
  Stored stored;
  try {
    const auto shallow = [&](int depth, Json::parse_event_t /*event*/, Json& /*value*/) {
      check(depth <= kVocabularyDepth,
            "[{}] this is not a vocabulary: it is nested more than {} deep", where,
            kVocabularyDepth);
      return true;
    };
    config::read(stored, Json::parse(json, shallow), where);
  } catch (const Json::exception& error) {
    fail("[{}] this is not JSON: {}", where, error.what());
  }
  check(!stored.kind.empty(), "[{}] \"kind\" is missing, expected word or char", where);
  const Stored::Special& special = stored.special;
  return std::make_shared<Vocabulary>(
      Content{
          .kind = stored.kind == "word" ? VocabularyKind::word : VocabularyKind::character,
          .lower_case = stored.lower_case,
          .pre_tokenized = stored.pre_tokenized,
          .special = {special.pad, special.start, special.end, special.unk},
          .tokens = std::move(stored.tokens),
      },
      where);
}

std::shared_ptr<const Vocabulary> Vocabulary::from_lines(std::vector<std::string> lines,
                                                         std::string_view where) {
  const auto place = [&](std::initializer_list<std::string_view> names) {
    const auto found = std::find_first_of(lines.begin(), lines.end(), names.begin(), names.end());
    return found == lines.end() ? -1 : static_cast<int32_t>(found - lines.begin());
  };
  if (place({"<unk>"}) < 0) {
    lines.emplace_back("<unk>");
  }
  const SpecialIds special{.pad = place({"<blank>", "<pad>"}),
                           .start = place({"<s>"}),
                           .end = place({"</s>"}),
                           .unk = place({"<unk>"})};
  return std::make_shared<Vocabulary>(
      Content{.pre_tokenized = true, .special = special, .tokens = std::move(lines)}, where);
}

std::shared_ptr<const Vocabulary> Vocabulary::train(const std::vector<std::string>& lines,
                                                    const TokenizerTraining& options) {
  Content content{
      .kind = options.kind == "char" ? VocabularyKind::character : VocabularyKind::word,
      .lower_case = options.lower_case,
      .pre_tokenized = options.kind == "token",
      .special = {},
      .tokens = {"<pad>", "<s>", "</s>", "<unk>"},
  };
  std::unordered_map<std::string, int64_t> counts;
  for (const std::string& line : lines) {
    for (Cut& cut : split(line, content)) {
      ++counts[std::move(cut.token)];
    }
  }
  for (const std::string& special : content.tokens) {
    counts.erase(special);  // a text that has been cut may hold "<unk>"
  }
  std::vector<std::pair<std::string, int64_t>> ranked;
  for (const auto& entry : counts) {
    if (entry.second >= options.least_count) {
      ranked.push_back(entry);
    }
  }
  check(!ranked.empty(), "[tokenizer] {} lines hold no {} that occurs at least {} times",
        lines.size(), options.kind, options.least_count);
  // The bytes decide between equally frequent ones, so that the order of the map does not.
  std::sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  const size_t room = static_cast<size_t>(options.vocabulary) - content.tokens.size();
  for (size_t i = 0; i < std::min(room, ranked.size()); ++i) {
    content.tokens.push_back(std::move(ranked[i].first));
  }
  return std::make_shared<Vocabulary>(std::move(content), "tokenizer");
}

}  // namespace heed
