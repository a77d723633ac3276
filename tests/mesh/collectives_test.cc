// Collectives as ops: values and gradients on several processes, which are threads here, against
// the same computation on one.
#include "ops/mesh/collectives.h"

#include <gtest/gtest.h>

#include <cmath>

#include "autograd/tape.h"
#include "ops/mesh/split_cross_entropy.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "support/thread_mesh.h"

namespace heed::testing {
namespace {

const MeshConfig kThree{.axes = "model:3"};

Tensor wave(const Shape& shape, double phase, DType dtype) {
  std::vector<float> values(static_cast<size_t>(shape.size()));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(std::sin(static_cast<double>(i) * 0.7 + phase));
  }
  return Tensor::from(values, shape, dtype);
}

void expect_near(const Tensor& found, const std::vector<float>& expected, double tolerance) {
  const std::vector<float> values = found.to_vector();
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_NEAR(values[i], expected[i], tolerance) << i;
  }
}

// Runs op on a watched x, and weighs what comes out: the gradient of x is then known.
struct Ran {
  Tensor y;
  Tensor dx;
};
template <typename Op>
Ran run(const Tensor& input, const Tensor& dy, const Op& op) {
  Tape tape(1);
  const TapeScope scope(tape);
  Tensor x = input.clone();
  tape.watch(x);
  const Tensor y = op(scale(x, 1.0F));
  tape.backward(y, dy);
  return {y, x.slot()->grad};
}

class CollectivesTest : public ::testing::TestWithParam<DType> {
 protected:
  DType dtype() const { return GetParam(); }
  double tolerance() const { return dtype() == DType::f32 ? 1e-6 : 0.03; }
  // The sum over three processes of wave(shape, rank).
  std::vector<float> sum_of_waves(const Shape& shape) const {
    std::vector<float> sum(static_cast<size_t>(shape.size()), 0.0F);
    for (int rank = 0; rank < 3; ++rank) {
      const std::vector<float> each = wave(shape, rank, dtype()).to_vector();
      for (size_t i = 0; i < sum.size(); ++i) {
        sum[i] += each[i];
      }
    }
    return sum;
  }
};

TEST_P(CollectivesTest, EnterAddsUpGradients) {
  on_mesh(kThree, [&](const Mesh& mesh) {
    const Tensor x = wave({2, 5}, 9.0, dtype());
    const Ran ran = run(x, wave({2, 5}, mesh.rank(), dtype()),
                        [&](const Tensor& t) { return enter(t, mesh.world()); });
    expect_near(ran.y, x.to_vector(), 0.0);
    expect_near(ran.dx, sum_of_waves({2, 5}), tolerance());
  });
}

TEST_P(CollectivesTest, SumOverAddsUpValues) {
  on_mesh(kThree, [&](const Mesh& mesh) {
    const Tensor dy = wave({2, 5}, 9.0, dtype());
    const Ran ran = run(wave({2, 5}, mesh.rank(), dtype()), dy,
                        [&](const Tensor& t) { return sum_over(t, mesh.world()); });
    expect_near(ran.y, sum_of_waves({2, 5}), tolerance());
    expect_near(ran.dx, dy.to_vector(), 0.0);
  });
}

TEST_P(CollectivesTest, GatherColumnsPutsThemSideBySide) {
  const Bounds bounds{0, 1, 4, 6};
  on_mesh(kThree, [&](const Mesh& mesh) {
    const auto rank = static_cast<size_t>(mesh.rank());
    const int64_t columns = bounds[rank + 1] - bounds[rank];
    const Tensor dy = wave({2, 6}, 5.0, dtype());
    const Ran ran = run(wave({2, columns}, mesh.rank(), dtype()), dy,
                        [&](const Tensor& t) { return gather_columns(t, mesh.world(), bounds); });
    std::vector<float> expected(12);
    std::vector<float> gradient;
    for (int64_t row = 0; row < 2; ++row) {
      for (size_t member = 0; member < 3; ++member) {
        const int64_t width = bounds[member + 1] - bounds[member];
        const std::vector<float> theirs =
            wave({2, width}, static_cast<double>(member), dtype()).to_vector();
        for (int64_t c = 0; c < width; ++c) {
          const auto place = static_cast<size_t>(row * 6 + bounds[member] + c);
          expected[place] = theirs[static_cast<size_t>(row * width + c)];
          if (member == rank) {
            gradient.push_back(dy.to_vector()[place]);
          }
        }
      }
    }
    expect_near(ran.y, expected, 0.0);
    expect_near(ran.dx, gradient, 0.0);
  });
}

