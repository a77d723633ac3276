// How far a piece of work is and how long the rest takes: on a terminal a line that moves, ten
// times a second; elsewhere plain lines, the first after half a second and one every ten seconds,
// so that a log or a pipe is told as well, and a command that ends at once adds nothing.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace heed::cli {

// Belongs to one thread at a time. Its line goes away with it.
class ShareProgress {
 public:
  explicit ShareProgress(double from = 0.0);  // what an earlier process has done
  ~ShareProgress();
  ShareProgress(const ShareProgress&) = delete;
  ShareProgress& operator=(const ShareProgress&) = delete;

  // From 0 to 1; `more` stands before the time.
  void show(double done, std::string_view more = {});
  // In words of the caller's.
  void say(std::string text);
  // What goes on, where nobody knows how long it takes.
  void doing(std::string_view what);
  // Before something else goes to standard error.
  void clear();

  double seconds_left(double done) const { return seconds() * (1.0 - done) / (done - from_); }
  double seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

 private:
  using Clock = std::chrono::steady_clock;

  void draw(std::string text);
  void print_until_stopped(const std::stop_token& stop);

  double from_;
  bool terminal_;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point shown_ = begin_;
  std::mutex mutex_;  // guards what follows
  std::string text_;  // what a line would say; empty: nothing
  std::condition_variable_any changed_;
  std::jthread thread_;  // prints lines where there is no terminal; last: uses the others
};

}  // namespace heed::cli
