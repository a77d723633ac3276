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
// Field types are those of config::Value. All that is done with a struct goes through one type of
// visitor, so that a struct's list is compiled once for each file that uses it.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace heed {

using Json = nlohmann::ordered_json;

// What values a field accepts, and what else is known of it.
struct Range {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  std::vector<std::string> choices = {};  // of a string; empty: any
  bool path = false;                      // a file or folder, or a list of them
  std::string_view renamed_from = {};     // a literal: the key under which the field used to be
};

namespace config {

class Visitor;

template <typename T>
concept Struct = requires(T& value, Visitor& visitor) {
  value.fields(visitor);
};

// A struct whose type is forgotten.
struct Object {
  void* address;
  void (*fields)(void* address, Visitor& visitor);
};

// Where a field is; the pointer tells its type.
using Value =
    std::variant<bool*, int32_t*, int64_t*, uint64_t*, float*, double*, std::string*,
                 std::vector<std::string>*, std::vector<int32_t>*, std::vector<int64_t>*,
                 std::vector<uint64_t>*, std::vector<float>*, std::vector<double>*, Object>;

// What a struct's fields() is called with: it sees one field after the other.
class Visitor {
 public:
  virtual ~Visitor() = default;
  virtual void visit(const char* name, const Value& value, const char* help,
                     const Range& range) = 0;

  template <typename T>
  void operator()(const char* name, T& value, const char* help, const Range& range = {});
};

template <Struct T>
Object object_of(const T& value) {
  return {const_cast<T*>(&value),  // visitors that are given a const struct only read
          [](void* address, Visitor& visitor) { static_cast<T*>(address)->fields(visitor); }};
}

template <typename T>
void Visitor::operator()(const char* name, T& value, const char* help, const Range& range) {
  if constexpr (Struct<T>) {
    visit(name, object_of(value), help, range);
  } else {
    visit(name, &value, help, range);
  }
}

std::string joined(std::string_view path, std::string_view name);
[[noreturn]] void wrong_type(std::string_view where, std::string_view path, const Json& value,
                             std::string_view expected);
void check_choice(std::string_view where, std::string_view path, const std::string& value,
                  const Range& range);

struct FieldHelp {
  std::string name;     // "schedule.warmup"
  std::string initial;  // its default, as JSON
  std::string help;
  Range range;
};

void read(const Object& object, const Json& json, std::string_view where, std::string_view path);
Json write(const Object& object);
void describe(const Object& object, std::vector<FieldHelp>& fields, std::string_view path);

// Reads the keys that are there; the others keep their values.
template <Struct T>
void read(T& object, const Json& json, std::string_view where, std::string_view path = "") {
  read(object_of(object), json, where, path);
}

template <Struct T>
Json write(const T& object) {
  return write(object_of(object));
}

// Every field with its default, nested ones with their path.
template <Struct T>
void describe(const T& object, std::vector<FieldHelp>& fields, std::string_view path = "") {
  describe(object_of(object), fields, path);
}

template <Struct T>
bool equal(const T& a, const T& b) {
  return write(a) == write(b);
}

}  // namespace config
}  // namespace heed
