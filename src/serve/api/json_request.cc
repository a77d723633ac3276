#include "serve/api/json_request.h"

#include <fmt/format.h>

#include <cmath>

#include "base/text.h"
#include "serve/http/http.h"

namespace heed::serve {
namespace {

constexpr size_t kMostShown = 40;
constexpr size_t kMostReason = 200;
constexpr int kDeepest = 32;  // lists in lists: copying JSON recurses

// At most so many bytes, whole characters.
std::string cut(std::string text, size_t most) {
  if (text.size() > most) {
    size_t end = most;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) {
      --end;
    }
    text = text.substr(0, end) + "...";
  }
  return text;
}

Json parse(std::string_view body) {
  try {
    Json json = Json::parse(body, [](int depth, Json::parse_event_t, const Json&) {
      if (depth > kDeepest) {
        throw HttpError(400, fmt::format("the body is nested more than {} levels deep", kDeepest),
                        {}, "invalid_json");
      }
      return true;
    });
    if (!json.is_object()) {
      throw HttpError(400, fmt::format("the body is {}, expected a JSON object", shown(json)), {},
                      "invalid_json");
    }
    return json;
  } catch (const Json::exception& error) {
    throw HttpError(400,
                    cut(fmt::format("the body is not valid JSON: {}", error.what()), kMostReason),
                    {}, "invalid_json");
  }
}

std::string range_text(JsonRequest::Range range) {
  return fmt::format("{} to {}", range.least, range.most);
}

}  // namespace

void refuse(const std::string& field, const std::string& found, const std::string& expected) {
  throw HttpError(400, fmt::format("{} is {}, expected {}", field, found, expected), field,
                  "invalid_value");
}

void check_length(const std::string& field, std::string_view text, size_t most_bytes) {
  if (text.size() > most_bytes) {
    refuse(field, fmt::format("a text of {} bytes", text.size()),
           fmt::format("at most {} bytes", most_bytes));
  }
}

std::string to_text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string shown(const Json& value) {
  if (value.is_object() || value.is_array()) {
    return value.is_object() ? "an object" : fmt::format("a list of {} items", value.size());
  }
  return cut(to_text(value), kMostShown);
}

JsonRequest::JsonRequest(std::string_view body) : body_(parse(body)) {}

const Json* JsonRequest::find(const std::string& field) {
  known_.insert(field);
  const auto found = body_.find(field);
  return found == body_.end() || found->is_null() ? nullptr : &*found;
}

bool JsonRequest::has(const std::string& field) const {
  const auto found = body_.find(field);
  return found != body_.end() && !found->is_null();
}

std::string JsonRequest::text(const std::string& field) {
  if (find(field) == nullptr) {
    throw HttpError(400, fmt::format("{} is missing", field), field, "missing_field");
  }
  return text(field, {});
}

std::string JsonRequest::text(const std::string& field, std::string fallback) {
  const Json* value = find(field);
  if (value == nullptr) {
    return fallback;
  }
  if (!value->is_string()) {
    refuse(field, shown(*value), "a string");
  }
  return value->get<std::string>();
}

bool JsonRequest::flag(const std::string& field, bool fallback) {
  const Json* value = find(field);
  if (value == nullptr) {
    return fallback;
  }
  if (!value->is_boolean()) {
    refuse(field, shown(*value), "true or false");
  }
  return value->get<bool>();
}

std::optional<int64_t> JsonRequest::integer_if(const std::string& field, Range range) {
  const Json* value = find(field);
  if (value == nullptr) {
    return std::nullopt;
  }
  // Numbers beyond 64 bits come as floating point; 3.0 is 3.
  const bool whole = value->is_number() && std::trunc(value->get<double>()) == value->get<double>();
  if (!whole || value->get<double>() < range.least || value->get<double>() > range.most) {
    refuse(field, shown(*value), "a whole number from " + range_text(range));
  }
  return value->is_number_float() ? static_cast<int64_t>(value->get<double>())
                                  : value->get<int64_t>();
}

int64_t JsonRequest::integer(const std::string& field, int64_t fallback, Range range) {
  return integer_if(field, range).value_or(fallback);
}

double JsonRequest::number(const std::string& field, double fallback, Range range) {
  const Json* value = find(field);
  if (value == nullptr) {
    return fallback;
  }
  const double found = value->is_number() ? value->get<double>() : std::nan("");
  if (!(found >= range.least && found <= range.most)) {
    refuse(field, shown(*value), "a number from " + range_text(range));
  }
  return found;
}

std::vector<std::string> JsonRequest::texts(const std::string& field, size_t most) {
  const Json* value = find(field);
  if (value == nullptr) {
    return {};
  }
  const Json list = value->is_array() ? *value : Json::array({*value});
  if (list.size() > most) {
    refuse(field, shown(list), fmt::format("at most {} items", most));
  }
  std::vector<std::string> texts;
  for (const Json& each : list) {
    if (!each.is_string()) {
      refuse(field, shown(*value), "a string or a list of strings");
    }
    texts.push_back(each.get<std::string>());
  }
  return texts;
}

const Json& JsonRequest::raw(const std::string& field) {
  static const Json kNull;
  const Json* value = find(field);
  return value == nullptr ? kNull : *value;
}

void JsonRequest::ignore(std::initializer_list<const char*> fields) {
  known_.insert(fields.begin(), fields.end());
}

void JsonRequest::only(const std::string& field, const Json& value) {
  const Json* given = find(field);
  if (given != nullptr && *given != value) {
    refuse(field, shown(*given), to_text(value) + ", the only supported value");
  }
}

void JsonRequest::finish() const {
  for (const auto& [field, value] : body_.items()) {
    if (!known_.contains(field)) {
      const std::string nearby = nearest(field.substr(0, kMostShown),
                                         std::vector<std::string>(known_.begin(), known_.end()));
      throw HttpError(400,
                      fmt::format("unknown field {}; did you mean {}?", shown(Json(field)), nearby),
                      field.substr(0, kMostShown), "unknown_field");
    }
  }
}

}  // namespace heed::serve
