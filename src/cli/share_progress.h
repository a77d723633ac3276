// How far a piece of work is and how long the rest takes: a line on a terminal, ten times a second.
#pragma once

#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <string_view>

#include "cli/train_progress.h"

namespace heed::cli {

// Belongs to one thread at a time. Its line goes away with it.
class ShareProgress {
 public:
  explicit ShareProgress(double from = 0.0) : from_(from) {}  // what an earlier process has done
  ~ShareProgress() { clear(); }
  ShareProgress(const ShareProgress&) = delete;
  ShareProgress& operator=(const ShareProgress&) = delete;

  void show(double done,
            std::string_view more = {}) {  // from 0 to 1; `more` stands before the time
    const auto now = Clock::now();
    if (!terminal_ || now - shown_ < std::chrono::milliseconds(100)) {
      return;
    }
    shown_ = now;
    fmt::print(stderr, "\r\x1b[K{:3.0f} %, {}{} left", 100.0 * done, more,
               format_seconds(seconds_left(done)));
    std::fflush(stderr);
  }
  double seconds_left(double done) const { return seconds() * (1.0 - done) / (done - from_); }
  // What goes on, where nobody knows how long it takes.
  void doing(std::string_view what) {
    if (terminal_) {
      shown_ = Clock::now();
      fmt::print(stderr, "\r\x1b[K{} ...", what);
      std::fflush(stderr);
    }
  }
  // Before something else goes to standard error.
  void clear() const {
    if (shown_ != begin_) {
      fmt::print(stderr, "\r\x1b[K");
    }
  }
  double seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  double from_;
  bool terminal_ = ::isatty(STDERR_FILENO) != 0;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point shown_ = begin_;
};

}  // namespace heed::cli
