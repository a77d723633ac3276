// One thread that owns a model and works on everybody's requests in turns.
//
// A request becomes one or more jobs with one Reply. Jobs wait in a bounded queue until one of the
// slots is free; the service then goes on with all jobs in slots, a little each turn. A cancelled
// job leaves at the next turn, a job that fails fails alone, and the thread ends only with stop().
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "serve/events.h"

namespace heed::serve {

enum class Outcome { running, completed, failed, cancelled };

// What is to be done. Each kind of work has its own, with what is asked for and room for what is
// found: the engine's thread has it between submit() and the Done or Failed, whoever waits
// afterwards.
class Job {
 public:
  explicit Job(std::shared_ptr<Reply> reply, size_t number = 0)
      : reply_(std::move(reply)), number_(number) {}
  virtual ~Job() = default;
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  // For services: tells the request. After finish() and fail() the job belongs to it again.
  void tell(decltype(Event::what) what) const { reply_->push({number_, std::move(what)}); }
  void finish(GenerateEnd end = GenerateEnd::end_token);
  void fail(std::string message, Fault fault);
  // The exception that is being handled is why.
  void fail_with_exception(Fault fault);
  void cancel() { outcome_ = Outcome::cancelled; }
  bool unwanted() const { return reply_->cancelled(); }
  Outcome outcome() const { return outcome_; }

  // Counted by services as the work goes on.
  int64_t tokens_in = 0;
  int64_t tokens_out = 0;

 private:
  std::shared_ptr<Reply> reply_;
  size_t number_;
  Outcome outcome_ = Outcome::running;
};

// What a kind of model does for requests. All functions are called by the engine's thread alone.
class Service {
 public:
  virtual ~Service() = default;
  Service() = default;
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // A job comes to a slot. An Error: it asks for something that cannot be.
  virtual void admit(Job& job) = 0;
  // Goes on with the jobs for a moment; those that are done it finishes, and those that fail it
  // fails. An exception: reset() follows, and all jobs fail.
  virtual void turn() = 0;
  // The job is not wanted any more.
  virtual void drop(Job& job) = 0;
  // No job is wanted any more.
  virtual void reset() = 0;
};

// Several engines share the processor: their turns do not overlap, and come one after the other.
class Turns {
 public:
  void begin();
  void end();
  size_t waiting() const;  // at the moment

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t next_ = 0;
  uint64_t served_ = 0;
};

struct EngineOptions {
  size_t slots = 8;                   // jobs worked on at once
  size_t queue = 64;                  // jobs that wait, at most
  int threads = 0;                    // that kernels use; 0: as many as the process
  std::shared_ptr<Turns> turns = {};  // shared with other engines
};

// There is no room for more jobs; later there may be.
class QueueFull : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};
// The engine takes no more jobs at all.
class EngineStopping : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct EngineCounters {
  uint64_t completed = 0;
  uint64_t failed = 0;
  uint64_t cancelled = 0;
  uint64_t refused = 0;  // there was no room
  int64_t tokens_in = 0;
  int64_t tokens_out = 0;
  uint64_t turns = 0;
  double turn_seconds = 0.0;  // spent in them
  size_t queued = 0;          // at the moment
  size_t busy = 0;            // slots, at the moment
};

// Thread safe.
class Engine {
 public:
  Engine(std::unique_ptr<Service> service, const EngineOptions& options);
  ~Engine();  // stops at once
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // All or none; returns at once. QueueFull, EngineStopping, or an Error for more than capacity().
  void submit(std::vector<std::shared_ptr<Job>> jobs);
  size_t capacity() const { return options_.slots + options_.queue; }
  size_t slots() const { return options_.slots; }
  EngineCounters counters() const;
  // Jobs that wait fail; those in slots may go on for so long. Returns when the thread has ended.
  void stop(std::chrono::milliseconds most);

 private:
  using Jobs = std::vector<std::shared_ptr<Job>>;

  void run();
  bool wait_for_work(Jobs& newcomers);
  void work(const Jobs& newcomers);
  void settle(double seconds);

  EngineOptions options_;
  std::unique_ptr<Service> service_;
  Jobs running_;  // those in slots; the thread's own

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Job>> queue_;
  EngineCounters counters_;
  int64_t ended_in_ = 0;  // tokens of jobs that have ended
  int64_t ended_out_ = 0;
  bool stopping_ = false;
  std::chrono::steady_clock::time_point deadline_ = {};
  std::mutex stop_mutex_;  // only one joins
  std::thread thread_;     // begins last
};

}  // namespace heed::serve
