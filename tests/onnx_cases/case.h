// One operator case: a node of ONNX with its inputs, attributes and expected outputs, as read from
// a line of JSON. Values are kept as doubles under the shape they came with; operators turn them
// into tensors.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace heed::onnx_cases {

// Thrown by an operator for a case that Heed has nothing to compare with; the text is the reason.
class Skip : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Value {
  std::string name;
  std::string dtype;  // as numpy calls it: float32, int64, bool ...
  std::vector<int64_t> shape;
  std::vector<double> data;

  bool is_float() const { return dtype.find("float") != std::string::npos; }
  int rank() const { return static_cast<int>(shape.size()); }
};

struct Case {
  std::string test;
  std::string op;
  int64_t opset = 0;
  nlohmann::json attributes;
  std::vector<std::string> input_names;   // of the node; empty: an optional input left out
  std::vector<std::string> output_names;  // likewise
  std::vector<Value> inputs;
  std::vector<Value> outputs;

  // The node's input at a position, or null if it is left out.
  const Value* find_input(size_t index) const;
  const Value& input(size_t index) const;  // throws if it is left out
  bool wants_output(size_t index) const;

  template <typename T>
  T attribute(const char* name, T otherwise) const {
    return attributes.contains(name) ? attributes.at(name).get<T>() : otherwise;
  }
  bool has_attribute(const char* name) const { return attributes.contains(name); }
};

// Throws std::exception, saying what is wrong with the line.
Case parse_case(const std::string& line);

// f32 tensors of float values, i32 tensors of integers and booleans. A shape other than the value's
// own is for values of more axes than a tensor has.
Tensor floats(const Value& value);
Tensor floats(const Value& value, const Shape& shape);
Tensor ints(const Value& value);
Tensor ints(const Value& value, const Shape& shape);
Tensor floats_or_ints(const Value& value);

// The product of extents [from, to).
int64_t product(const std::vector<int64_t>& shape, int from, int to);
// Negative axes count from the end.
int normal_axis(int64_t axis, int rank);

}  // namespace heed::onnx_cases
