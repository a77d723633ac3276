// HTTP/1.1 for whoever answers requests: routes, keys, errors as JSON, streams. Knows nothing of
// models, and hides the library that speaks the protocol.
//
// Every connection has a thread of its own while it is open, so a handler may wait. What a client
// may take is bounded: the time to send a request, its size, the number of connections.
//
// Ownership: the server owns its routes, threads and sockets. Thread safety: route() only before
// start(); handlers run at the same time in many threads; stop() from any thread but a handler's.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heed::serve {

// Lives until its handler and, after that, the response's stream have returned.
struct HttpRequest {
  std::string method, path, body;              // the path is decoded and has no query
  std::map<std::string, std::string> headers;  // lower-case names; repeated ones joined by ", "
  std::map<std::string, std::string> query;
  std::vector<std::string> path_parts;  // what the pattern's {} matched
  // Whether the client has left, or only closed its sending side; one system call.
  std::function<bool()> gone;
};

// Writes a piece of a body; an empty one only asks. false: the client has left, so stop.
using Writer = std::function<bool(std::string_view)>;

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpResponse {
  int status = 200;
  std::string type = "application/json";
  std::string body = {};
  HttpHeaders headers = {};
  // Instead of a body. An exception cuts the connection, so that the client sees that the body is
  // incomplete.
  std::function<void(const Writer&)> stream = {};
};

// Thrown by handlers; becomes {"error":{"message","type","param","code","status"}}. A heed::Error
// becomes one with status 400; anything else is logged and becomes a 500 that tells nothing.
struct HttpError : std::runtime_error {
  HttpError(int status, const std::string& message, std::string param = {}, std::string code = {})
      : std::runtime_error(message),
        status(status),
        param(std::move(param)),
        code(std::move(code)) {}

  int status;
  std::string param, code;              // empty: null
  std::optional<int> retry_after = {};  // seconds
  HttpHeaders headers = {};
};

// The JSON text of an error, for streams, whose status has long been sent.
std::string error_json(const HttpError& error);

struct HttpOptions {
  std::string host = "127.0.0.1";
  int port = 8080;  // 0: any free one
  // Sent as `Authorization: Bearer KEY` or `x-api-key: KEY`; empty: none wanted.
  std::vector<std::string> keys = {};
  std::string allow_origin = {};  // the other origin (or *) whose pages may call; empty: none
  size_t most_body = size_t{8} << 20;
  size_t most_connections = 256;
  // From the first byte of a request to the end of its head; from there to the end of its body;
  // without a request; without a byte that the client takes.
  double header_seconds = 10, body_seconds = 30, idle_seconds = 15, write_seconds = 30;
};

enum class Access { key, open };  // whether a route asks for a key when there are keys

using HttpHandler = std::function<HttpResponse(const HttpRequest&)>;

class HttpServer {
 public:
  explicit HttpServer(HttpOptions options);
  ~HttpServer();  // stops
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // A {} in the pattern stands for one part of the path: "/v1/runs/{}". A GET route also answers
  // HEAD. The first of several patterns that fit a path counts.
  void route(std::string method, const std::string& pattern, HttpHandler handler,
             Access access = Access::key);

  // Listens in threads of its own. Error if that cannot be, say because the port is taken.
  void start();

  int port() const;            // the one in use, once started
  size_t connections() const;  // open now

  // Takes no more connections, closes those without a running handler and waits for the handlers.
  // Who is not finished after `grace_seconds` finds the client gone.
  void stop(double grace_seconds = 10);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace heed::serve
