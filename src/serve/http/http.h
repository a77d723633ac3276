// HTTP/1.1 for whoever answers requests: routes, keys, errors as JSON, streams. Knows nothing of
// models, and hides the library that speaks the protocol.
//
// A request has a thread of its own while it is answered, so a handler may wait; a connection
// without a request has none. What a client may take is bounded: the time to send a request, its
// size, the number of connections and of requests at once.
//
// Ownership: the server owns its routes, threads and sockets. Thread safety: route() only before
// start(); handlers run at the same time in many threads; drain() from any thread, stop() from any
// but a handler's.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
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

// What the access log tells about a request besides HTTP.
struct HttpNotes {
  std::string model = {};
  std::optional<int64_t> tokens_in = {}, tokens_out = {};
  // How a stream ended if not well: its own status has been sent long before.
  std::optional<int> stream_status = {};
};

// Lives until its handler and, after that, the response's stream have returned.
struct HttpRequest {
  std::string id = {};                         // the client's own X-Request-Id, or made here
  std::string method, path, body;              // the path is decoded and has no query
  std::map<std::string, std::string> headers;  // lower-case names; repeated ones joined by ", "
  std::map<std::string, std::string> query;
  std::vector<std::string> path_parts;  // what the pattern's {} matched
  // Whether the client has left, or only closed its sending side; one system call.
  std::function<bool()> gone;
  mutable HttpNotes notes = {};  // filled in by the handler and the stream
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

// Thrown by handlers; becomes {"error":{"message","type","param","code","status","request_id"}}. A
// heed::Error becomes one with status 400, anything else one with status 500. The reason of a 500
// goes to stderr and not to the client.
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
std::string error_json(const HttpError& error, const HttpRequest& request);

// The status of a request whose client left before its answer, as nginx calls it; for the log
// alone.
inline constexpr int kClientGone = 499;

// 16 hexadecimal digits; never the same twice in a process.
std::string new_id();

// A request that was answered or refused, for the access log.
struct HttpAnswer {
  std::chrono::system_clock::time_point time;  // of the end
  std::string client, id;
  std::string method, path;  // empty: none could be read
  int status = 0;
  size_t bytes = 0;      // written, with headers
  double seconds = 0.0;  // since the head was complete
  HttpNotes notes = {};
};

struct HttpOptions {
  std::string host = "127.0.0.1";
  int port = 8080;  // 0: any free one
  // Sent as `Authorization: Bearer KEY` or `x-api-key: KEY`; empty: none wanted.
  std::vector<std::string> keys = {};
  std::string allow_origin = {};  // the other origin (or *) whose pages may call; empty: none
  size_t most_body = size_t{8} << 20;
  // Bytes of all bodies that are there at once: reading them as JSON takes a multiple of it.
  size_t most_bodies = size_t{64} << 20;
  // Open at once, or as many as the process has descriptors for. A new one beyond them takes the
  // place of the one that has been without a request for the longest.
  size_t most_connections = 1024;
  // Answered at once. One more takes the place of one whose client is slow to send its body or to
  // take its answer, or is refused; but a few more without a body are answered: those wait for
  // nobody, and /health is among them.
  size_t most_requests = 256;
  // From the first byte of a request to the end of its head; from there to the end of its body;
  // without a request; without a byte that the client takes.
  double header_seconds = 10, body_seconds = 30, idle_seconds = 15, write_seconds = 30;
  // Called after each request, by many threads; must not wait.
  std::function<void(const HttpAnswer&)> log = {};
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

  // Takes the port, so that a port in use is known before much else is done. Optional.
  void bind();
  // Listens in threads of its own. Error if that cannot be, say because the port is in use.
  void start();

  int port() const;            // the one in use, once bound or started
  size_t connections() const;  // open now

  // Goes on as before, but closes each connection after its next answer, so that clients that keep
  // theirs open go elsewhere. For some time before stop(), if a balancer has to notice.
  void drain();
  bool draining() const;  // since drain() or stop()

  // Takes no more connections, closes those without a running handler and waits for the handlers.
  // A request that comes too late is answered with 503. Who is not finished after `grace_seconds`
  // finds the client gone.
  void stop(double grace_seconds = 10);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace heed::serve
