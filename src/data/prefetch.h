// Runs a producer ahead of its consumer, on one thread of its own with a bounded queue.
//
// The producer is called as produce(item, stop): it fills the item and returns true, or returns
// false at its end, or when `stop` asks it to. An exception it throws reaches the consumer after
// the items made before it, and again with each further call. The producer must not use OpenMP: a
// second team of threads would fight the model's for the cores. One thread consumes.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

#include "base/interrupt.h"

namespace heed {

template <typename Item>
class Prefetch {
 public:
  using Producer = std::function<bool(Item&, const std::stop_token&)>;

  explicit Prefetch(Producer produce, size_t depth = 4)
      : produce_(std::move(produce)),
        depth_(depth == 0 ? 1 : depth),
        thread_([this](const std::stop_token& stop) { run(stop); }) {}
  // Waits until the producer has noticed the request to stop.
  ~Prefetch() = default;
  Prefetch(const Prefetch&) = delete;
  Prefetch& operator=(const Prefetch&) = delete;

  // False once the producer has ended and everything it made is consumed.
  bool next(Item& item) {
    std::unique_lock lock(mutex_);
    // The producer may wait for a pipe for ever: whoever waits for it can be interrupted.
    while (!changed_.wait_for(lock, std::chrono::milliseconds(100),
                              [this] { return !queue_.empty() || ended_; })) {
      interrupt_point();
    }
    if (!queue_.empty()) {
      item = std::move(queue_.front());
      queue_.pop_front();
      changed_.notify_all();
      return true;
    }
    if (error_) {
      std::rethrow_exception(error_);
    }
    return false;
  }

 private:
  void run(const std::stop_token& stop) {
    std::exception_ptr error;
    try {
      for (Item item; produce_(item, stop) && push(std::move(item), stop); item = Item()) {
      }
    } catch (...) {
      error = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    error_ = std::move(error);
    ended_ = true;
    changed_.notify_all();
  }

  // Waits for room; false if nobody wants the item any more.
  bool push(Item&& item, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    const bool room = changed_.wait(lock, stop, [this] { return queue_.size() < depth_; });
    if (!room || stop.stop_requested()) {
      return false;
    }
    queue_.push_back(std::move(item));
    changed_.notify_all();
    return true;
  }

  Producer produce_;
  size_t depth_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable_any changed_;
  std::deque<Item> queue_;
  bool ended_ = false;
  std::exception_ptr error_;
  std::jthread thread_;  // last: it uses the others, so it starts after and ends before them
};

}  // namespace heed
