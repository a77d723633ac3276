#include "serve/engine.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/parallel.h"

namespace heed::serve {
namespace {

using Clock = std::chrono::steady_clock;

std::string current_message() {
  try {
    throw;
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "[serve] an unknown exception";
  }
}

}  // namespace

void Job::finish(GenerateEnd end) {
  outcome_ = Outcome::completed;
  tell(Done{end, tokens_in, tokens_out});
}

void Job::fail(std::string message, Fault fault) {
  outcome_ = Outcome::failed;
  tell(Failed{std::move(message), fault});
}

void Job::fail_with_exception(Fault fault) { fail(current_message(), fault); }

void Turns::begin() {
  std::unique_lock lock(mutex_);
  const uint64_t mine = next_++;
  changed_.wait(lock, [&] { return served_ == mine; });
}

void Turns::end() {
  {
    const std::lock_guard lock(mutex_);
    ++served_;
  }
  changed_.notify_all();
}

size_t Turns::waiting() const {
  const std::lock_guard lock(mutex_);
  return next_ > served_ + 1 ? next_ - served_ - 1 : 0;
}

Engine::Engine(std::unique_ptr<Service> service, const EngineOptions& options)
    : options_(options), service_(std::move(service)) {
  check(options_.slots > 0, "[serve] slots is {}, expected at least 1", options_.slots);
  if (options_.turns == nullptr) {
    options_.turns = std::make_shared<Turns>();
  }
  thread_ = std::thread([this] { run(); });
}

Engine::~Engine() { stop(std::chrono::milliseconds(0)); }

void Engine::submit(std::vector<std::shared_ptr<Job>> jobs) {
  check(jobs.size() <= capacity(), "[serve] a request has {} parts, expected at most {}",
        jobs.size(), capacity());
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) {
      throw EngineStopping("the server is stopping");
    }
    if (queue_.size() + counters_.busy + jobs.size() > capacity()) {
      ++counters_.refused;
      throw QueueFull(
          fmt::format("the queue is full: {} requests are being processed and {} are waiting, "
                      "so there is no room for {}; retry later",
                      counters_.busy, queue_.size(), jobs.size()));
    }
    std::move(jobs.begin(), jobs.end(), std::back_inserter(queue_));
    counters_.queued = queue_.size();
  }
  changed_.notify_one();
}

EngineCounters Engine::counters() const {
  const std::lock_guard lock(mutex_);
  return counters_;
}

void Engine::stop(std::chrono::milliseconds most) {
  {
    const std::lock_guard lock(mutex_);
    const Clock::time_point deadline = Clock::now() + most;
    deadline_ = stopping_ ? std::min(deadline_, deadline) : deadline;
    stopping_ = true;
  }
  changed_.notify_one();
  const std::lock_guard lock(stop_mutex_);
  if (thread_.joinable()) {
    thread_.join();
  }
}

void Engine::run() {
  if (options_.threads > 0) {
    set_num_threads(options_.threads);
  }
  for (Jobs newcomers; wait_for_work(newcomers); newcomers.clear()) {
    options_.turns->begin();
    const Clock::time_point begin = Clock::now();
    work(newcomers);
    const std::chrono::duration<double> took = Clock::now() - begin;
    options_.turns->end();
    settle(took.count());
  }
  for (const std::shared_ptr<Job>& job : running_) {
    job->fail("the server is stopping", Fault::stopping);
  }
  settle(0.0);
}

// False: the engine stops. Jobs that leave the queue without having come to a slot are told so.
bool Engine::wait_for_work(Jobs& newcomers) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return stopping_ || !queue_.empty() || !running_.empty(); });
  std::erase_if(queue_, [&](const std::shared_ptr<Job>& job) {
    if (job->unwanted()) {
      job->cancel();
      ++counters_.cancelled;
    } else if (stopping_) {
      job->fail("the server is stopping", Fault::stopping);
      ++counters_.failed;
    }
    return job->outcome() != Outcome::running;
  });
  while (!queue_.empty() && running_.size() + newcomers.size() < options_.slots) {
    newcomers.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  counters_.queued = queue_.size();
  counters_.busy = running_.size() + newcomers.size();
  return !stopping_ || (!running_.empty() && Clock::now() < deadline_);
}

void Engine::work(const Jobs& newcomers) {
  for (const std::shared_ptr<Job>& job : newcomers) {
    running_.push_back(job);
    try {
      service_->admit(*job);
    } catch (const Error& error) {
      job->fail(error.what(), Fault::request);
    } catch (...) {
      job->fail_with_exception(Fault::engine);
    }
  }
  const auto running = [](const std::shared_ptr<Job>& job) {
    return job->outcome() == Outcome::running;
  };
  try {
    for (const std::shared_ptr<Job>& job : running_) {
      if (running(job) && job->unwanted()) {
        job->cancel();
        service_->drop(*job);
      }
    }
    if (std::any_of(running_.begin(), running_.end(), running)) {
      service_->turn();
    }
  } catch (...) {
    for (const std::shared_ptr<Job>& job : running_) {
      if (running(job)) {
        job->fail_with_exception(Fault::engine);
      }
    }
    service_->reset();
  }
}

// Jobs that have ended leave their slots.
void Engine::settle(double seconds) {
  const std::lock_guard lock(mutex_);
  counters_.turns += 1;
  counters_.turn_seconds += seconds;
  counters_.tokens_in = ended_in_;
  counters_.tokens_out = ended_out_;
  for (const std::shared_ptr<Job>& job : running_) {
    counters_.tokens_in += job->tokens_in;
    counters_.tokens_out += job->tokens_out;
    const Outcome outcome = job->outcome();
    counters_.completed += outcome == Outcome::completed ? 1 : 0;
    counters_.failed += outcome == Outcome::failed ? 1 : 0;
    counters_.cancelled += outcome == Outcome::cancelled ? 1 : 0;
    if (outcome != Outcome::running) {
      ended_in_ += job->tokens_in;
      ended_out_ += job->tokens_out;
    }
  }
  std::erase_if(running_,
                [](const std::shared_ptr<Job>& job) { return job->outcome() != Outcome::running; });
  counters_.busy = running_.size();
}

}  // namespace heed::serve
