#include "serve/http/http.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <set>
#include <thread>

#include "base/error.h"
#include "serve/http/http_connection.h"
#include "serve/http/http_poller.h"
#include "serve/http/http_router.h"
#include "serve/http/http_socket.h"

namespace heed::serve {
namespace {

// Requests without a body that are answered though there are as many requests as there may be.
constexpr size_t kReserve = 16;
// How long a client may keep its request waiting even if others are refused meanwhile.
constexpr std::chrono::seconds kPatience{1};

std::string address_text(const HttpOptions& options) {
  const bool is_ipv6 = options.host.find(':') != std::string::npos;
  return (is_ipv6 ? "[" + options.host + "]" : options.host) + ":" + std::to_string(options.port);
}

[[noreturn]] void fail_to_listen(const HttpOptions& options, int reason) {
  if (reason == EADDRINUSE) {
    fail(
        "[http] cannot listen on {}: port {} is already in use; choose another one with --port N "
        "(0 picks a free one), or stop the program that uses it",
        address_text(options), options.port);
  }
  fail("[http] cannot listen on {}: {}", address_text(options), system_reason(reason));
}

// A socket with its address; the error of the last address tried if there is none.
int bind_to(const HttpOptions& options) {
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int failed =
      ::getaddrinfo(options.host.c_str(), std::to_string(options.port).c_str(), &hints, &found);
  check(failed == 0, "[http] cannot listen on {}: {}", address_text(options),
        ::gai_strerror(failed));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(found, &::freeaddrinfo);
  int reason = 0;
  for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
    const int descriptor =
        ::socket(address->ai_family, address->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
                 address->ai_protocol);
    const int yes = 1;
    if (descriptor >= 0 &&
        ::setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) == 0 &&
        ::bind(descriptor, address->ai_addr, address->ai_addrlen) == 0) {
      return descriptor;
    }
    reason = errno;
    if (descriptor >= 0) {
      ::close(descriptor);
    }
  }
  fail_to_listen(options, reason);
}

struct Bound {
  int port = 0;
  bool loopback = false;
};

Bound bound_address(int descriptor) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  check(::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) == 0,
        "[http] cannot determine the port: {}", system_reason());
  if (address.ss_family == AF_INET6) {
    const auto& six = reinterpret_cast<const sockaddr_in6&>(address);
    return {ntohs(six.sin6_port), IN6_IS_ADDR_LOOPBACK(&six.sin6_addr) != 0};
  }
  const auto& four = reinterpret_cast<const sockaddr_in&>(address);
  return {ntohs(four.sin_port), (ntohl(four.sin_addr.s_addr) >> 24U) == 127};
}

}  // namespace

struct HttpServer::State {
  explicit State(HttpOptions given) : options(std::move(given)), router(options) {}

  void dispatch(std::unique_ptr<HttpSocket> socket);
  bool enqueue(std::unique_ptr<HttpSocket>& socket);
  bool give_up_slowest_client();
  void refuse(std::unique_ptr<HttpSocket> socket, const HttpError& error);
  void work();
  void serve(std::unique_ptr<HttpSocket> socket);

  const HttpOptions options;
  HttpRouter router;
  HttpBodyBudget bodies{options.most_bodies};
  int listener = -1;  // bound; the poller's once started
  int port = 0;
  bool started = false;
  std::mutex stop_mutex;

  std::mutex mutex;  // for all that follows
  std::condition_variable wake, answered;
  std::deque<std::unique_ptr<HttpSocket>> pending;  // with a request, without a thread
  std::set<HttpSocket*> open;                       // with a thread
  size_t requests = 0;                              // in both
  size_t idle_threads = 0;
  std::vector<std::thread> threads;  // as many as there were requests at once

  HttpPoller poller{
      options,
      {.request = [this](auto socket) { dispatch(std::move(socket)); },
       .refuse = [this](auto socket,
                        const HttpError& error) { refuse(std::move(socket), error); }}};
};

void HttpServer::State::dispatch(std::unique_ptr<HttpSocket> socket) {
  try {
    if (enqueue(socket)) {
      return;
    }
  } catch (const std::exception& error) {  // no memory, or no more threads
    log_failure("request", error.what());
  }
  if (poller.stopping()) {
    refuse(std::move(socket), stopping_error());
    return;
  }
  HttpError error(503, "too many requests are being answered");
  error.retry_after = 1;
  refuse(std::move(socket), error);
}

// Whether there is room; else the socket stays where it is.
bool HttpServer::State::enqueue(std::unique_ptr<HttpSocket>& socket) {
  const size_t most = options.most_requests + (socket->expects_body() ? 0 : kReserve);
  const std::lock_guard lock(mutex);
  if (poller.stopping() || (requests >= most && !give_up_slowest_client())) {
    return false;
  }
  if (pending.size() >= idle_threads && threads.size() < options.most_requests + kReserve) {
    threads.emplace_back([this] { work(); });
  }
  pending.push_back(std::move(socket));
  ++requests;
  wake.notify_one();
  return true;
}

