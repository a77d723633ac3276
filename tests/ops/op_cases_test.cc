// Runs the table of op cases: values, gradients, and that no op on the tape lacks a case.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "autograd/tape.h"
#include "base/random.h"
#include "ops/mesh/collectives.h"
#include "support/op_case.h"

namespace heed::testing {
namespace {

// All cases of an op in one precision: one test, since starting a program for each case takes
// longer than the case.
struct OpRun {
  std::string op;
  DType dtype;
  std::vector<const OpCase*> cases;
};

std::string run_name(const ::testing::TestParamInfo<OpRun>& info) {
  return info.param.op + "_" + name_of(info.param.dtype);
}

std::vector<OpRun> all_runs() {
  std::map<std::pair<std::string, DType>, std::vector<const OpCase*>> cases;
  for (const OpCase& op_case : all_cases()) {
    cases[{op_case.op, DType::f32}].push_back(&op_case);
    if (!op_case.f32_only) {
      cases[{op_case.op, DType::bf16}].push_back(&op_case);
    }
  }
  std::vector<OpRun> runs;
  for (const auto& [key, of_op] : cases) {
    runs.push_back({key.first, key.second, of_op});
  }
  return runs;
}

// The fixed gradient that flows into output i.
Tensor output_gradient(const Tensor& output, size_t i) {
  const RandomStream stream{99, i};
  std::vector<float> values;
  for (int64_t j = 0; j < output.size(); ++j) {
    values.push_back(stream.normal(static_cast<uint64_t>(j)));
  }
  return Tensor::from(values, output.shape(), output.dtype());
}

// sum over outputs of <gradient, output>, from the reference or what stands for it.
double objective(const OpCase& op_case, const std::vector<Array>& inputs,
                 const std::vector<Array>& gradients) {
  const Reference& reference = op_case.surrogate ? op_case.surrogate : op_case.reference;
  const std::vector<Array> outputs = reference(inputs);
  double total = 0;
  for (size_t i = 0; i < outputs.size(); ++i) {
    for (size_t j = 0; j < outputs[i].values.size(); ++j) {
      total += outputs[i].values[j] * gradients[i].values[j];
    }
  }
  return total;
}

// Four-point differences: (f(x-2h) - 8 f(x-h) + 8 f(x+h) - f(x+2h)) / 12h.
Array numerical_gradient(const OpCase& op_case, std::vector<Array> inputs, size_t which,
                         const std::vector<Array>& gradients) {
  Array result{inputs[which].shape, {}};
  const double h = 1e-3;
  for (size_t j = 0; j < inputs[which].values.size(); ++j) {
    double& x = inputs[which].values[j];
    const double at = x;
    const auto f = [&](double offset) {
      x = at + offset;
      return objective(op_case, inputs, gradients);
    };
    result.values.push_back((f(-2 * h) - 8 * f(-h) + 8 * f(h) - f(2 * h)) / (12 * h));
    x = at;
  }
  return result;
}

std::vector<Array> arrays(const std::vector<Tensor>& tensors) {
  std::vector<Array> result;
  for (const Tensor& tensor : tensors) {
    result.push_back(to_array(tensor));
  }
  return result;
}

class OpCaseTest : public ::testing::TestWithParam<OpRun> {
 protected:
  // Calls `check(op_case, tolerance)` for every case; what fails in it is reported with the case's
  // name.
  template <typename Check>
  void for_each_case(const Check& check) const {
    for (const OpCase* op_case : GetParam().cases) {
      SCOPED_TRACE(op_case->op + ", " + op_case->name);
      check(*op_case,
            GetParam().dtype == DType::f32 ? op_case->tolerance : op_case->bf16_tolerance);
    }
  }
};

// The gradients of all inputs against the reference's numerical ones.
void check_gradients(const OpCase& op_case, const std::vector<Tensor>& inputs,
                     const std::vector<Array>& input_arrays, const std::vector<Array>& gradients,
                     double tolerance) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].slot() == nullptr) {
      continue;
    }
    ASSERT_TRUE(inputs[i].slot()->written) << "input " << i << " got no gradient";
    const Array numerical = numerical_gradient(op_case, input_arrays, i, gradients);
    Array ours = to_array(inputs[i].slot()->grad);
    ours.shape = inputs[i].shape();
    EXPECT_LE(error_between(ours, numerical), tolerance) << "gradient of input " << i;
  }
}

void check_values_and_gradients(const OpCase& op_case, DType dtype, double tolerance) {
  std::vector<Tensor> inputs = make_inputs(op_case, dtype);
  const std::vector<Array> input_arrays = arrays(inputs);
  Tape tape(kCaseSeed);
  std::vector<Tensor> outputs;
  std::vector<Array> gradients;
  {
    const TapeScope scope(tape);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (op_case.inputs[i].wants_gradient()) {
        tape.watch(inputs[i]);
      }
    }
    outputs = op_case.run(inputs);
  }
  const std::vector<Array> expected = op_case.reference(input_arrays);
  ASSERT_EQ(outputs.size(), expected.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    EXPECT_LE(error_between(to_array(outputs[i]), expected[i]), tolerance) << "output " << i;
    const Tensor gradient = output_gradient(outputs[i], i);
    gradients.push_back(to_array(gradient));
    if (outputs[i].slot() != nullptr && i + 1 < outputs.size()) {
      add_grad(outputs[i], gradient);
    }
  }
  tape.backward(outputs.back(), output_gradient(outputs.back(), outputs.size() - 1));
  check_gradients(op_case, inputs, input_arrays, gradients, tolerance);
}

// A second pass adds to the gradients of the first.
void check_backward_accumulates(const OpCase& op_case, DType dtype, double tolerance) {
  std::vector<Tensor> inputs = make_inputs(op_case, dtype);
  size_t watched = inputs.size();
  Tape tape(kCaseSeed);
  const TapeScope scope(tape);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (op_case.inputs[i].wants_gradient()) {
      tape.watch(inputs[i]);
      watched = std::min(watched, i);
    }
  }
  ASSERT_LT(watched, inputs.size()) << "a case without a gradient to test";
  const Tensor first = op_case.run(inputs).back();
  tape.backward(first, output_gradient(first, 0));
  const Array once = to_array(inputs[watched].slot()->grad);
  tape.set_draws(0);
  const Tensor second = op_case.run(inputs).back();
  tape.backward(second, output_gradient(second, 0));
  Array twice = to_array(inputs[watched].slot()->grad);
  for (double& value : twice.values) {
    value /= 2;
  }
  EXPECT_LE(error_between(twice, once), tolerance);
}

TEST_P(OpCaseTest, ValuesAndGradients) {
  for_each_case([](const OpCase& op_case, double tolerance) {
    check_values_and_gradients(op_case, GetParam().dtype, tolerance);
  });
}

TEST_P(OpCaseTest, BackwardAccumulates) {
  for_each_case([](const OpCase& op_case, double tolerance) {
    check_backward_accumulates(op_case, GetParam().dtype, tolerance);
  });
}

INSTANTIATE_TEST_SUITE_P(Table, OpCaseTest, ::testing::ValuesIn(all_runs()), run_name);

TEST(OpTable, EveryOpOnTheTapeHasACase) {
  std::set<std::string> covered;
  for (const OpCase& op_case : all_cases()) {
    covered.insert(op_case.op);
  }
  ASSERT_FALSE(OpName::all().empty());
  for (const OpName* op : OpName::all()) {
    if (is_collective(op->name())) {
      continue;
    }
    EXPECT_TRUE(covered.count(op->name()) == 1) << op->name() << " has no case in tests/ops";
  }
}

}  // namespace
}  // namespace heed::testing
