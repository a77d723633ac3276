#include "serve/http/access_log.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "serve/http/http_router.h"

namespace heed::serve {
namespace {

constexpr size_t kMostWaiting = size_t{4} << 20;  // bytes of lines that are not yet written
constexpr size_t kMostShown = 500;

std::string time_text(std::chrono::system_clock::time_point time) {
  using std::chrono::milliseconds;
  const auto since = std::chrono::duration_cast<milliseconds>(time.time_since_epoch()).count();
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z",
                     fmt::gmtime(static_cast<std::time_t>(since / 1000)), since % 1000);
}

std::string text_line(const HttpAnswer& answer) {
  const auto column = [](const std::string& text) {
    return text.empty() ? "-" : percent_encoded(text);
  };
  const auto count = [](std::optional<int64_t> tokens) {
    return tokens ? std::to_string(*tokens) : "-";
  };
  return fmt::format("{} {} {} {} {} {} {:.1f} {} {} {} {}\n", time_text(answer.time),
                     column(answer.client), column(answer.method), column(answer.path),
                     answer.status, answer.bytes, 1e3 * answer.seconds, column(answer.notes.model),
                     count(answer.notes.tokens_in), count(answer.notes.tokens_out),
                     column(answer.id));
}

std::string json_line(const HttpAnswer& answer) {
  const auto text = [](const std::string& value) {
    return value.empty() ? nlohmann::json() : nlohmann::json(value.substr(0, kMostShown));
  };
  const auto count = [](std::optional<int64_t> tokens) {
    return tokens ? nlohmann::json(*tokens) : nlohmann::json();
  };
  const nlohmann::json json = {{"time", time_text(answer.time)},
                               {"client", text(answer.client)},
                               {"method", text(answer.method)},
                               {"path", text(answer.path)},
                               {"status", answer.status},
                               {"bytes", answer.bytes},
                               {"ms", std::round(1e4 * answer.seconds) / 10},
                               {"model", text(answer.notes.model)},
                               {"tokens_in", count(answer.notes.tokens_in)},
                               {"tokens_out", count(answer.notes.tokens_out)},
                               {"request_id", text(answer.id)}};
  return json.dump(-1, ' ', /*ensure_ascii=*/true, nlohmann::json::error_handler_t::replace) + "\n";
}

int open_to_append(const std::string& file) {
  constexpr mode_t kMode = 0640;
  return ::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, kMode);
}

}  // namespace

std::string percent_encoded(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, kMostShown)) {
    const bool visible = c > ' ' && c < '\x7f' && c != '%' && c != '"' && c != '\\';
    out += visible ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return text.size() > kMostShown ? out + "..." : out;
}

std::string log_line(const HttpAnswer& answer, LogFormat format) {
  return format == LogFormat::json ? json_line(answer) : text_line(answer);
}

AccessLog::AccessLog(std::string file, LogFormat format) : file_(std::move(file)), format_(format) {
  descriptor_ = file_ == "-" ? STDERR_FILENO : open_to_append(file_);
  check(descriptor_ >= 0, "[serve] cannot write the log {}: {}", file_, system_reason());
  thread_ = std::thread([this] { run(); });
}

AccessLog::~AccessLog() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  came_.notify_one();
  thread_.join();
  if (descriptor_ != STDERR_FILENO) {
    ::close(descriptor_);
  }
}

void AccessLog::add(const HttpAnswer& answer) {
  const std::string line = log_line(answer, format_);
  {
    const std::lock_guard lock(mutex_);
    if (lines_.size() + line.size() > kMostWaiting) {
      ++dropped_;
      return;
    }
    lines_ += line;
  }
  came_.notify_one();
}

void AccessLog::reopen() {
  {
    const std::lock_guard lock(mutex_);
    reopen_ = true;
  }
  came_.notify_one();
}

void AccessLog::run() {
  std::unique_lock lock(mutex_);
  for (bool stop = false; !stop;) {
    came_.wait(lock, [this] { return !lines_.empty() || reopen_ || stopping_; });
    stop = stopping_;
    const std::string lines = std::exchange(lines_, {});
    const size_t dropped = std::exchange(dropped_, 0);
    const bool reopen = std::exchange(reopen_, false);
    lock.unlock();
    if (reopen) {
      open_again();
    }
    write(lines);
    if (dropped > 0) {
      log_failure("access log", fmt::format("{} lines are lost: {} is too slow", dropped, file_));
    }
    lock.lock();
  }
}

void AccessLog::open_again() {
  if (descriptor_ == STDERR_FILENO) {
    return;
  }
  const int fresh = open_to_append(file_);
  if (fresh < 0) {  // then the old one has to do
    log_failure("access log", fmt::format("cannot open {} again: {}", file_, system_reason()));
    return;
  }
  ::close(std::exchange(descriptor_, fresh));
}

void AccessLog::write(std::string_view lines) {
  while (!lines.empty()) {
    const ssize_t count = ::write(descriptor_, lines.data(), lines.size());
    if (count >= 0) {
      lines.remove_prefix(static_cast<size_t>(count));
      failing_ = false;
    } else if (errno != EINTR) {
      // Said once, not for every line of a full disk.
      if (!std::exchange(failing_, true)) {
        log_failure("access log", fmt::format("cannot write {}: {}", file_, system_reason()));
      }
      return;
    }
  }
}

}  // namespace heed::serve