// Makes room by ending the request that has waited the longest for its client, to send the body or
// to take the answer.
bool HttpServer::State::give_up_slowest_client() {
  auto oldest = HttpSocket::Clock::now() - kPatience;
  HttpSocket* slowest = nullptr;
  for (HttpSocket* socket : open) {
    const auto since = socket->stalled_since();
    if (since && *since < oldest) {
      oldest = *since;
      slowest = socket;
    }
  }
  return slowest != nullptr && slowest->give_up();
}

// In the poller's thread, too: what the client does not take at once is lost.
void HttpServer::State::refuse(std::unique_ptr<HttpSocket> socket, const HttpError& error) {
  try {
    refuse_request(*socket, error, router, options);
    poller.drain(std::move(socket));
  } catch (const std::exception& failure) {
    log_failure("connection", failure.what());
  }
}

void HttpServer::State::work() {
  std::unique_lock lock(mutex);
  for (;;) {
    ++idle_threads;
    wake.wait(lock, [this] { return !pending.empty() || poller.stopping(); });
    --idle_threads;
    if (pending.empty()) {
      return;
    }
    std::unique_ptr<HttpSocket> socket = std::move(pending.front());
    pending.pop_front();
    open.insert(socket.get());
    lock.unlock();
    serve(std::move(socket));
    lock.lock();
  }
}

void HttpServer::State::serve(std::unique_ptr<HttpSocket> socket) {
  HttpSocket* const key = socket.get();
  AfterAnswer after = AfterAnswer::close;
  try {
    after = answer_request(*socket, router, options, bodies);
  } catch (const std::exception& error) {
    log_failure("connection", error.what());
  }
  {
    const std::lock_guard lock(mutex);
    open.erase(key);
    --requests;
  }
  try {
    if (after == AfterAnswer::wait) {
      poller.wait_for_request(std::move(socket));
    } else if (after == AfterAnswer::drain) {
      poller.drain(std::move(socket));
    }
  } catch (const std::exception& error) {
    log_failure("connection", error.what());
  }
  answered.notify_all();
}

HttpServer::HttpServer(HttpOptions options) {
  check(options.port >= 0 && options.port <= 65535, "[http] port is {}, expected 0 to 65535",
        options.port);
  check(options.most_connections > 0 && options.most_requests > 0,
        "[http] most_connections is {} and most_requests {}, expected at least 1",
        options.most_connections, options.most_requests);
  for (const double seconds : {options.header_seconds, options.body_seconds, options.idle_seconds,
                               options.write_seconds}) {
    check(seconds > 0 && seconds <= 86400, "[http] a time limit is {} seconds, expected 0 to 86400",
          seconds);
  }
  state_ = std::make_unique<State>(std::move(options));
}

HttpServer::~HttpServer() {
  stop();
  if (!state_->started && state_->listener >= 0) {
    ::close(state_->listener);
  }
}

void HttpServer::route(std::string method, const std::string& pattern, HttpHandler handler,
                       Access access) {
  check(!state_->started, "[http] route {} {} must be added before start()", method, pattern);
  state_->router.add({.method = std::move(method),
                      .pattern = pattern,
                      .parts = {},
                      .handler = std::move(handler),
                      .access = access});
}

void HttpServer::bind() {
  check(state_->listener < 0, "[http] the server is already bound to a port");
  state_->listener = bind_to(state_->options);
  const Bound bound = bound_address(state_->listener);
  state_->port = bound.port;
  state_->router.bound_to_loopback(bound.loopback);
}

void HttpServer::start() {
  check(!state_->started, "[http] the server has already been started");
  if (state_->listener < 0) {
    bind();
  }
  if (::listen(state_->listener, SOMAXCONN) != 0) {
    fail_to_listen(state_->options, errno);
  }
  state_->started = true;
  state_->poller.start(state_->listener);
}

int HttpServer::port() const { return state_->port; }

size_t HttpServer::connections() const { return state_->poller.connections(); }

void HttpServer::drain() { state_->poller.begin_drain(); }

bool HttpServer::draining() const { return state_->poller.draining(); }

void HttpServer::stop(double grace_seconds) {
  const std::lock_guard once(state_->stop_mutex);
  if (!state_->started || state_->poller.stopping()) {
    return;
  }
  state_->poller.begin_stop();
  {
    std::unique_lock lock(state_->mutex);
    state_->wake.notify_all();
    for (HttpSocket* socket : state_->open) {
      socket->interrupt();
    }
    const auto none_left = [this] { return state_->requests == 0; };
    if (!state_->answered.wait_for(lock, std::chrono::duration<double>(grace_seconds), none_left)) {
      for (HttpSocket* socket : state_->open) {
        socket->cut();
      }
      state_->answered.wait(lock, none_left);
    }
  }
  state_->poller.stop();
  for (std::thread& thread : state_->threads) {
    thread.join();
  }
}

}  // namespace heed::serve
