#include "base/interrupt.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/parallel.h"

namespace heed {
namespace {

TEST(Interrupt, ThrowsOnlyInAScopeWhoseFlagIsSet) {
  std::atomic<bool> stop{true};
  EXPECT_NO_THROW(interrupt_point());
  {
    const InterruptScope scope(stop);
    EXPECT_THROW(interrupt_point(), Interrupted);
    stop = false;
    EXPECT_NO_THROW(interrupt_point());
    stop = true;
    const std::atomic<bool> never{false};
    const InterruptScope inner(never);
    EXPECT_NO_THROW(interrupt_point());
  }
  EXPECT_NO_THROW(interrupt_point());
}

TEST(Interrupt, IsOfOneThread) {
  const std::atomic<bool> stop{true};
  const InterruptScope scope(stop);
  bool thrown = false;
  std::jthread([&] {
    try {
      interrupt_point();
    } catch (const Interrupted&) {
      thrown = true;
    }
  }).join();
  EXPECT_FALSE(thrown);
}

// An exception that leaves a region of OpenMP ends the program.
TEST(Interrupt, WaitsForTheEndOfAParallelRegion) {
  const std::atomic<bool> stop{true};
  const InterruptScope scope(stop);
  int passed = 0;
#pragma omp parallel num_threads(2) reduction(+ : passed)
  {
    interrupt_point();
    ++passed;
  }
  EXPECT_EQ(passed, 2);
  EXPECT_THROW(interrupt_point(), Interrupted);
}

}  // namespace
}  // namespace heed
