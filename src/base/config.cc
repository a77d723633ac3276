#include "base/config.h"

#include <algorithm>

namespace heed::config {
namespace {

// A value as errors show it: short, and never by descending into lists and tables, which strangers
// may have nested deeper than the stack goes.
std::string shown(const Json& value) {
  if (value.is_structured()) {
    return value.is_array() ? "a list" : "a table";
  }
  constexpr size_t kLongest = 60;
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > kLongest) {
    size_t end = kLongest;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) {
      --end;  // not inside a character
    }
    text = text.substr(0, end) + "...";
  }
  return text;
}

}  // namespace

std::string joined(std::string_view path, std::string_view name) {
  return path.empty() ? std::string(name) : fmt::format("{}.{}", path, name);
}

void wrong_type(std::string_view where, std::string_view path, const Json& value,
                std::string_view expected) {
  fail("[{}] {} is {}, expected {}", where, path.empty() ? "the whole" : path, shown(value),
       expected);
}

void check_range(std::string_view where, std::string_view path, double value, const Range& range) {
  check(!std::isnan(value) && value >= range.least, "[{}] {} is {}, expected at least {}", where,
        path, value, range.least);
  check(value <= range.most, "[{}] {} is {}, expected at most {}", where, path, value, range.most);
}

void check_choice(std::string_view where, std::string_view path, const std::string& value,
                  const Range& range) {
  const auto& choices = range.choices;
  if (choices.empty() || std::find(choices.begin(), choices.end(), value) != choices.end()) {
    return;
  }
  std::string list;
  for (const std::string& choice : choices) {
    list += (list.empty() ? "" : ", ") + choice;
  }
  fail("[{}] {} is \"{}\", expected one of: {}", where, path, value, list);
}

void check_keys(std::string_view where, std::string_view path, const Json& object,
                const std::vector<std::string>& known) {
  for (const auto& item : object.items()) {
    check(std::find(known.begin(), known.end(), item.key()) != known.end(),
          "[{}] there is no key {}; did you mean {}?", where, joined(path, item.key()),
          joined(path, nearest(item.key(), known)));
  }
}

}  // namespace heed::config
