// What an engine tells a request that waits, and how the request says that it waits no more.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "decode/text/text_rows.h"

namespace heed::serve {

// The next of a text. Tokens only if their log-probabilities are wanted; they come as they are
// drawn, and the text when it is certain.
struct TextPiece {
  std::string text;
  std::vector<DrawnToken> tokens;
};

// How far work is that takes long.
struct Progress {
  double share = 0.0;                // 0 to 1
  int64_t done = 0;                  // notes or steps
  std::vector<int32_t> so_far = {};  // levels of images
};

// What was asked for is all there.
struct Done {
  GenerateEnd end = GenerateEnd::end_token;  // of a text
  int64_t tokens_in = 0;
  int64_t tokens_out = 0;
};

// Whose fault it is: what was asked, something here, or that the server stops.
enum class Fault { request, engine, stopping };
struct Failed {
  std::string message;
  Fault fault = Fault::engine;
};

struct Event {
  size_t job = 0;  // which of the request's
  std::variant<TextPiece, Progress, Done, Failed> what;
};

// Between a request, which may have several jobs, and the engine. Every job ends with one Done or
// Failed, unless the request was cancelled: then nothing more comes. Thread safe.
class Reply {
 public:
  // By whoever waits: nobody reads on. The engine drops the jobs at its next turn.
  void cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }

  // The next event; none if none comes in that time.
  std::optional<Event> next(std::chrono::milliseconds most) {
    std::unique_lock lock(mutex_);
    if (!came_.wait_for(lock, most, [&] { return !events_.empty(); })) {
      return std::nullopt;
    }
    Event event = std::move(events_.front());
    events_.pop_front();
    return event;
  }

  // By whoever took it: it is the next one again.
  void put_back(Event event) {
    const std::lock_guard lock(mutex_);
    events_.push_front(std::move(event));
  }

  // By the engine.
  void push(Event event) {
    {
      const std::lock_guard lock(mutex_);
      events_.push_back(std::move(event));
    }
    came_.notify_one();
  }

 private:
  std::atomic<bool> cancelled_ = false;
  std::mutex mutex_;
  std::condition_variable came_;
  std::deque<Event> events_;
};

}  // namespace heed::serve
