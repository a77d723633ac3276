// The two files that GPT-2's tokenizer was published as.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/config.h"
#include "base/error.h"
#include "text/bpe/byte_bpe.h"

namespace heed {
namespace {

// Reads {"piece": id, ...} without building a tree, which would take most of the time and hide
// duplicate names.
class VocabularyReader final : public nlohmann::json_sax<Json> {
 public:
  explicit VocabularyReader(std::string_view where) : where_(where) {}

  // By id.
  std::vector<std::string> pieces() {
    std::vector<std::string> result(entries_.size());
    std::vector<bool> taken(entries_.size());
    for (auto& [piece, id] : entries_) {
      check(id < entries_.size(), "[{}] \"{}\" has id {}, but the {} ids must run from 0 to {}",
            where_, piece, id, entries_.size(), entries_.size() - 1);
      check(!taken[id], "[{}] \"{}\" and \"{}\" both have id {}", where_, result[id], piece, id);
      taken[id] = true;
      result[id] = std::move(piece);
    }
    return result;
  }

  bool key(std::string& name) override {
    name_ = std::move(name);
    return true;
  }
  bool number_unsigned(uint64_t id) override {
    check(open_, "[{}] this is {}, expected an object of pieces and ids", where_, id);
    entries_.emplace_back(std::move(name_), id);
    return true;
  }
  bool start_object(size_t /*size*/) override {
    if (open_) {
      refuse("an object");
    }
    open_ = true;
    return true;
  }
  bool end_object() override { return true; }

  bool null() override { return refuse("null"); }
  bool boolean(bool /*value*/) override { return refuse("a boolean"); }
  bool number_integer(int64_t id) override { return refuse(std::to_string(id)); }
  bool number_float(double /*value*/, const std::string& text) override { return refuse(text); }
  bool string(std::string& /*value*/) override { return refuse("a string"); }
  bool binary(Json::binary_t& /*value*/) override { return refuse("binary"); }
  bool start_array(size_t /*size*/) override { return refuse("a list"); }
  bool end_array() override { return true; }
  bool parse_error(size_t /*position*/, const std::string& /*token*/,
                   const Json::exception& error) override {
    fail("[{}] this is not JSON: {}", where_, error.what());
  }

 private:
  bool refuse(const std::string& value) const {
    check(open_, "[{}] this is {}, expected an object of pieces and ids", where_, value);
    fail("[{}] \"{}\" has {}, expected an id", where_, name_, value);
  }

  std::string where_;
  bool open_ = false;
  std::string name_;
  std::vector<std::pair<std::string, uint64_t>> entries_;
};

struct Merges {
  std::vector<std::pair<std::string, std::string>> parts;
  std::vector<int64_t> lines;
};

Merges read_merges(std::string_view text, std::string_view where) {
  Merges merges;
  for (int64_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) {
      line.remove_suffix(1);
    }
    if (line.empty() || line.starts_with("#version")) {
      continue;
    }
    const size_t space = line.find(' ');
    check(space != std::string_view::npos && space > 0 && space + 1 < line.size() &&
              line.find(' ', space + 1) == std::string_view::npos,
          "[{}] line {} is \"{}\", expected two pieces with a space between", where, number, line);
    merges.parts.emplace_back(line.substr(0, space), line.substr(space + 1));
    merges.lines.push_back(number);
  }
  return merges;
}

}  // namespace

std::shared_ptr<const ByteBpe> ByteBpe::from_gpt2(std::string_view vocab_json,
                                                  std::string_view merges_txt,
                                                  std::string_view where) {
  VocabularyReader reader(where);
  Json::sax_parse(vocab_json, &reader);
  Merges merges = read_merges(merges_txt, where);
  Content content{.pieces = reader.pieces(), .merges = std::move(merges.parts), .added = {}};
  const auto end = std::find(content.pieces.rbegin(), content.pieces.rend(), kEndOfText);
  if (end != content.pieces.rend()) {
    const auto id = static_cast<int32_t>(content.pieces.rend() - end) - 1;
    content.added.push_back({.id = id, .text = std::string(kEndOfText)});
  }
  return std::shared_ptr<const ByteBpe>(new ByteBpe(std::move(content), where, merges.lines));
}

std::string ByteBpe::vocab_json() const {
  std::string json = "{";
  for (size_t id = 0; id < content_.pieces.size(); ++id) {
    json += fmt::format("{}{}:{}", id > 0 ? "," : "", Json(content_.pieces[id]).dump(), id);
  }
  return json + "}\n";
}

std::string ByteBpe::merges_txt() const {
  std::string text = "#version: 0.2\n";
  for (const auto& [left, right] : content_.merges) {
    text.append(left).append(" ").append(right).append("\n");
  }
  return text;
}

}  // namespace heed
