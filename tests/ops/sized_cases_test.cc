// The cases that `heed bench ops` measures, run small: every op has one, and it measures that op.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "autograd/tape.h"
#include "ops/cases/sized_case.h"
#include "ops/mesh/collectives.h"

namespace heed::cases {
namespace {

constexpr Sizes kSmall{.batch = 2, .length = 16, .width = 64, .vocabulary = 50, .side = 4};

bool finite(const Tensor& tensor) {
  const std::vector<float> values = tensor.to_vector();
  return std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); });
}

TEST(SizedCases, EveryOpOnTheTapeIsMeasuredOnce) {
  std::set<std::string> measured;
  for (const SizedCase& sized : sized_cases(kSmall)) {
    EXPECT_TRUE(measured.insert(sized.op).second) << sized.op << " has two sized cases";
  }
  ASSERT_FALSE(OpName::all().empty());
  for (const OpName* op : OpName::all()) {
    if (is_collective(op->name())) {
      continue;
    }
    EXPECT_TRUE(measured.erase(op->name()) == 1)
        << op->name() << " has no case in src/ops/cases/sized_cases.cc";
  }
  for (const std::string& op : measured) {
    ADD_FAILURE() << op << " has a sized case but is not on the tape";
  }
}

TEST(SizedCases, RecordTheOpTheyName) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const SizedCase& sized : sized_cases(kSmall)) {
      SCOPED_TRACE(sized.op + " " + name_of(dtype));
      std::vector<Tensor> inputs = draw_inputs(sized.op, sized.inputs, dtype);
      Tape tape(1);
      const TapeScope scope(tape);
      for (size_t i = 0; i < inputs.size(); ++i) {
        if (sized.inputs[i].wants_gradient()) {
          tape.watch(inputs[i]);
        }
      }
      const std::vector<Tensor> outputs = sized.run(inputs);
      ASSERT_EQ(tape.nodes(), 1U);
      for (const Tensor& output : outputs) {
        EXPECT_TRUE(finite(output));
      }
      const Tensor& last = outputs.back();
      tape.backward(last, Tensor::full(last.shape(), 1.0F, last.dtype()));
      for (const Tensor& input : inputs) {
        if (input.slot() != nullptr) {
          ASSERT_TRUE(input.slot()->written);
          EXPECT_TRUE(finite(input.slot()->grad));
        }
      }
    }
  }
}

// Products make at least as many operations backward as forward, and bytes are counted.
TEST(SizedCases, StateTheirWork) {
  const Bytes bytes{.inputs = 100, .outputs = 10, .gradients = 80};
  for (const SizedCase& sized : sized_cases(kSmall)) {
    SCOPED_TRACE(sized.op);
    EXPECT_GT(sized.forward(bytes), 0);
    EXPECT_LE(sized.forward(bytes), all_forward(bytes));
    EXPECT_LE(sized.backward(bytes), all_backward(bytes));
    EXPECT_GE(sized.backward_flops, sized.flops);
  }
}

}  // namespace
}  // namespace heed::cases
