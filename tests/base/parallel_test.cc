#include "base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "base/error.h"

namespace heed {
namespace {

TEST(Parallel, CoversEverythingOnce) {
  std::vector<std::atomic<int>> seen(1000);
  parallel_for(1000, 10, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      ++seen[static_cast<size_t>(i)];
    }
  });
  for (const auto& count : seen) {
    EXPECT_EQ(count, 1);
  }
}

TEST(Parallel, ErrorsLeaveTheRegion) {
  EXPECT_THROW(parallel_tasks(8, [](int64_t task) { check(task != 5, "[test] task {}", task); }),
               Error);
  EXPECT_THROW(parallel_for(100, 1, [](int64_t, int64_t) { fail("[test] a piece"); }), Error);
}

TEST(Parallel, RefusesNoThreads) { EXPECT_THROW(set_num_threads(0), Error); }

}  // namespace
}  // namespace heed
