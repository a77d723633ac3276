// The dropout kernel keeps exactly the elements that Dropout::keeps names.
#include "kernels/elementwise/dropout.h"

#include <gtest/gtest.h>

#include "base/parallel.h"
#include "support/kernel_buffer.h"

namespace heed::testing {
namespace {

// A stream and a seed whose upper words count too.
constexpr RandomStream kStream{0x123456789ABCDEFULL, 0xFEDCBA987654321ULL};

TEST(Dropout, KeepsWhatTheDefinitionKeeps) {
  for_each_isa([] {
    for (const float p : {0.1F, 0.5F, 0.9F}) {
      for (const DType dtype : kFloatTypes) {
        for (const int64_t n : kLengths) {
          for (const bool accumulate : {false, true}) {
            SCOPED_TRACE(::testing::Message() << "n " << n << " p " << p);
            const kernels::Dropout dropout{p, kStream};
            const Buffer x = Buffer(n, dtype, 3).fill(111);
            Buffer y = Buffer(n, dtype, 1).fill(112);
            std::vector<double> expected = y.values();
            for (int64_t i = 0; i < n; ++i) {
              double& value = expected[static_cast<size_t>(i)];
              value = (accumulate ? value : 0.0) +
                      (dropout.keeps(static_cast<uint64_t>(i))
                           ? x.get(i) * static_cast<double>(dropout.scale())
                           : 0.0);
            }
            kernels::apply_dropout({.n = n,
                                    .dtype = dtype,
                                    .x = x.raw(),
                                    .y = y.raw(),
                                    .dropout = dropout,
                                    .accumulate = accumulate});
            expect_close(y, expected);
          }
        }
      }
    }
  });
}

TEST(Dropout, IsExactlyZeroWhereDropped) {
  for_each_isa([] {
    const kernels::Dropout dropout{0.3F, kStream};
    Buffer x = Buffer(1030).fill(113, 1.0, 5.0);
    kernels::apply_dropout(
        {.n = x.size(), .dtype = DType::f32, .x = x.raw(), .y = x.raw(), .dropout = dropout});
    for (int64_t i = 0; i < x.size(); ++i) {
      ASSERT_EQ(x.get(i) != 0.0, dropout.keeps(static_cast<uint64_t>(i))) << i;
    }
  });
}

TEST(Dropout, DropsItsShare) {
  const kernels::Dropout dropout{0.3F, kStream};
  int64_t kept = 0;
  const int64_t n = 200000;
  for (int64_t i = 0; i < n; ++i) {
    kept += dropout.keeps(static_cast<uint64_t>(i)) ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(kept) / static_cast<double>(n), 0.7, 0.004);  // four sigmas
}

TEST(Dropout, DoesNotDependOnThreads) {
  const kernels::Dropout dropout{0.3F, kStream};
  const Buffer x = Buffer(100001).fill(114);
  const int threads = num_threads();
  std::vector<std::vector<double>> results;
  for (const int count : {1, 3}) {
    set_num_threads(count);
    Buffer y(x.size());
    kernels::apply_dropout(
        {.n = x.size(), .dtype = DType::f32, .x = x.raw(), .y = y.raw(), .dropout = dropout});
    results.push_back(y.values());
  }
  set_num_threads(threads);
  EXPECT_EQ(results[0], results[1]);
}

}  // namespace
}  // namespace heed::testing
