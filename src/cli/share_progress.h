// How far a piece of work is and how long the rest takes: a line on a terminal, ten times a second.
#pragma once

#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "cli/train_progress.h"

namespace heed::cli {

// Belongs to one thread at a time. Its line goes away with it.
class ShareProgress {
 public:
  ShareProgress() = default;
  ~ShareProgress() {
    if (shown_ != begin_) {
      fmt::print(stderr, "\r\x1b[K");
    }
  }
  ShareProgress(const ShareProgress&) = delete;
  ShareProgress& operator=(const ShareProgress&) = delete;

  void show(double done) {  // from 0 to 1
    const auto now = Clock::now();
    if (!terminal_ || now - shown_ < std::chrono::milliseconds(100)) {
      return;
    }
    shown_ = now;
    fmt::print(stderr, "\r\x1b[K{:3.0f} %, {} left", 100.0 * done,
               format_seconds(seconds() * (1.0 / done - 1.0)));
    std::fflush(stderr);
  }
  double seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  bool terminal_ = ::isatty(STDERR_FILENO) != 0;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point shown_ = begin_;
};

}  // namespace heed::cli
