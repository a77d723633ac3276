#include "data/prefetch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <vector>

#include "support/error_of.h"

namespace heed {
namespace {

using testing::error_of;

template <typename Condition>
bool becomes_true(const Condition& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition() && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return condition();
}

TEST(Prefetch, GivesEverythingInOrder) {
  int made = 0;
  Prefetch<int> prefetch([&](int& item, const std::stop_token&) {
    item = made++;
    return item < 1000;
  });
  int item = -1;
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(prefetch.next(item));
    ASSERT_EQ(item, i);
  }
  EXPECT_FALSE(prefetch.next(item));
  EXPECT_FALSE(prefetch.next(item));
}

TEST(Prefetch, MovesItems) {
  int made = 0;
  Prefetch<std::unique_ptr<int>> prefetch([&](std::unique_ptr<int>& item, const std::stop_token&) {
    item = std::make_unique<int>(made);
    return made++ < 3;
  });
  std::unique_ptr<int> item;
  int sum = 0;
  while (prefetch.next(item)) {
    sum += *item;
  }
  EXPECT_EQ(sum, 3);
}

TEST(Prefetch, RunsAheadAsFarAsTheQueueIsDeep) {
  std::atomic<int> made = 0;
  Prefetch<int> prefetch(
      [&](int& item, const std::stop_token&) {
        item = made++;
        return true;
      },
      3);
  // Three in the queue, and one that waits for room.
  EXPECT_TRUE(becomes_true([&] { return made == 4; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(made, 4);
  int item = -1;
  EXPECT_TRUE(prefetch.next(item));
  EXPECT_EQ(item, 0);
  EXPECT_TRUE(becomes_true([&] { return made == 5; }));
}

TEST(Prefetch, DeliversAnErrorAfterTheItemsBeforeIt) {
  int made = 0;
  Prefetch<int> prefetch([&](int& item, const std::stop_token&) {
    item = made++;
    check(item < 2, "[corpus] line {} is bad", item);
    return true;
  });
  int item = -1;
  EXPECT_TRUE(prefetch.next(item));
  EXPECT_TRUE(prefetch.next(item));
  EXPECT_EQ(item, 1);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(error_of([&] { prefetch.next(item); }), "[corpus] line 2 is bad");
  }
}

TEST(Prefetch, StopsWhenNobodyConsumes) {
  for (int i = 0; i < 200; ++i) {
    int made = 0;
    Prefetch<int> prefetch(
        [&](int& item, const std::stop_token&) {
          item = made++;
          return true;
        },
        1 + static_cast<size_t>(i % 3));
    int item = -1;
    for (int k = 0; k < i % 5; ++k) {
      ASSERT_TRUE(prefetch.next(item));
    }
  }
}

TEST(Prefetch, AsksABusyProducerToStop) {
  std::atomic<bool> busy = false;
  bool stopped = false;
  {
    const Prefetch<int> prefetch([&](int&, const std::stop_token& stop) {
      busy = true;
      while (!stop.stop_requested()) {
        std::this_thread::yield();
      }
      stopped = true;
      return false;
    });
    EXPECT_TRUE(becomes_true([&] { return busy.load(); }));
  }
  EXPECT_TRUE(stopped);
}

TEST(Prefetch, KeepsAnUnseenErrorFromTheDestructor) {
  for (int i = 0; i < 50; ++i) {
    const Prefetch<int> prefetch(
        [](int&, const std::stop_token&) -> bool { throw std::runtime_error("unseen"); });
  }
}

}  // namespace
}  // namespace heed
