// One client's socket, with limits on what a client may take: bytes for the head of a request,
// total time and bytes for its body, and time without progress for a write. Who waits for heads
// watches their time (serve/http/http_poller.h).
//
// Ownership: owns the descriptor. Thread safety: one thread uses it; while a request is
// answered, another may call interrupt(), cut(), stalled_since() and give_up().
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace heed::serve {

// Of the server: whether connections stay open for another request, are closed after their answer,
// or get no handler any more.
enum class HttpPhase { serving, draining, stopping };

class HttpSocket {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Head { complete, incomplete, large, malformed, closed };
  enum class Trouble { none, slow, large, cut };

  // `descriptor` does not block. `client` is the address of the other side. `open` counts sockets.
  HttpSocket(int descriptor, std::string client, const std::atomic<HttpPhase>& phase,
             std::atomic<size_t>& open);
  ~HttpSocket();
  HttpSocket(const HttpSocket&) = delete;
  HttpSocket& operator=(const HttpSocket&) = delete;

  int descriptor() const { return descriptor_; }
  const std::string& client() const { return client_; }

  // Reads what has come of a request line and headers, up to the empty line; never waits. What
  // follows is kept for read().
  Head read_head();
  bool begun() const { return !input_.empty(); }  // some of the head has come
  const std::string& head() const { return head_; }
  bool expects_body() const;                                  // of a complete head
  Clock::time_point head_time() const { return head_time_; }  // when it was complete

  // Forgets the request that was answered, before read_head() looks for the next one.
  void begin_request();

  // Then the body may be read: so many bytes, in so many seconds.
  void begin_body(size_t most_bytes, double seconds);
  ssize_t read(char* to, size_t size);  // bytes read, or -1 and trouble()
  Trouble trouble() const { return trouble_; }

  bool stopping() const { return phase_ == HttpPhase::stopping; }
  bool closes() const { return phase_ != HttpPhase::serving; }  // after the next answer
  // From now on interrupt() has no effect. Whether there was none, so that a handler may run.
  bool begin_answer();

  // false: the client has left, or took nothing for so many seconds.
  bool write(std::string_view bytes, double seconds);
  bool gone() const;

  // Lets the client read the last answer: closing a socket with unread input would throw the answer
  // away. So what still comes is discarded until the client closes its side too.
  void begin_drain();
  bool discard();  // never waits; false: the client has closed

  bool interrupt();  // ends waiting for a body, which came too slowly; whether it did wait
  void cut();        // the client is gone from now on

  // Since when a request that is answered waits for its client, to send the body or to take the
  // answer; none if it does not.
  std::optional<Clock::time_point> stalled_since() const;
  // Waits for the client no more. Whether it did.
  bool give_up();

 private:
  enum class Arrival { bytes, none, late };

  static Clock::time_point after(double seconds);
  bool wait(short events, Clock::time_point deadline) const;
  Arrival receive(char* to, size_t size, Clock::time_point deadline, size_t& received);
  Head scan_head();

  const int descriptor_;
  const std::string client_;
  const std::atomic<HttpPhase>& phase_;
  std::atomic<size_t>& open_;
  std::atomic<bool> waiting_ = true;              // for a request
  std::atomic<Clock::rep> write_stalled_at_ = 0;  // 0: no write waits

  std::string head_;
  Clock::time_point head_time_;
  std::string input_;   // received and not yet taken
  size_t taken_ = 0;    // of input_
  size_t line_ = 0;     // start of the line that the head's scan is in
  size_t scanned_ = 0;  // of input_
  size_t body_left_ = 0;
  Clock::time_point body_deadline_;
  Trouble trouble_ = Trouble::none;
};

}  // namespace heed::serve
