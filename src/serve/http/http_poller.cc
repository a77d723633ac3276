#include "serve/http/http_poller.h"

#include <fmt/core.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>
#include <vector>

#include "base/error.h"
#include "serve/http/http_router.h"

namespace heed::serve {
namespace {

constexpr double kDrainSeconds = 1;
constexpr uint64_t kListener = 0;   // its number among those of connections
constexpr int kAcceptsAtOnce = 64;  // before others get their turn
constexpr size_t kOtherFiles = 64;  // descriptors that are left to the rest of the program
constexpr size_t kLeastConnections = 16;

HttpSocket::Clock::duration duration_of(double seconds) {
  return std::chrono::duration_cast<HttpSocket::Clock::duration>(
      std::chrono::duration<double>(seconds));
}

// So many that accepting them never takes the last descriptor of the process.
size_t connections_with_descriptors(size_t most) {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= most + kOtherFiles) {
    return most;
  }
  const size_t left = limit.rlim_cur > kOtherFiles ? limit.rlim_cur - kOtherFiles : 0;
  return std::min(most, std::max(left, kLeastConnections));
}

std::string address_of(const sockaddr_storage& address, socklen_t size) {
  std::array<char, NI_MAXHOST> text = {};
  const int failed = ::getnameinfo(reinterpret_cast<const sockaddr*>(&address), size, text.data(),
                                   text.size(), nullptr, 0, NI_NUMERICHOST);
  return failed == 0 ? text.data() : "unknown";
}

void watch(int epoll, int descriptor, uint64_t number) {
  epoll_event event = {};
  event.events = EPOLLIN;
  event.data.u64 = number;
  check(::epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) == 0,
        "[http] cannot wait for a connection: {}", system_reason());
}

}  // namespace

HttpPoller::HttpPoller(const HttpOptions& options, HttpPollerCallbacks callbacks)
    : options_(options),
      callbacks_(std::move(callbacks)),
      most_connections_(connections_with_descriptors(options.most_connections)) {}

HttpPoller::~HttpPoller() {
  stop();
  if (epoll_ >= 0) {
    ::close(epoll_);
  }
}

void HttpPoller::start(int listener) {
  listener_ = listener;
  epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  check(epoll_ >= 0, "[http] cannot wait for connections: {}", system_reason());
  watch(epoll_, listener_, kListener);
  thread_ = std::thread([this] { run(); });
}

void HttpPoller::begin_drain() {
  HttpPhase serving = HttpPhase::serving;
  phase_.compare_exchange_strong(serving, HttpPhase::draining);
}

void HttpPoller::begin_stop() {
  if (phase_.exchange(HttpPhase::stopping) != HttpPhase::stopping && listener_ >= 0) {
    ::shutdown(listener_, SHUT_RDWR);  // wakes the thread
  }
}

void HttpPoller::stop() {
  begin_stop();
  if (thread_.joinable()) {
    thread_.join();
  }
  if (listener_ >= 0) {
    ::close(std::exchange(listener_, -1));
  }
  const std::lock_guard lock(mutex_);
  closed_ = true;
  waiting_.clear();
}

void HttpPoller::run() {
  const auto guarded = [](const auto& step) {
    try {
      step();
    } catch (const std::exception& error) {  // no memory, most likely
      log_failure("connection", error.what());
    }
  };
  next_check_ = Clock::now();
  while (!stopping()) {
    guarded([&] { wait_once(); });
  }
  ::epoll_ctl(epoll_, EPOLL_CTL_DEL, listener_, nullptr);
  guarded([&] { refuse_the_last(); });
  while (any_left()) {
    guarded([&] { wait_once(); });
  }
}

// Requests whose head has come while the server began to stop are answered; other connections are
// closed. Later on add() lets nobody in but who waits for the client to close.
void HttpPoller::refuse_the_last() {
  std::vector<std::unique_ptr<HttpSocket>> late;
  {
    const std::lock_guard lock(mutex_);
    for (Entry next = waiting_.begin(); next != waiting_.end();) {
      const Entry entry = next++;
      if (entry->second.drains) {
        continue;
      }
      if (entry->second.socket->read_head() == HttpSocket::Head::complete) {
        late.push_back(take(entry));
      } else {
        waiting_.erase(entry);
      }
    }
  }
  for (std::unique_ptr<HttpSocket>& socket : late) {
    callbacks_.request(std::move(socket));
  }
}

// Whether there are clients that read their last answer; if not, nobody may join them any more.
bool HttpPoller::any_left() {
  const std::lock_guard lock(mutex_);
  closed_ = waiting_.empty();
  return !closed_;
}

void HttpPoller::wait_once() {
  std::array<epoll_event, 64> events;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(next_check_ - Clock::now());
  const int count = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()),
                                 static_cast<int>(std::max<decltype(left)::rep>(left.count(), 0)));
  for (int i = 0; i < count; ++i) {
    const uint64_t number = events[static_cast<size_t>(i)].data.u64;
    if (number != kListener) {
      advance(number);
      continue;
    }
    for (int n = 0; n < kAcceptsAtOnce && !stopping() && accept_one(); ++n) {
    }
  }
  if (Clock::now() >= next_check_) {
    expire();
  }
}

