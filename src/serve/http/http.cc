#include "serve/http/http.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>

#include "base/error.h"
#include "serve/http/http_connection.h"
#include "serve/http/http_router.h"
#include "serve/http/http_socket.h"

namespace heed::serve {
namespace {

std::string address_text(const HttpOptions& options) {
  const bool is_ipv6 = options.host.find(':') != std::string::npos;
  return (is_ipv6 ? "[" + options.host + "]" : options.host) + ":" + std::to_string(options.port);
}

// A listening socket; the error of the last address tried if there is none.
int listen_on(const HttpOptions& options) {
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
        ::socket(address->ai_family, address->ai_socktype | SOCK_CLOEXEC, address->ai_protocol);
    const int yes = 1;
    if (descriptor >= 0 &&
        ::setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) == 0 &&
        ::bind(descriptor, address->ai_addr, address->ai_addrlen) == 0 &&
        ::listen(descriptor, SOMAXCONN) == 0) {
      return descriptor;
    }
    reason = errno;
    if (descriptor >= 0) {
      ::close(descriptor);
    }
  }
  fail("[http] cannot listen on {}: {}{}", address_text(options),
       std::generic_category().message(reason),
       reason == EADDRINUSE ? "; stop the program that has this port, or choose another one" : "");
}

struct Bound {
  int port = 0;
  bool loopback = false;
};

Bound bound_address(int descriptor) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  check(::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) == 0,
        "[http] cannot tell the port: {}", std::generic_category().message(errno));
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

  void accept_connections();
  void admit(int descriptor);
  void work();
  void serve(int descriptor);

  const HttpOptions options;
  HttpRouter router;
  int listener = -1;
  int port = 0;
  std::thread acceptor;
  std::atomic<bool> stopping = false;
  std::mutex stop_mutex;

  std::mutex mutex;  // for all that follows
  std::condition_variable wake, closed;
  std::deque<int> pending;     // accepted, without a thread
  std::set<HttpSocket*> open;  // with a thread
  size_t connections = 0;      // in both
  size_t idle_threads = 0;
  std::vector<std::thread> threads;  // as many as there were connections at once
};

void HttpServer::State::accept_connections() {
  while (!stopping) {
    const int descriptor = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (descriptor >= 0) {
      admit(descriptor);
    } else if (!stopping && errno != EINTR && errno != ECONNABORTED) {
      // Out of descriptors or memory: clients wait in the system's queue until there are some.
      log_failure("accept", std::generic_category().message(errno));
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }
}

void HttpServer::State::admit(int descriptor) {
  // Events of a stream must not wait for the acknowledgement of the one before.
  const int yes = 1;
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  try {
    const std::lock_guard lock(mutex);
    if (connections < options.most_connections) {
      pending.push_back(descriptor);
      if (pending.size() > idle_threads) {
        try {
          threads.emplace_back([this] { work(); });
        } catch (...) {
          pending.pop_back();
          throw;
        }
      }
      ++connections;
      wake.notify_one();
      return;
    }
  } catch (const std::exception& error) {  // no memory, or no more threads
    log_failure("accept", error.what());
  }
  HttpSocket socket(descriptor, stopping);
  try {
    refuse_connection(socket, router, options);
  } catch (const std::exception& error) {
    log_failure("accept", error.what());
  }
}

void HttpServer::State::work() {
  std::unique_lock lock(mutex);
  for (;;) {
    ++idle_threads;
    wake.wait(lock, [this] { return !pending.empty() || stopping; });
    --idle_threads;
    if (pending.empty()) {
      return;
    }
    const int descriptor = pending.front();
    pending.pop_front();
    lock.unlock();
    serve(descriptor);
    lock.lock();
  }
}

void HttpServer::State::serve(int descriptor) {
  HttpSocket socket(descriptor, stopping);
  try {
    {
      const std::lock_guard lock(mutex);
      open.insert(&socket);
    }
    serve_connection(socket, router, options);
  } catch (const std::exception& error) {
    log_failure("connection", error.what());
  }
  const std::lock_guard lock(mutex);
  open.erase(&socket);
  --connections;
  closed.notify_all();
}

HttpServer::HttpServer(HttpOptions options) {
  check(options.port >= 0 && options.port <= 65535, "[http] port is {}, expected 0 to 65535",
        options.port);
  check(options.most_connections > 0, "[http] most_connections is 0, expected at least 1");
  for (const double seconds : {options.header_seconds, options.body_seconds, options.idle_seconds,
                               options.write_seconds}) {
    check(seconds > 0 && seconds <= 86400, "[http] a time limit is {} seconds, expected 0 to 86400",
          seconds);
  }
  state_ = std::make_unique<State>(std::move(options));
}

HttpServer::~HttpServer() { stop(); }

void HttpServer::route(std::string method, const std::string& pattern, HttpHandler handler,
                       Access access) {
  check(state_->listener < 0, "[http] route {} {} comes after start", method, pattern);
  state_->router.add({.method = std::move(method),
                      .pattern = pattern,
                      .parts = {},
                      .handler = std::move(handler),
                      .access = access});
}

void HttpServer::start() {
  check(state_->listener < 0, "[http] the server was started before");
  state_->listener = listen_on(state_->options);
  const Bound bound = bound_address(state_->listener);
  state_->port = bound.port;
  state_->router.bound_to_loopback(bound.loopback);
  state_->acceptor = std::thread([this] { state_->accept_connections(); });
}

int HttpServer::port() const { return state_->port; }

size_t HttpServer::connections() const {
  const std::lock_guard lock(state_->mutex);
  return state_->connections;
}

void HttpServer::stop(double grace_seconds) {
  const std::lock_guard once(state_->stop_mutex);
  if (!state_->acceptor.joinable()) {
    return;
  }
  state_->stopping = true;
  ::shutdown(state_->listener, SHUT_RDWR);  // wakes accept
  state_->acceptor.join();
  ::close(state_->listener);
  {
    std::unique_lock lock(state_->mutex);
    state_->wake.notify_all();
    for (HttpSocket* socket : state_->open) {
      socket->interrupt();
    }
    const auto none_open = [this] { return state_->connections == 0; };
    if (!state_->closed.wait_for(lock, std::chrono::duration<double>(grace_seconds), none_open)) {
      for (HttpSocket* socket : state_->open) {
        socket->cut();
      }
      state_->closed.wait(lock, none_open);
    }
  }
  for (std::thread& thread : state_->threads) {
    thread.join();
  }
}

}  // namespace heed::serve
