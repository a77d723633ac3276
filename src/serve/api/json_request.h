// The JSON body of a request, read field by field. What is missing, mistyped, out of range or
// unknown is an HttpError that names the field, what it is and what it should be.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace heed::serve {

using Json = nlohmann::json;

class JsonRequest {
 public:
  // The body must be one JSON object in UTF-8.
  explicit JsonRequest(std::string_view body);

  bool has(const std::string& field) const;  // and is not null

  // Required, or with what it is if it is not there.
  std::string text(const std::string& field);
  std::string text(const std::string& field, std::string fallback);
  bool flag(const std::string& field, bool fallback);
  struct Range {
    double least, most;
  };
  int64_t integer(const std::string& field, int64_t fallback, Range range);
  double number(const std::string& field, double fallback, Range range);
  std::optional<int64_t> integer_if(const std::string& field, Range range);

  // A text, or a list of at most `most`; empty if it is not there.
  std::vector<std::string> texts(const std::string& field, size_t most);
  // As it is; null if it is not there.
  const Json& raw(const std::string& field);

  // Allowed, but of no effect here.
  void ignore(std::initializer_list<const char*> fields);
  // Not supported: only this value is.
  void only(const std::string& field, const Json& value);

  // An error for a field that nobody asked for.
  void finish() const;

 private:
  const Json* find(const std::string& field);

  Json body_;
  std::set<std::string, std::less<>> known_;
};

// The error of a field.
[[noreturn]] void refuse(const std::string& field, const std::string& found,
                         const std::string& expected);
// An error if the text of a field is longer: tokenising takes many times its memory.
void check_length(const std::string& field, std::string_view text, size_t most_bytes);
// What a value is, for errors: short, whatever it is.
std::string shown(const Json& value);

// JSON that cannot fail: what is not UTF-8 is replaced.
std::string to_text(const Json& json);

}  // namespace heed::serve