// Whether there may be more.
bool HttpPoller::accept_one() {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  const int descriptor = ::accept4(listener_, reinterpret_cast<sockaddr*>(&address), &size,
                                   SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (descriptor >= 0) {
    short_of_descriptors_ = false;
    admit(descriptor, address_of(address, size));
    return true;
  }
  if (errno == ECONNABORTED || errno == EINTR) {
    return true;
  }
  if (stopping() || errno == EAGAIN || errno == EWOULDBLOCK) {
    return false;
  }
  // Out of descriptors or memory: clients wait in the system's queue until there are some.
  if (!std::exchange(short_of_descriptors_, true)) {
    log_failure("accept", system_reason());
  }
  if (!close_longest_waiting()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

void HttpPoller::admit(int descriptor, std::string client) {
  // Events of a stream must not wait for the acknowledgement of the one before.
  const int yes = 1;
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  const bool crowded = connections_ >= most_connections_ && !close_longest_waiting();
  auto socket = std::make_unique<HttpSocket>(descriptor, std::move(client), phase_, connections_);
  if (crowded) {
    HttpError error(503, "too many connections are open");
    error.retry_after = 1;
    callbacks_.refuse(std::move(socket), error);
    return;
  }
  add({.socket = std::move(socket), .deadline = Clock::now() + duration_of(options_.idle_seconds)});
}

// Makes room for a connection that may have more to say.
bool HttpPoller::close_longest_waiting() {
  const std::lock_guard lock(mutex_);
  if (waiting_.empty()) {
    return false;
  }
  waiting_.erase(waiting_.begin());
  return true;
}

void HttpPoller::add(Waiting waiting) {
  const std::lock_guard lock(mutex_);
  if (closed_ || (stopping() && !waiting.drains)) {
    return;
  }
  const uint64_t number = next_++;
  const Entry entry = waiting_.emplace(number, std::move(waiting)).first;
  try {
    watch(epoll_, entry->second.socket->descriptor(), number);
  } catch (...) {
    waiting_.erase(entry);
    throw;
  }
}

void HttpPoller::wait_for_request(std::unique_ptr<HttpSocket> socket) {
  socket->begin_request();
  const HttpSocket::Head head = socket->read_head();  // which may have come already
  if (head == HttpSocket::Head::complete) {
    callbacks_.request(std::move(socket));
  } else if (head != HttpSocket::Head::incomplete) {
    refuse_head(std::move(socket), head);
  } else {
    const bool begun = socket->begun();
    add({.socket = std::move(socket),
         .deadline =
             Clock::now() + duration_of(begun ? options_.header_seconds : options_.idle_seconds),
         .begun = begun});
  }
}

void HttpPoller::drain(std::unique_ptr<HttpSocket> socket) {
  socket->begin_drain();
  add({.socket = std::move(socket),
       .deadline = Clock::now() + duration_of(kDrainSeconds),
       .drains = true});
}

std::unique_ptr<HttpSocket> HttpPoller::take(Entry entry) {
  std::unique_ptr<HttpSocket> socket = std::move(entry->second.socket);
  ::epoll_ctl(epoll_, EPOLL_CTL_DEL, socket->descriptor(), nullptr);
  waiting_.erase(entry);
  return socket;
}

// Something has come from a connection, or its end.
void HttpPoller::advance(uint64_t number) {
  std::unique_ptr<HttpSocket> socket;
  HttpSocket::Head head = HttpSocket::Head::closed;
  {
    const std::lock_guard lock(mutex_);
    const Entry entry = waiting_.find(number);
    if (entry == waiting_.end()) {  // closed meanwhile
      return;
    }
    Waiting& waiting = entry->second;
    if (waiting.drains && waiting.socket->discard()) {
      return;
    }
    head = waiting.drains ? HttpSocket::Head::closed : waiting.socket->read_head();
    if (head == HttpSocket::Head::incomplete) {
      if (!waiting.begun && waiting.socket->begun()) {
        waiting.begun = true;
        waiting.deadline = Clock::now() + duration_of(options_.header_seconds);
      }
      return;
    }
    socket = take(entry);
  }
  if (head == HttpSocket::Head::complete) {
    callbacks_.request(std::move(socket));
  } else {
    refuse_head(std::move(socket), head);
  }
}

void HttpPoller::refuse_head(std::unique_ptr<HttpSocket> socket, HttpSocket::Head head) {
  if (head == HttpSocket::Head::large) {
    callbacks_.refuse(std::move(socket), HttpError(431, "the request head is too large"));
  } else if (head == HttpSocket::Head::malformed) {
    callbacks_.refuse(std::move(socket), HttpError(400, "this is not an HTTP request"));
  }  // else the client has closed, and so does this side
}

// Closes who has waited for too long, after a word to those who were in the middle of a request.
void HttpPoller::expire() {
  std::vector<std::unique_ptr<HttpSocket>> slow;
  {
    const std::lock_guard lock(mutex_);
    const Clock::time_point now = Clock::now();
    // Whoever comes after this check has at least so long.
    next_check_ =
        now +
        duration_of(std::min({options_.idle_seconds, options_.header_seconds, kDrainSeconds}));
    for (Entry next = waiting_.begin(); next != waiting_.end();) {
      const Entry entry = next++;
      const Waiting& waiting = entry->second;
      if (waiting.deadline > now) {
        next_check_ = std::min(next_check_, waiting.deadline);
      } else if (waiting.begun && !waiting.drains) {
        slow.push_back(take(entry));
      } else {
        waiting_.erase(entry);
      }
    }
  }
  for (std::unique_ptr<HttpSocket>& socket : slow) {
    callbacks_.refuse(std::move(socket),
                      HttpError(408, fmt::format("the request head took more than {} seconds",
                                                 options_.header_seconds)));
  }
}

}  // namespace heed::serve
