// The access log: a line for each request that was answered or refused, as columns or as JSON. It
// has no query, no body and no header but the request's id, so neither keys nor prompts.
//
// Ownership: owns its file and its thread, which writes: whoever adds a line never waits for a
// disk. Thread safe.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "serve/http/http.h"

namespace heed::serve {

enum class LogFormat { text, json };

// One line with its end.
std::string log_line(const HttpAnswer& answer, LogFormat format);

// Bytes other than the visible ones of ASCII as %XX, and what is too long cut.
std::string percent_encoded(std::string_view text);

class AccessLog {
 public:
  // Appends to the file; "-" is standard error. Error if it cannot be opened.
  AccessLog(std::string file, LogFormat format);
  ~AccessLog();  // writes what is left
  AccessLog(const AccessLog&) = delete;
  AccessLog& operator=(const AccessLog&) = delete;

  // While the disk is so slow that megabytes of lines wait, lines are dropped and counted.
  void add(const HttpAnswer& answer);

  // Opens the file by its name again, after somebody has renamed it.
  void reopen();

 private:
  void run();
  void open_again();
  void write(std::string_view lines);

  const std::string file_;
  const LogFormat format_;
  int descriptor_ = -1;   // once begun, the thread's own
  bool failing_ = false;  // so was the last write

  std::mutex mutex_;  // for all that follows
  std::condition_variable came_;
  std::string lines_;
  size_t dropped_ = 0;
  bool reopen_ = false;
  bool stopping_ = false;

  std::thread thread_;  // begins last
};

}  // namespace heed::serve
