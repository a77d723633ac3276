// One client's socket, with limits on what a client may take: total time and bytes for the head
// and the body of a request, and time without progress for a write.
//
// Ownership: owns the descriptor. Thread safety: one thread uses it; only interrupt() and cut() may
// be called by another.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace heed::serve {

class HttpSocket {
 public:
  enum class Head { complete, none, slow, large, malformed };
  enum class Trouble { none, slow, large, cut };

  // `descriptor` does not block. While `stopping`, no request is read.
  HttpSocket(int descriptor, const std::atomic<bool>& stopping);
  ~HttpSocket();
  HttpSocket(const HttpSocket&) = delete;
  HttpSocket& operator=(const HttpSocket&) = delete;

  // Reads a request line and headers up to the empty line. What follows is kept for read().
  Head read_head(double idle_seconds, double header_seconds);
  const std::string& head() const { return head_; }

  // Then the body may be read: so many bytes, in so many seconds.
  void begin_body(size_t most_bytes, double seconds);
  ssize_t read(char* to, size_t size);  // bytes read, or -1 and trouble()
  Trouble trouble() const { return trouble_; }

  // From now on interrupt() has no effect. Whether there was none, so that a handler may run.
  bool begin_answer();

  // false: the client has left, or took nothing for so many seconds.
  bool write(std::string_view bytes, double seconds);
  bool gone() const;

  // Ends the answer and lets the client read it: closing a socket with unread input would throw the
  // answer away. Gives up after a second.
  void drain();

  void interrupt();  // ends waiting for a request
  void cut();        // the client is gone from now on

 private:
  using Clock = std::chrono::steady_clock;
  enum class Arrival { bytes, none, late };

  static Clock::time_point after(double seconds);
  bool wait(short events, Clock::time_point deadline) const;
  Arrival receive(char* to, size_t size, Clock::time_point deadline, size_t& received);
  Head scan_head();

  const int descriptor_;
  const std::atomic<bool>& stopping_;
  std::atomic<bool> waiting_ = true;

  std::string head_;
  std::string input_;   // received and not yet taken
  size_t taken_ = 0;    // of input_
  size_t line_ = 0;     // start of the line that the head's scan is in
  size_t scanned_ = 0;  // of input_
  size_t body_left_ = 0;
  Clock::time_point body_deadline_;
  Trouble trouble_ = Trouble::none;
};

}  // namespace heed::serve
