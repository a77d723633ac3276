// Runs the table of op cases: values, gradients, and that no op on the tape lacks a case.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "autograd/tape.h"
#include "base/random.h"
#include "support/op_case.h"

namespace heed::testing {
namespace {

struct CaseRun {
  const OpCase* op_case;
  DType dtype;
};

std::string run_name(const ::testing::TestParamInfo<CaseRun>& info) {
  std::string name =
      info.param.op_case->op + "_" + info.param.op_case->name + "_" + name_of(info.param.dtype);
  for (char& c : name) {
    c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  }
  return name;
}

std::vector<CaseRun> all_runs() {
  std::vector<CaseRun> runs;
  for (const OpCase& op_case : all_cases()) {
    runs.push_back({&op_case, DType::f32});
    if (!op_case.f32_only) {
      runs.push_back({&op_case, DType::bf16});
    }
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

class OpCaseTest : public ::testing::TestWithParam<CaseRun> {
 protected:
  const OpCase& op_case() const { return *GetParam().op_case; }
  double tolerance() const {
    return GetParam().dtype == DType::f32 ? op_case().tolerance : op_case().bf16_tolerance;
  }
  std::vector<Array> arrays(const std::vector<Tensor>& tensors) const {
    std::vector<Array> result;
    for (const Tensor& tensor : tensors) {
      result.push_back(to_array(tensor));
    }
    return result;
  }
};

TEST_P(OpCaseTest, ValuesAndGradients) {
  std::vector<Tensor> inputs = make_inputs(op_case(), GetParam().dtype);
  const std::vector<Array> input_arrays = arrays(inputs);
  Tape tape(kCaseSeed);
  std::vector<Tensor> outputs;
  std::vector<Array> gradients;
  {
    const TapeScope scope(tape);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (op_case().inputs[i].wants_gradient()) {
        tape.watch(inputs[i]);
      }
    }
    outputs = op_case().run(inputs);
  }
  const std::vector<Array> expected = op_case().reference(input_arrays);
  ASSERT_EQ(outputs.size(), expected.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    EXPECT_LE(error_between(to_array(outputs[i]), expected[i]), tolerance()) << "output " << i;
    const Tensor gradient = output_gradient(outputs[i], i);
    gradients.push_back(to_array(gradient));
    if (outputs[i].slot() != nullptr && i + 1 < outputs.size()) {
      add_grad(outputs[i], gradient);
    }
  }
  tape.backward(outputs.back(), output_gradient(outputs.back(), outputs.size() - 1));
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].slot() == nullptr) {
      continue;
    }
    ASSERT_TRUE(inputs[i].slot()->written) << "input " << i << " got no gradient";
    const Array numerical = numerical_gradient(op_case(), input_arrays, i, gradients);
    Array ours = to_array(inputs[i].slot()->grad);
    ours.shape = inputs[i].shape();
    EXPECT_LE(error_between(ours, numerical), tolerance()) << "gradient of input " << i;
  }
}

// A second pass adds to the gradients of the first.
TEST_P(OpCaseTest, BackwardAccumulates) {
  std::vector<Tensor> inputs = make_inputs(op_case(), GetParam().dtype);
  size_t watched = inputs.size();
  Tape tape(kCaseSeed);
  const TapeScope scope(tape);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (op_case().inputs[i].wants_gradient()) {
      tape.watch(inputs[i]);
      watched = std::min(watched, i);
    }
  }
  ASSERT_LT(watched, inputs.size()) << "a case without a gradient to test";
  const Tensor first = op_case().run(inputs).back();
  tape.backward(first, output_gradient(first, 0));
  const Array once = to_array(inputs[watched].slot()->grad);
  tape.set_draws(0);
  const Tensor second = op_case().run(inputs).back();
  tape.backward(second, output_gradient(second, 0));
  Array twice = to_array(inputs[watched].slot()->grad);
  for (double& value : twice.values) {
    value /= 2;
  }
  EXPECT_LE(error_between(twice, once), tolerance());
}

INSTANTIATE_TEST_SUITE_P(Table, OpCaseTest, ::testing::ValuesIn(all_runs()), run_name);

TEST(OpTable, EveryOpOnTheTapeHasACase) {
  std::set<std::string> covered;
  for (const OpCase& op_case : all_cases()) {
    covered.insert(op_case.op);
  }
  ASSERT_FALSE(OpName::all().empty());
  for (const OpName* op : OpName::all()) {
    EXPECT_TRUE(covered.count(op->name()) == 1) << op->name() << " has no case in tests/ops";
  }
}

}  // namespace
}  // namespace heed::testing
