#include "base/config.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

#include "base/text.h"

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

void check_range(std::string_view where, std::string_view path, double value, const Range& range) {
  check(!std::isnan(value) && value >= range.least, "[{}] {} is {}, expected at least {}", where,
        path, value, range.least);
  check(value <= range.most, "[{}] {} is {}, expected at most {}", where, path, value, range.most);
}

template <typename T>
concept Number = std::is_arithmetic_v<T> && !std::is_same_v<T, bool>;

template <std::floating_point T>
void read_number(T& value, const Json& json, std::string_view where, std::string_view path) {
  if (!json.is_number()) {
    wrong_type(where, path, json, "a number");
  }
  // A double beyond the floats, or the infinity of a TOML file, could not be written back.
  value = json.get<T>();
  check(std::isfinite(value), "[{}] {} is {}, which is out of range", where, path,
        json.get<double>());
}

template <std::integral T>
void read_number(T& value, const Json& json, std::string_view where, std::string_view path) {
  const bool whole =
      json.is_number_integer() ||
      (json.is_number_float() && std::rint(json.get<double>()) == json.get<double>() &&
       std::abs(json.get<double>()) < 0x1p53);
  if (!whole) {
    wrong_type(where, path, json, "a whole number");
  }
  const auto wide =
      json.is_number_float() ? static_cast<int64_t>(json.get<double>()) : json.get<int64_t>();
  const bool fits =
      json.is_number_unsigned() ? std::in_range<T>(json.get<uint64_t>()) : std::in_range<T>(wide);
  check(fits, "[{}] {} is {}, which is out of range", where, path, json.dump());
  value = json.is_number_unsigned() ? static_cast<T>(json.get<uint64_t>()) : static_cast<T>(wide);
}

// Reads fields from a JSON table.
class Reader : public Visitor {
 public:
  Reader(const Json& json, std::string_view where, std::string_view path)
      : json_(json), where_(where), path_(path) {}

  void visit(const char* name, const Value& value, const char* /*help*/,
             const Range& range) override {
    known_.emplace_back(name);
    if (!range.renamed_from.empty()) {
      renamed_.emplace_back(range.renamed_from, name);
    }
    if (const auto found = json_.find(name); found != json_.end()) {
      const std::string path = joined(path_, name);
      std::visit([&](auto place) { read_at(place, *found, path, range); }, value);
    }
  }

  void check_keys() const {
    for (const auto& item : json_.items()) {
      const std::string& key = item.key();
      for (const auto& [before, now] : renamed_) {
        check(key != before || is_known(key), "[{}] there is no key {}; it is now called {}",
              where_, joined(path_, key), joined(path_, now));
      }
      check(is_known(key), "[{}] there is no key {}; did you mean {}?", where_, joined(path_, key),
            joined(path_, nearest(key, known_)));
    }
  }

 private:
  bool is_known(const std::string& key) const {
    return std::find(known_.begin(), known_.end(), key) != known_.end();
  }

  void read_at(const Object& object, const Json& json, const std::string& path,
               const Range& /*range*/) const {
    read(object, json, where_, path);
  }

  void read_at(bool* value, const Json& json, const std::string& path,
               const Range& /*range*/) const {
    if (!json.is_boolean()) {
      wrong_type(where_, path, json, "true or false");
    }
    *value = json.get<bool>();
  }

  template <Number T>
  void read_at(T* value, const Json& json, const std::string& path, const Range& range) const {
    read_number(*value, json, where_, path);
    check_range(where_, path, static_cast<double>(*value), range);
  }

  void read_at(std::string* value, const Json& json, const std::string& path,
               const Range& range) const {
    if (!json.is_string()) {
      wrong_type(where_, path, json, "a text in quotes");
    }
    *value = json.get<std::string>();
    check_choice(where_, path, *value, range);
  }

  template <typename T>
  void read_at(std::vector<T>* values, const Json& json, const std::string& path,
               const Range& range) const {
    values->clear();
    if (!json.is_array()) {  // one value stands for a list of it
      if (json.is_object() || json.is_null()) {
        wrong_type(where_, path, json, "a list");
      }
      read_at(&values->emplace_back(), json, path, range);
      return;
    }
    for (const Json& element : json) {
      read_at(&values->emplace_back(), element, path, range);
    }
  }

  const Json& json_;
  std::string_view where_;
  std::string_view path_;
  std::vector<std::string> known_;
  std::vector<std::pair<std::string, std::string>> renamed_;  // from and to
};

Json written(const Value& value) {
  return std::visit(
      [](auto place) -> Json {
        if constexpr (std::is_same_v<decltype(place), Object>) {
          return write(place);
        } else if constexpr (std::is_same_v<decltype(place), float*>) {
          // The shortest decimal that reads back as the same float, not its longer double.
          return Json::parse(fmt::format("{}", *place));
        } else {
          return *place;
        }
      },
      value);
}

class Writer : public Visitor {
 public:
  void visit(const char* name, const Value& value, const char* /*help*/,
             const Range& /*range*/) override {
    json_[name] = written(value);
  }
  Json take() { return std::move(json_); }

 private:
  Json json_ = Json::object();
};

class Describer : public Visitor {
 public:
  Describer(std::vector<FieldHelp>& fields, std::string_view path) : fields_(fields), path_(path) {}

  void visit(const char* name, const Value& value, const char* help, const Range& range) override {
    if (const auto* object = std::get_if<Object>(&value)) {
      describe(*object, fields_, joined(path_, name));
    } else {
      fields_.push_back({joined(path_, name), written(value).dump(), help, range});
    }
  }

 private:
  std::vector<FieldHelp>& fields_;
  std::string_view path_;
};

}  // namespace

std::string joined(std::string_view path, std::string_view name) {
  return path.empty() ? std::string(name) : fmt::format("{}.{}", path, name);
}

void wrong_type(std::string_view where, std::string_view path, const Json& value,
                std::string_view expected) {
  fail("[{}] {} is {}, expected {}", where, path.empty() ? "the whole" : path, shown(value),
       expected);
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

void read(const Object& object, const Json& json, std::string_view where, std::string_view path) {
  if (!json.is_object()) {
    wrong_type(where, path, json, "a table");
  }
  Reader reader(json, where, path);
  object.fields(object.address, reader);
  reader.check_keys();
}

Json write(const Object& object) {
  Writer writer;
  object.fields(object.address, writer);
  return writer.take();
}

void describe(const Object& object, std::vector<FieldHelp>& fields, std::string_view path) {
  Describer describer(fields, path);
  object.fields(object.address, describer);
}

}  // namespace heed::config