TEST_P(CollectivesTest, ScatterSumLeavesEachItsRows) {
  on_mesh(kThree, [&](const Mesh& mesh) {
    const Ran ran = run(wave({6, 2}, mesh.rank(), dtype()), wave({2, 2}, mesh.rank(), dtype()),
                        [&](const Tensor& t) { return scatter_sum(t, mesh.world()); });
    const std::vector<float> sums = sum_of_waves({6, 2});
    const auto first = sums.begin() + mesh.rank() * 4;
    expect_near(ran.y, {first, first + 4}, tolerance());
    std::vector<float> gradient;
    for (int rank = 0; rank < 3; ++rank) {
      const std::vector<float> theirs = wave({2, 2}, rank, dtype()).to_vector();
      gradient.insert(gradient.end(), theirs.begin(), theirs.end());
    }
    expect_near(ran.dx, gradient, 0.0);
  });
}

TEST_P(CollectivesTest, ExchangeAndBackIsTheSame) {
  on_mesh(kThree, [&](const Mesh& mesh) {
    const Tensor x = wave({2, 6}, mesh.rank(), dtype());
    // What comes back as gradient is what was sent: dx = x.
    Tensor sent;
    const Ran first = run(x, wave({6, 2}, 0.0, dtype()), [&](const Tensor& t) {
      sent = exchange(t, mesh.world());
      return sent;
    });
    const Ran back =
        run(x, first.y.clone(), [&](const Tensor& t) { return exchange(t, mesh.world()); });
    expect_near(back.dx, x.to_vector(), 0.0);
    // Rows of process r are its columns of this process.
    const std::vector<float> y = first.y.to_vector();
    for (int rank = 0; rank < 3; ++rank) {
      const std::vector<float> theirs = wave({2, 6}, rank, dtype()).to_vector();
      for (int row = 0; row < 2; ++row) {
        for (int c = 0; c < 2; ++c) {
          EXPECT_EQ(y[static_cast<size_t>((rank * 2 + row) * 2 + c)],
                    theirs[static_cast<size_t>(row * 6 + mesh.rank() * 2 + c)]);
        }
      }
    }
  });
}

TEST_P(CollectivesTest, BroadcastFromGivesTheGradientBack) {
  on_mesh(kThree, [&](const Mesh& mesh) {
    const Tensor dy = wave({4}, 3.0, dtype());
    const Ran ran = run(wave({4}, mesh.rank(), dtype()), dy,
                        [&](const Tensor& t) { return broadcast_from(t, 1, mesh.world()); });
    expect_near(ran.y, wave({4}, 1.0, dtype()).to_vector(), 0.0);
    expect_near(ran.dx, mesh.rank() == 1 ? dy.to_vector() : std::vector<float>(4, 0.0F), 0.0);
  });
}

// The loss and the gradient of this process's logits, against those of all of them on one process.
TEST_P(CollectivesTest, SplitCrossEntropyIsCrossEntropy) {
  const Tensor all = wave({4, 10}, 1.0, dtype());
  const Tensor targets = Tensor::from_ints(std::vector<int32_t>{0, 9, kIgnore, 4}, {4});
  for (const float smoothing : {0.0F, 0.1F}) {
    const CrossEntropyOptions options{.label_smoothing = smoothing};
    const Tensor one = Tensor::full({}, 1.0F);
    const Ran whole =
        run(all, one, [&](const Tensor& t) { return cross_entropy(t, targets, options); });
    on_mesh(kThree, [&](const Mesh& mesh) {
      const Part part = mesh.part("vocabulary", 10, true);
      std::vector<float> own;
      std::vector<float> gradient;
      for (int64_t row = 0; row < 4; ++row) {
        for (int64_t v = part.begin; v < part.end; ++v) {
          own.push_back(all.to_vector()[static_cast<size_t>(row * 10 + v)]);
          gradient.push_back(whole.dx.to_vector()[static_cast<size_t>(row * 10 + v)]);
        }
      }
      const Ran ran = run(Tensor::from(own, {4, part.size()}, dtype()), one, [&](const Tensor& t) {
        return split_cross_entropy(t, targets, part, options);
      });
      EXPECT_NEAR(ran.y.item(), whole.y.item(), 1e-6);
      expect_near(ran.dx, gradient, tolerance() * 0.1);
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Types, CollectivesTest, ::testing::Values(DType::f32, DType::bf16),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST(Collectives, OfOneProcessDoNothing) {
  const Group alone;
  const Tensor x = wave({2, 4}, 0.0, DType::f32);
  for (const Tensor& y : {enter(x, alone), sum_over(x, alone), gather_columns(x, alone, {0, 4}),
                          scatter_sum(x, alone), exchange(x, alone), broadcast_from(x, 0, alone)}) {
    EXPECT_EQ(y.raw(), x.raw());
  }
}

}  // namespace
}  // namespace heed::testing
