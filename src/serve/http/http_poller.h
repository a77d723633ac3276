// Accepts connections and waits, in one thread, for all of them that have nothing to answer: those
// that are idle, whose request has not come whole, or that are being closed. Such a connection
// costs a descriptor and a little memory, but no thread.
//
// Ownership: owns the sockets that wait and the listening one. Thread safe; the callbacks run in
// the poller's thread or in that of who calls wait_for_request(), and must not wait.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "serve/http/http.h"
#include "serve/http/http_socket.h"

namespace heed::serve {

struct HttpPollerCallbacks {
  // The head of a request has come whole.
  std::function<void(std::unique_ptr<HttpSocket>)> request;
  // The connection may not go on.
  std::function<void(std::unique_ptr<HttpSocket>, const HttpError&)> refuse;
};

class HttpPoller {
 public:
  HttpPoller(const HttpOptions& options, HttpPollerCallbacks callbacks);
  ~HttpPoller();  // stops
  HttpPoller(const HttpPoller&) = delete;
  HttpPoller& operator=(const HttpPoller&) = delete;

  // Begins to accept; `listener` is bound and does not block.
  void start(int listener);
  // From now on every connection is closed after its next answer.
  void begin_drain();
  // Accepts no more and closes what waits. A request that has come whole is passed on a last time,
  // to be refused.
  void begin_stop();
  // The same, and returns when the thread has ended. Sockets that come later are closed at once.
  void stop();
  bool draining() const { return phase_ != HttpPhase::serving; }
  bool stopping() const { return phase_ == HttpPhase::stopping; }

  // A connection whose last request was answered, for the next one.
  void wait_for_request(std::unique_ptr<HttpSocket> socket);
  // A connection that got its last answer: closed once the client has read it, or after a second.
  void drain(std::unique_ptr<HttpSocket> socket);

  size_t connections() const { return connections_; }  // open, those with a handler included

 private:
  using Clock = HttpSocket::Clock;
  struct Waiting {
    std::unique_ptr<HttpSocket> socket;
    Clock::time_point deadline;
    bool begun = false;   // some of a head has come
    bool drains = false;  // only waits for the client to close
  };
  using Entry = std::map<uint64_t, Waiting>::iterator;

  void run();
  void wait_once();
  void refuse_the_last();
  bool any_left();
  bool accept_one();
  void admit(int descriptor, std::string client);
  bool close_longest_waiting();
  void add(Waiting waiting);
  void advance(uint64_t number);
  void expire();
  std::unique_ptr<HttpSocket> take(Entry entry);
  void refuse_head(std::unique_ptr<HttpSocket> socket, HttpSocket::Head head);

  const HttpOptions& options_;
  const HttpPollerCallbacks callbacks_;
  size_t most_connections_;
  std::atomic<HttpPhase> phase_ = HttpPhase::serving;
  std::atomic<size_t> connections_ = 0;  // before waiting_, whose sockets count down
  int listener_ = -1;
  int epoll_ = -1;
  bool short_of_descriptors_ = false;

  std::mutex mutex_;                     // for all that follows
  std::map<uint64_t, Waiting> waiting_;  // the first has waited the longest
  uint64_t next_ = 1;                    // number of the next one that waits
  bool closed_ = false;
  Clock::time_point next_check_;  // of deadlines; the thread's own

  std::thread thread_;
};

}  // namespace heed::serve
