#include "text/tokenizer_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "base/config.h"
#include "base/error.h"
#include "text/bpe/byte_bpe.h"
#include "text/wordpiece.h"

namespace heed {
namespace {

// Not base/config.h's Json, which finds keys one by one: vocabularies have 50,000.
using SortedJson = nlohmann::json;

// Deeper than any tokenizer.json is, and still safe to print.
constexpr int kDepth = 32;

// A value as a message shows it: whole if short.
std::string shown(const SortedJson& value) {
  if (value.is_structured()) {
    return value.is_object() ? "an object" : "a list";
  }
  constexpr size_t kMost = 60;
  const std::string text = value.dump(-1, ' ', true, SortedJson::error_handler_t::replace);
  return text.size() <= kMost ? text : text.substr(0, kMost) + "...";
}

// A value and the path to it, for messages. Missing values read as null, as in the format itself.
class JsonField {
 public:
  JsonField(const SortedJson& value, std::string path, std::string_view where)
      : value_(value), path_(std::move(path)), where_(where) {}

  bool is_null() const { return value_.is_null(); }
  const SortedJson& value() const { return value_; }

  JsonField operator[](const char* key) const {
    static const SortedJson missing;
    expect(value_.is_object(), "an object");
    const auto found = value_.find(key);
    return {found == value_.end() ? missing : *found, path_.empty() ? key : path_ + "." + key,
            where_};
  }
  JsonField at(size_t index) const {
    return {value_.at(index), fmt::format("{}[{}]", path_, index), where_};
  }
  // An entry of a large object, which is not looked up by its key.
  JsonField entry(const std::string& key, const SortedJson& value) const {
    return {value, fmt::format("{}[\"{}\"]", path_, key), where_};
  }

  // Throws unless the condition holds: the field, its value, and what is expected.
  void expect(bool holds, std::string_view expected) const {
    check(holds, "[{}] {} is {}, expected {}", where_, path_.empty() ? "the file" : path_,
          value_.is_null() ? "missing" : shown(value_), expected);
  }

  const std::string& text() const {
    expect(value_.is_string(), "a string");
    return value_.get_ref<const std::string&>();
  }
  bool flag(bool otherwise) const {
    expect(value_.is_boolean() || is_null(), "true or false");
    return is_null() ? otherwise : value_.get<bool>();
  }
  int32_t id() const {
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    // Large unsigned numbers must not wrap around.
    const bool holds = value_.is_number_integer() && value_ >= 0 && value_ <= kMost;
    expect(holds, "a number from 0 to 2147483647");
    return value_.get<int32_t>();
  }
  const SortedJson::array_t& list() const {
    expect(value_.is_array(), "a list");
    return value_.get_ref<const SortedJson::array_t&>();
  }

  // For parts that must be as the models here have them.
  void expect_flag(bool wanted, bool otherwise) const {
    expect(flag(otherwise) == wanted, wanted ? "true" : "false");
  }
  void expect_nothing() const {
    const bool nothing = is_null() || (value_.is_string() && text().empty());
    expect(nothing, "null");
  }
  // For a part that names its type; null means that there is none.
  void expect_type(const std::vector<std::string>& supported) const {
    if (!is_null()) {
      const JsonField type = (*this)["type"];
      const bool holds =
          std::find(supported.begin(), supported.end(), type.text()) != supported.end();
      type.expect(holds, fmt::format("{}", fmt::join(supported, " or ")));
    }
  }

