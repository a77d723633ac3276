#include "cli/share_progress.h"

#include <fmt/core.h>

#include <cstdio>
#include <utility>

#include "cli/terminal.h"
#include "cli/train_progress.h"

namespace heed::cli {
namespace {

constexpr std::chrono::milliseconds kRedraw{100};
constexpr std::chrono::milliseconds kFirstLine{500};
constexpr std::chrono::seconds kNextLine{10};

}  // namespace

ShareProgress::ShareProgress(double from) : from_(from), terminal_(errors_on_terminal()) {
  if (!terminal_) {
    thread_ = std::jthread([this](const std::stop_token& stop) { print_until_stopped(stop); });
  }
}

ShareProgress::~ShareProgress() { clear(); }

void ShareProgress::show(double done, std::string_view more) {
  say(fmt::format("{:3.0f} %, {}{} left", 100.0 * done, more, format_seconds(seconds_left(done))));
}

void ShareProgress::say(std::string text) {
  if (!terminal_ || Clock::now() - shown_ >= kRedraw) {
    draw(std::move(text));
  }
}

void ShareProgress::doing(std::string_view what) { draw(fmt::format("{} ...", what)); }

void ShareProgress::draw(std::string text) {
  if (terminal_) {
    shown_ = Clock::now();
    fmt::print(stderr, "\r\x1b[K{}", text);
    std::fflush(stderr);
    return;
  }
  const std::lock_guard lock(mutex_);
  text_ = std::move(text);
}

void ShareProgress::clear() {
  if (terminal_ && shown_ != begin_) {
    fmt::print(stderr, "\r\x1b[K");
  }
  const std::lock_guard lock(mutex_);
  text_.clear();
}

void ShareProgress::print_until_stopped(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  std::chrono::milliseconds pause = kFirstLine;
  while (!changed_.wait_for(lock, stop, pause, [&] { return stop.stop_requested(); })) {
    if (text_.empty()) {
      continue;
    }
    fmt::print(stderr, "{}\n", text_);
    pause = kNextLine;
  }
}

}  // namespace heed::cli
