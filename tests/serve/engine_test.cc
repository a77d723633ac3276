// Queue, slots and turns, with a service that does what a test tells it.
#include "serve/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <set>

#include "serve/serving.h"
#include "support/error_of.h"

namespace heed::serve::testing {
namespace {

// Takes so many turns; 0: an Error when it comes, below: something else.
class CountingJob : public Job {
 public:
  CountingJob(std::shared_ptr<Reply> reply, int turns_wanted, size_t number = 0)
      : Job(std::move(reply), number), turns(turns_wanted) {}
  int turns;
};
constexpr int kForever = 1 << 30;
constexpr int kCannotBe = 0;
constexpr int kBreaks = -1;     // when it comes
constexpr int kBreaksAll = -2;  // in its turn
constexpr int kBreaksStrangely = -3;

class CountingService : public Service {
 public:
  // What a test sees of it.
  struct Seen {
    std::atomic<int> here = 0;
    std::atomic<int> most = 0;
    std::atomic<int> resets = 0;
    std::atomic<bool> held = false;  // turns wait
  };
  explicit CountingService(std::shared_ptr<Seen> seen) : seen_(std::move(seen)) {}

  void admit(Job& job) override {
    auto& counting = dynamic_cast<CountingJob&>(job);
    check(counting.turns != kCannotBe, "[test] it cannot be");
    if (counting.turns == kBreaks) {
      throw std::bad_alloc();
    }
    jobs_.insert(&counting);
    note();
  }
  void turn() override {
    while (seen_->held) {
      std::this_thread::sleep_for(milliseconds(1));
    }
    const std::set<CountingJob*> all = jobs_;
    for (CountingJob* job : all) {
      if (job->turns == kBreaksAll) {
        fail("[test] everything breaks");
      }
      if (job->turns == kBreaksStrangely) {
        throw 17;  // NOLINT: no exception of ours
      }
      job->tokens_out += 1;
      if (--job->turns == 0) {
        jobs_.erase(job);
        job->finish(GenerateEnd::length);
      }
    }
    note();
  }
  void drop(Job& job) override {
    EXPECT_EQ(jobs_.erase(dynamic_cast<CountingJob*>(&job)), 1U);
    note();
  }
  void reset() override {
    jobs_.clear();
    ++seen_->resets;
    note();
  }

 private:
  void note() {
    seen_->here = static_cast<int>(jobs_.size());
    seen_->most = std::max<int>(seen_->most, seen_->here);
  }

  std::shared_ptr<Seen> seen_;
  std::set<CountingJob*> jobs_;
};

struct Counting {
  explicit Counting(const EngineOptions& options = {})
      : engine(std::make_unique<CountingService>(seen), options) {}

  std::shared_ptr<Reply> submit(int turns) {
    auto reply = std::make_shared<Reply>();
    engine.submit({std::make_shared<CountingJob>(reply, turns)});
    return reply;
  }