 private:
  const SortedJson& value_;
  std::string path_;
  std::string_view where_;
};

std::vector<std::string> read_vocabulary(const JsonField& vocab) {
  vocab.expect(vocab.value().is_object(), "an object");
  std::vector<std::string> pieces(vocab.value().size());
  std::vector<bool> taken(pieces.size());
  for (const auto& [text, value] : vocab.value().items()) {
    const JsonField entry = vocab.entry(text, value);
    const auto id = static_cast<size_t>(entry.id());
    entry.expect(id < pieces.size(),
                 fmt::format("an id below {}, the number of pieces", pieces.size()));
    entry.expect(!taken[id], fmt::format("another id than \"{}\" has", pieces[id]));
    taken[id] = true;
    pieces[id] = text;
  }
  return pieces;
}

std::vector<AddedToken> read_added(const JsonField& tokens, bool normalizes) {
  std::vector<AddedToken> added;
  for (size_t i = 0; !tokens.is_null() && i < tokens.list().size(); ++i) {
    const JsonField token = tokens.at(i);
    added.push_back({.id = token["id"].id(),
                     .text = token["content"].text(),
                     .special = token["special"].flag(false)});
    for (const char* flag : {"single_word", "lstrip", "rstrip"}) {
      token[flag].expect_flag(false, false);
    }
    if (normalizes) {  // such a token would have to be found in the text as it is lower-cased
      token["normalized"].expect_flag(false, !added.back().special);
    }
  }
  return added;
}

// "a b", or ["a", "b"] as newer files have it.
std::pair<std::string, std::string> read_merge(const JsonField& merge) {
  if (merge.value().is_string()) {
    const std::string& both = merge.text();
    const size_t space = both.find(' ');
    const bool holds = space != std::string::npos && both.find(' ', space + 1) == std::string::npos;
    merge.expect(holds, "two pieces with a space between");
    return {both.substr(0, space), both.substr(space + 1)};
  }
  merge.expect(merge.list().size() == 2, "two pieces");
  return {merge.at(0).text(), merge.at(1).text()};
}

void check_frame(const JsonField& root) {
  root["post_processor"].expect_type(
      {"TemplateProcessing", "BertProcessing", "RobertaProcessing", "ByteLevel"});
}

std::shared_ptr<const Tokenizer> read_byte_bpe(const JsonField& root, std::string_view where) {
  const JsonField model = root["model"];
  const JsonField dropout = model["dropout"];
  dropout.expect(dropout.is_null() || dropout.value() == 0, "null");
  model["continuing_subword_prefix"].expect_nothing();
  model["end_of_word_suffix"].expect_nothing();
  model["byte_fallback"].expect_flag(false, false);
  model["ignore_merges"].expect_flag(false, false);
  root["normalizer"].expect(root["normalizer"].is_null(), "null for a model of type BPE");
  const JsonField splits = root["pre_tokenizer"];
  splits.expect(splits.value().is_object(), "an object of type ByteLevel for a model of type BPE");
  splits.expect_type({"ByteLevel"});
  splits["use_regex"].expect_flag(true, true);
  root["decoder"].expect_type({"ByteLevel"});
  check_frame(root);

  ByteBpe::Content content{.pieces = read_vocabulary(model["vocab"]),
                           .merges = {},
                           .added = read_added(root["added_tokens"], false),
                           .add_prefix_space = splits["add_prefix_space"].flag(true)};
  const JsonField merges = model["merges"];
  for (size_t i = 0; i < merges.list().size(); ++i) {
    content.merges.push_back(read_merge(merges.at(i)));
  }
  return std::make_shared<ByteBpe>(std::move(content), where);
}

std::shared_ptr<const Tokenizer> read_wordpiece(const JsonField& root, std::string_view where) {
  const JsonField model = root["model"];
  const JsonField cleans = root["normalizer"];
  cleans.expect(cleans.value().is_object(),
                "an object of type BertNormalizer for a model of type WordPiece");
  cleans.expect_type({"BertNormalizer"});
  cleans["clean_text"].expect_flag(true, true);
  const JsonField splits = root["pre_tokenizer"];
  splits.expect(splits.value().is_object(),
                "an object of type BertPreTokenizer for a model of type WordPiece");
  splits.expect_type({"BertPreTokenizer"});
  check_frame(root);

  WordPiece::Content content{.pieces = read_vocabulary(model["vocab"]),
                             .added = read_added(root["added_tokens"], true),
                             .options = {.lower_case = cleans["lowercase"].flag(true)},
                             .continuing = model["continuing_subword_prefix"].text(),
                             .unknown = model["unk_token"].text(),
                             .longest_word = model["max_input_chars_per_word"].id()};
  content.options.chinese_characters = cleans["handle_chinese_chars"].flag(true);
  if (!cleans["strip_accents"].is_null()) {
    content.options.strip_accents = cleans["strip_accents"].flag(false);
  }
  const JsonField decoder = root["decoder"];
  decoder.expect_type({"WordPiece"});
  if (!decoder.is_null()) {
    decoder["cleanup"].expect_flag(true, true);
    decoder["prefix"].expect(decoder["prefix"].text() == content.continuing,
                             "what model.continuing_subword_prefix is");
  }
  return std::make_shared<WordPiece>(std::move(content), where);
}

SortedJson parse(std::string_view json, std::string_view where) {
  const auto shallow = [&](int depth, SortedJson::parse_event_t /*event*/, SortedJson& /*value*/) {
    check(depth <= kDepth, "[{}] this is not a tokenizer.json: it is nested more than {} deep",
          where, kDepth);
    return true;
  };
  try {
    return SortedJson::parse(json, shallow);
  } catch (const SortedJson::exception& error) {
    fail("[{}] this is not JSON: {}", where, error.what());
  }
}

// Older files, GPT-2's and BERT's among them, do not name the model's type.
std::string model_type(const JsonField& model) {
  const JsonField type = model["type"];
  if (type.is_null() && !model["merges"].is_null()) {
    return "BPE";
  }
  if (type.is_null() && !model["max_input_chars_per_word"].is_null()) {
    return "WordPiece";
  }
  return type.text();
}

// All parts up to the model, in the order of the format.
Json frame(Json added, Json normalizer) {
  Json json = Json::object();
  json["version"] = "1.0";
  json["truncation"] = nullptr;
  json["padding"] = nullptr;
  json["added_tokens"] = std::move(added);
  json["normalizer"] = std::move(normalizer);
  return json;
}

Json added_json(const std::vector<AddedToken>& tokens) {
  Json list = Json::array();
  for (const AddedToken& token : tokens) {
    list.push_back({{"id", token.id},
                    {"content", token.text},
                    {"single_word", false},
                    {"lstrip", false},
                    {"rstrip", false},
                    {"normalized", false},
                    {"special", token.special}});
  }
  return list;
}

Json vocabulary_json(const std::vector<std::string>& pieces) {
  Json json = Json::object();
  auto& entries = json.get_ref<Json::object_t&>();
  entries.reserve(pieces.size());
  for (size_t id = 0; id < pieces.size(); ++id) {
    // Straight into the underlying vector: no piece occurs twice, so no search is needed.
    entries.Json::object_t::Container::emplace_back(pieces[id], id);
  }
  return json;
}

Json byte_level(bool add_prefix_space, bool trim_offsets) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", add_prefix_space},
          {"trim_offsets", trim_offsets},
          {"use_regex", true}};
}

