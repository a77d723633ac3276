#include "onnx_cases/case.h"

#include <cmath>
#include <limits>

#include "base/error.h"

namespace heed::onnx_cases {
namespace {

using nlohmann::json;

double number(const json& element) {
  if (element.is_boolean()) {
    return element.get<bool>() ? 1.0 : 0.0;
  }
  if (!element.is_string()) {
    return element.get<double>();
  }
  const auto text = element.get<std::string>();
  if (text == "nan") {
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (text == "inf" || text == "-inf") {
    const double infinity = std::numeric_limits<double>::infinity();
    return text == "inf" ? infinity : -infinity;
  }
  fail("\"{}\" is no number, expected nan, inf or -inf", text);
}

Value parse_value(const json& from) {
  Value value{.name = from.at("name").get<std::string>(),
              .dtype = from.at("dtype").get<std::string>(),
              .shape = from.at("shape").get<std::vector<int64_t>>(),
              .data = {}};
  for (const int64_t extent : value.shape) {
    check(extent >= 0, "value {} has an extent of {}", value.name, extent);
  }
  const json& data = from.at("data");
  check(data.is_array(), "the data of value {} is no list", value.name);
  value.data.reserve(data.size());
  for (const json& element : data) {
    value.data.push_back(number(element));
  }
  const int64_t expected = product(value.shape, 0, value.rank());
  check(static_cast<int64_t>(data.size()) == expected,
        "value {} has {} elements, expected {} for its shape", value.name, data.size(), expected);
  return value;
}

std::vector<Value> parse_values(const json& from) {
  check(from.is_array(), "inputs and outputs are lists of values");
  std::vector<Value> values;
  for (const json& value : from) {
    values.push_back(parse_value(value));
  }
  return values;
}

const Value* find(const std::vector<Value>& values, const std::string& name) {
  for (const Value& value : values) {
    if (value.name == name) {
      return &value;
    }
  }
  return nullptr;
}

// Every name that the node mentions must have a value.
void check_names(const std::vector<std::string>& names, const std::vector<Value>& values,
                 const char* what) {
  for (const std::string& name : names) {
    check(name.empty() || find(values, name) != nullptr, "{} {} has no value", what, name);
  }
}

}  // namespace

const Value* Case::find_input(size_t index) const {
  if (index >= input_names.size() || input_names[index].empty()) {
    return nullptr;
  }
  return find(inputs, input_names[index]);
}

const Value& Case::input(size_t index) const {
  const Value* value = find_input(index);
  check(value != nullptr, "[{}] input {} is missing", op, index);
  return *value;
}

bool Case::wants_output(size_t index) const {
  return index < output_names.size() && !output_names[index].empty();
}

Case parse_case(const std::string& line) {
  const json from = json::parse(line);
  check(from.is_object(), "not a JSON object");
  Case result;
  result.test = from.at("test").get<std::string>();
  result.op = from.at("op").get<std::string>();
  for (const auto& [domain, version] : from.at("opset").items()) {
    result.opset = std::max(result.opset, version.get<int64_t>());
  }
  result.attributes = from.value("attrs", json::object());
  check(result.attributes.is_object(), "attrs is no JSON object");
  result.input_names = from.at("node_inputs").get<std::vector<std::string>>();
  result.output_names = from.at("node_outputs").get<std::vector<std::string>>();
  result.inputs = parse_values(from.at("inputs"));
  result.outputs = parse_values(from.at("outputs"));
  check_names(result.input_names, result.inputs, "input");
  check_names(result.output_names, result.outputs, "output");
  check(!result.outputs.empty(), "no outputs to compare with");
  return result;
}

Tensor floats(const Value& value, const Shape& shape) {
  const std::vector<float> data(value.data.begin(), value.data.end());
  return Tensor::from(data, shape);
}

Tensor floats(const Value& value) {
  if (value.rank() > Shape::kMaxRank) {
    throw Skip(fmt::format("{} has {} axes, a tensor has at most {}", value.name, value.rank(),
                           Shape::kMaxRank));
  }
  return floats(value, Shape(value.shape));
}

Tensor ints(const Value& value, const Shape& shape) {
  std::vector<int32_t> data;
  data.reserve(value.data.size());
  for (const double element : value.data) {
    if (std::abs(element) > std::numeric_limits<int32_t>::max()) {
      throw Skip(fmt::format("{} holds {}, an integer of more than 32 bits", value.name, element));
    }
    data.push_back(static_cast<int32_t>(element));
  }
  return Tensor::from_ints(data, shape);
}

Tensor ints(const Value& value) { return ints(value, Shape(value.shape)); }

Tensor floats_or_ints(const Value& value) {
  if (value.dtype == "string") {
    throw Skip(fmt::format("{} holds strings", value.name));
  }
  return value.is_float() ? floats(value) : ints(value);
}

int64_t product(const std::vector<int64_t>& shape, int from, int to) {
  int64_t result = 1;
  for (int i = from; i < to; ++i) {
    result *= shape[static_cast<size_t>(i)];
  }
  return result;
}

int normal_axis(int64_t axis, int rank) {
  check(axis >= -rank && axis < rank, "axis is {}, expected one of {}", axis, rank);
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

}  // namespace heed::onnx_cases