  std::shared_ptr<CountingService::Seen> seen = std::make_shared<CountingService::Seen>();
  Engine engine;
};

TEST(Engine, WorksOnEverybodyInTurns) {
  Counting counting({.slots = 3, .queue = 100});
  counting.seen->held =
      true;  // until all are there, or the first would be done before the last comes
  std::vector<std::shared_ptr<Reply>> replies;
  for (int i = 1; i <= 20; ++i) {
    replies.push_back(counting.submit(i));
  }
  counting.seen->held = false;
  for (int i = 1; i <= 20; ++i) {
    const Heard heard = hear(*replies[static_cast<size_t>(i - 1)]);
    ASSERT_TRUE(heard.done.has_value());
    EXPECT_EQ(heard.done->end, GenerateEnd::length);
    EXPECT_EQ(heard.done->tokens_out, i);
  }
  EXPECT_TRUE(idle_soon(counting.engine));
  EXPECT_EQ(counting.seen->most, 3);
  const EngineCounters counters = counting.engine.counters();
  EXPECT_EQ(counters.completed, 20U);
  EXPECT_EQ(counters.failed + counters.cancelled + counters.refused, 0U);
  EXPECT_EQ(counters.tokens_out, 20 * 21 / 2);
  EXPECT_GE(counters.turns, 20U * 21U / 2U / 3U);
  EXPECT_GT(counters.turn_seconds, 0.0);
}

TEST(Engine, AFullQueueRefuses) {
  Counting counting({.slots = 2, .queue = 3});
  EXPECT_EQ(counting.engine.capacity(), 5U);
  std::vector<std::shared_ptr<Reply>> replies;
  for (int i = 0; i < 5; ++i) {  // free slots count, also before the engine has seen the jobs
    replies.push_back(counting.submit(kForever));
  }
  EXPECT_THROW(counting.submit(1), QueueFull);
  EXPECT_TRUE(soon(counting.engine, [](const EngineCounters& now) {
    return now.busy == 2 && now.queued == 3 && now.refused == 1;
  }));
  replies[1]->cancel();
  EXPECT_TRUE(soon(counting.engine, [](const EngineCounters& now) { return now.queued == 2; }));
  // All or none.
  const auto reply = std::make_shared<Reply>();
  std::vector<std::shared_ptr<Job>> two;
  for (size_t i = 0; i < 2; ++i) {
    two.push_back(std::make_shared<CountingJob>(reply, 1, i));
  }
  EXPECT_THROW(counting.engine.submit(two), QueueFull);
  replies[4]->cancel();
  EXPECT_TRUE(soon(counting.engine, [](const EngineCounters& now) { return now.queued == 1; }));
  counting.engine.submit(two);
  for (const auto& waiting : replies) {
    waiting->cancel();
  }
  for (const Heard& heard : hear(*reply, 2)) {
    EXPECT_TRUE(heard.done.has_value());
  }
  EXPECT_TRUE(idle_soon(counting.engine));
  EXPECT_EQ(counting.engine.counters().cancelled, 5U);
  EXPECT_EQ(::heed::testing::error_of(
                [&] { counting.engine.submit(std::vector<std::shared_ptr<Job>>(6)); }),
            "[serve] a request has 6 parts, expected at most 5");
}

TEST(Engine, CancelledJobsLeave) {
  Counting counting({.slots = 2, .queue = 10});
  const auto first = counting.submit(kForever);
  const auto second = counting.submit(kForever);
  const auto third = counting.submit(3);
  EXPECT_FALSE(third->next(milliseconds(20)).has_value());
  first->cancel();
  EXPECT_TRUE(hear(*third).done.has_value());
  second->cancel();
  EXPECT_TRUE(idle_soon(counting.engine));
  EXPECT_EQ(counting.seen->here, 0);
  EXPECT_FALSE(first->next(milliseconds(0)).has_value());
  const EngineCounters counters = counting.engine.counters();
  EXPECT_EQ(counters.cancelled, 2U);
  EXPECT_EQ(counters.completed, 1U);
}

TEST(Engine, AJobThatFailsFailsAlone) {
  Counting counting;
  const auto lasting = counting.submit(kForever);
  const Heard impossible = hear(*counting.submit(kCannotBe));
  ASSERT_TRUE(impossible.failed.has_value());
  EXPECT_EQ(impossible.failed->message, "[test] it cannot be");
  EXPECT_EQ(impossible.failed->fault, Fault::request);
  const Heard broken = hear(*counting.submit(kBreaks));
  ASSERT_TRUE(broken.failed.has_value());
  EXPECT_EQ(broken.failed->message, "std::bad_alloc");
  EXPECT_EQ(broken.failed->fault, Fault::engine);
  EXPECT_TRUE(hear(*counting.submit(2)).done.has_value());
  EXPECT_TRUE(soon(counting.engine, [](const EngineCounters& now) { return now.busy == 1; }));
  EXPECT_EQ(counting.seen->here, 1);
  EXPECT_FALSE(lasting->next(milliseconds(0)).has_value());
}

// If nobody knows whose fault it was, all that are there fail, and the next ones are served.
TEST(Engine, SurvivesAServiceThatBreaks) {
  Counting counting;
  const auto lasting = counting.submit(kForever);
  EXPECT_EQ(hear(*counting.submit(kBreaksAll)).failed->message, "[test] everything breaks");
  EXPECT_EQ(hear(*lasting).failed->message, "[test] everything breaks");
  EXPECT_EQ(hear(*counting.submit(kBreaksStrangely)).failed->message,
            "[serve] an unknown exception");
  EXPECT_TRUE(hear(*counting.submit(3)).done.has_value());
  EXPECT_EQ(counting.seen->resets, 2);
  EXPECT_TRUE(idle_soon(counting.engine));
  EXPECT_EQ(counting.engine.counters().failed, 3U);
}

TEST(Engine, StopLetsRunningJobsFinish) {
  Counting counting({.slots = 1, .queue = 5});
  counting.seen->held = true;
  const auto running = counting.submit(5);
  EXPECT_TRUE(soon(counting.engine, [](const EngineCounters& now) { return now.queued == 0; }));
  const auto waiting = counting.submit(1);
  std::thread stopping([&] { counting.engine.stop(kLong); });
  while (true) {
    try {
      counting.submit(1)->cancel();
    } catch (const EngineStopping&) {
      break;
    } catch (const QueueFull&) {
    }
  }
  counting.seen->held = false;
  stopping.join();
  EXPECT_TRUE(hear(*running).done.has_value());
  const Heard heard = hear(*waiting);
  ASSERT_TRUE(heard.failed.has_value());
  EXPECT_EQ(heard.failed->fault, Fault::stopping);
  EXPECT_THROW(counting.submit(1), EngineStopping);
  counting.engine.stop(milliseconds(0));  // again: nothing
  const EngineCounters counters = counting.engine.counters();
  EXPECT_EQ(counters.busy + counters.queued, 0U);
}

TEST(Engine, StopHasADeadline) {
  Counting counting;
  const auto running = counting.submit(kForever);
  EXPECT_TRUE(soon(counting.engine, [](const EngineCounters& now) { return now.turns > 2; }));
  counting.engine.stop(milliseconds(20));
  const Heard heard = hear(*running);
  ASSERT_TRUE(heard.failed.has_value());
  EXPECT_EQ(heard.failed->fault, Fault::stopping);
  EXPECT_EQ(counting.engine.counters().busy, 0U);
}

// Whoever waits comes before one who has just had a turn.
TEST(Engine, TurnsComeOneAfterTheOther) {
  Turns turns;
  std::string order;
  turns.begin();
  std::thread other([&] {
    turns.begin();
    order += 'b';
    turns.end();
  });
  while (turns.waiting() == 0) {
    std::this_thread::sleep_for(milliseconds(1));
  }
  order += 'a';
  turns.end();
  turns.begin();
  order += 'a';
  turns.end();
  other.join();
  EXPECT_EQ(order, "aba");
}

TEST(Engine, SharedTurns) {
  const auto turns = std::make_shared<Turns>();
  Counting first({.turns = turns});
  Counting second({.turns = turns});
  const auto one = first.submit(kForever);
  const auto other = second.submit(kForever);
  const auto many = [](const EngineCounters& now) { return now.turns > 500; };
  EXPECT_TRUE(soon(first.engine, many));
  EXPECT_TRUE(soon(second.engine, many));
  one->cancel();
  other->cancel();
  EXPECT_TRUE(idle_soon(first.engine));
  EXPECT_TRUE(idle_soon(second.engine));
}

// Many threads ask and leave at any moment.
TEST(Engine, ManyThreads) {
  Counting counting({.slots = 4, .queue = 8});
  std::atomic<int> served = 0;
  std::atomic<int> left = 0;
  std::vector<std::thread> clients;
  for (int c = 0; c < 8; ++c) {
    clients.emplace_back([&, c] {
      for (int i = 0; i < 50; ++i) {
        try {
          const auto reply = counting.submit(1 + (i * 7 + c) % 20);
          if ((i + c) % 3 == 0) {
            reply->next(milliseconds(0));
            reply->cancel();
            ++left;
          } else {
            EXPECT_TRUE(hear(*reply).done.has_value());
            ++served;
          }
        } catch (const QueueFull&) {
          std::this_thread::sleep_for(milliseconds(1));
          --i;
        }
      }
    });
  }
  for (std::thread& client : clients) {
    client.join();
  }
  EXPECT_TRUE(idle_soon(counting.engine));
  EXPECT_EQ(served + left, 400);
  const EngineCounters counters = counting.engine.counters();
  EXPECT_EQ(counters.completed + counters.cancelled, 400U);
  EXPECT_GE(counters.completed, static_cast<uint64_t>(served));
  EXPECT_EQ(counting.seen->here, 0);
  EXPECT_LE(counting.seen->most, 4);
}

}  // namespace
}  // namespace heed::serve::testing