// [CLS] a [SEP], and [CLS] a [SEP] b [SEP] whose second part is of type 1.
Json bert_template(const SpecialIds& special) {
  if (special.start < 0 || special.end < 0) {
    return nullptr;
  }
  const auto token = [](const char* text, int type) {
    return Json{{"SpecialToken", {{"id", text}, {"type_id", type}}}};
  };
  const auto sequence = [](const char* name, int type) {
    return Json{{"Sequence", {{"id", name}, {"type_id", type}}}};
  };
  const auto entry = [](const char* text, int32_t id) {
    return Json{{"id", text}, {"ids", Json::array({id})}, {"tokens", Json::array({text})}};
  };
  const Json single = Json::array({token("[CLS]", 0), sequence("A", 0), token("[SEP]", 0)});
  Json pair = single;
  pair.push_back(sequence("B", 1));
  pair.push_back(token("[SEP]", 1));
  return {{"type", "TemplateProcessing"},
          {"single", single},
          {"pair", pair},
          {"special_tokens",
           {{"[CLS]", entry("[CLS]", special.start)}, {"[SEP]", entry("[SEP]", special.end)}}}};
}

}  // namespace

bool is_tokenizer_json(std::string_view json) {
  const auto outermost = [](int depth, SortedJson::parse_event_t /*event*/, SortedJson& /*value*/) {
    return depth <= 1;
  };
  const SortedJson parsed = SortedJson::parse(json, outermost, false);
  return parsed.is_object() && parsed.contains("model");
}

std::shared_ptr<const Tokenizer> read_tokenizer_json(std::string_view json,
                                                     std::string_view where) {
  const SortedJson parsed = parse(json, where);
  const JsonField root(parsed, "", where);
  const std::string type = model_type(root["model"]);
  root["model"]["type"].expect(type == "BPE" || type == "WordPiece", "BPE or WordPiece");
  return type == "BPE" ? read_byte_bpe(root, where) : read_wordpiece(root, where);
}

std::string write_tokenizer_json(const ByteBpe& tokenizer) {
  const ByteBpe::Content& content = tokenizer.content();
  Json json = frame(added_json(content.added), nullptr);
  json["pre_tokenizer"] = byte_level(content.add_prefix_space, true);
  json["post_processor"] = byte_level(true, false);
  json["decoder"] = byte_level(true, true);
  Json merges = Json::array();
  for (const auto& [left, right] : content.merges) {
    merges.push_back(fmt::format("{} {}", left, right));
  }
  json["model"] = {{"type", "BPE"},
                   {"dropout", nullptr},
                   {"unk_token", nullptr},
                   {"continuing_subword_prefix", ""},
                   {"end_of_word_suffix", ""},
                   {"fuse_unk", false},
                   {"byte_fallback", false},
                   {"ignore_merges", false}};
  json["model"]["vocab"] = vocabulary_json(content.pieces);
  json["model"]["merges"] = std::move(merges);
  return json.dump(2) + "\n";
}

std::string write_tokenizer_json(const WordPiece& tokenizer) {
  const WordPiece::Content& content = tokenizer.content();
  const std::optional<bool>& strip = content.options.strip_accents;
  Json json = frame(added_json(content.added),
                    {{"type", "BertNormalizer"},
                     {"clean_text", true},
                     {"handle_chinese_chars", content.options.chinese_characters},
                     {"strip_accents", strip ? Json(*strip) : Json(nullptr)},
                     {"lowercase", content.options.lower_case}});
  json["pre_tokenizer"] = {{"type", "BertPreTokenizer"}};
  json["post_processor"] = bert_template(tokenizer.special());
  json["decoder"] = {{"type", "WordPiece"}, {"prefix", content.continuing}, {"cleanup", true}};
  json["model"] = {{"type", "WordPiece"},
                   {"unk_token", content.unknown},
                   {"continuing_subword_prefix", content.continuing},
                   {"max_input_chars_per_word", content.longest_word}};
  json["model"]["vocab"] = vocabulary_json(content.pieces);
  return json.dump(2) + "\n";
}

}  // namespace heed
