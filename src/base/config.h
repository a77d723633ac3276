// Configuration structs. A struct lists its fields once:
//
//   struct AdamConfig {
//     float beta1 = 0.9F;
//     template <typename Visitor>
//     void fields(Visitor& v) {
//       v("beta1", beta1, "decay of the mean gradient", {.least = 0, .most = 1});
//     }
//   };
//
// and that one list gives JSON both ways, validation, equality and help. TOML and flags come in as
// JSON too (train/recipe.h). Unknown keys are errors that name the nearest known one.
//
// Field types: bool, int32_t, int64_t, uint64_t, float, double, std::string, vectors of strings or
// numbers, and other such structs.
#pragma once

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace heed {

using Json = nlohmann::ordered_json;

// What values a field accepts.
struct Range {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  std::vector<std::string> choices = {};  // of a string; empty: any
  bool path = false;                      // strings that name files or folders
};

namespace config {

struct AnyVisitor {
  template <typename T>
  void operator()(const char* name, T& value, const char* help, const Range& range = {});
};
template <typename T>
concept Struct = requires(T& value, AnyVisitor& visitor) {
  value.fields(visitor);
};

std::string joined(std::string_view path, std::string_view name);
[[noreturn]] void wrong_type(std::string_view where, std::string_view path, const Json& value,
                             std::string_view expected);
void check_range(std::string_view where, std::string_view path, double value, const Range& range);
void check_choice(std::string_view where, std::string_view path, const std::string& value,
                  const Range& range);
void check_keys(std::string_view where, std::string_view path, const Json& object,
                const std::vector<std::string>& known);

template <typename T>
void read_number(T& value, const Json& json, std::string_view where, std::string_view path) {
  if constexpr (std::is_floating_point_v<T>) {
    if (!json.is_number()) {
      wrong_type(where, path, json, "a number");
    }
    // A double beyond the floats, or the infinity of a TOML file, could not be written back.
    value = json.get<T>();
    check(std::isfinite(value), "[{}] {} is {}, which is out of range", where, path,
          json.get<double>());
  } else {
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
        json.is_number_unsigned()
            ? json.get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<T>::max())
            : wide >= (std::is_signed_v<T> ? static_cast<int64_t>(std::numeric_limits<T>::min())
                                           : 0) &&
                  (wide < 0 || static_cast<uint64_t>(wide) <=
                                   static_cast<uint64_t>(std::numeric_limits<T>::max()));
    check(fits, "[{}] {} is {}, which is out of range", where, path, json.dump());
    value = json.is_number_unsigned() ? static_cast<T>(json.get<uint64_t>()) : static_cast<T>(wide);
  }
}

template <Struct T>
void read(T& object, const Json& json, std::string_view where, std::string_view path = "");

template <typename T>
void read_value(T& value, const Json& json, std::string_view where, const std::string& path,
                const Range& range) {
  if constexpr (Struct<T>) {
    read(value, json, where, path);
  } else if constexpr (std::is_same_v<T, bool>) {
    if (!json.is_boolean()) {
      wrong_type(where, path, json, "true or false");
    }
    value = json.get<bool>();
  } else if constexpr (std::is_arithmetic_v<T>) {
    read_number(value, json, where, path);
    check_range(where, path, static_cast<double>(value), range);
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (!json.is_string()) {
      wrong_type(where, path, json, "a text in quotes");
    }
    value = json.get<std::string>();
    check_choice(where, path, value, range);
  } else {
    if (!json.is_array()) {
      wrong_type(where, path, json, "a list");
    }
    value.clear();
    for (const Json& element : json) {
      read_value(value.emplace_back(), element, where, path, range);
    }
  }
}

// Reads the keys that are there; the others keep their values.
template <Struct T>
void read(T& object, const Json& json, std::string_view where, std::string_view path) {
  if (!json.is_object()) {
    wrong_type(where, path, json, "a table");
  }
  std::vector<std::string> known;
  auto visitor = [&](const char* name, auto& value, const char* /*help*/, const Range& range = {}) {
    known.emplace_back(name);
    if (const auto found = json.find(name); found != json.end()) {
      read_value(value, *found, where, joined(path, name), range);
    }
  };
  object.fields(visitor);
  check_keys(where, path, json, known);
}

template <Struct T>
Json write(const T& object);

template <typename T>
Json write_value(const T& value) {
  if constexpr (Struct<T>) {
    return write(value);
  } else if constexpr (std::is_same_v<T, float>) {
    // The shortest decimal that reads back as the same float, not its longer double.
    return Json::parse(fmt::format("{}", value));
  } else {
    return value;
  }
}

template <Struct T>
Json write(const T& object) {
  Json json = Json::object();
  auto visitor = [&](const char* name, const auto& value, const char* /*help*/,
                     const Range& /*range*/ = {}) { json[name] = write_value(value); };
  const_cast<T&>(object).fields(visitor);  // the visitor only reads
  return json;
}

struct FieldHelp {
  std::string name;     // "schedule.warmup"
  std::string initial;  // its default, as JSON
  std::string help;
  Range range;
};

// Every field with its default, nested ones with their path.
template <Struct T>
void describe(const T& object, std::vector<FieldHelp>& fields, std::string_view path = "") {
  auto visitor = [&](const char* name, const auto& value, const char* help,
                     const Range& range = {}) {
    using Value = std::remove_cvref_t<decltype(value)>;
    if constexpr (Struct<Value>) {
      describe(value, fields, joined(path, name));
    } else {
      fields.push_back({joined(path, name), write_value(value).dump(), help, range});
    }
  };
  const_cast<T&>(object).fields(visitor);  // the visitor only reads
}

template <Struct T>
bool equal(const T& a, const T& b) {
  return write(a) == write(b);
}

}  // namespace config
}  // namespace heed
