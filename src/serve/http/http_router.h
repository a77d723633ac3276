// Which handler answers a request, who may ask, and what every answer carries: keys, the checks
// against foreign web pages, errors as JSON, security headers.
//
// Thread safety: const once the server has started.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "serve/http/http.h"

namespace heed::serve {

class HttpRouter {
 public:
  struct Route {
    std::string method, pattern;
    std::vector<std::string> parts;  // of the pattern
    HttpHandler handler;
    Access access;
  };

  explicit HttpRouter(const HttpOptions& options);

  void add(Route route);

  // A server that only this machine reaches must also not be reached by a web page whose name was
  // made to resolve to this machine.
  void bound_to_loopback(bool loopback) { loopback_ = loopback; }

  // The route of a request whose body has not been read, with path_parts filled in. HttpError if
  // there is none or the client may not ask.
  const Route& admit(HttpRequest& request) const;

  // A browser's question before it sends a request of another origin's page.
  bool is_preflight(const HttpRequest& request) const;
  HttpResponse preflight() const;

  // Never throws: what the handler throws becomes an error response.
  HttpResponse answer(const Route& route, const HttpRequest& request) const;

  // Adds the headers that every answer carries.
  void complete(HttpResponse& response, const std::string& request_id) const;

 private:
  static constexpr size_t kMostKey = 256;
  struct Key {
    std::array<unsigned char, kMostKey> bytes = {};
    size_t size = 0;
  };

  static Key padded(std::string_view text);
  bool known_key(std::string_view text) const;
  void check_host(const HttpRequest& request) const;
  void check_origin(const HttpRequest& request) const;
  void check_key(const HttpRequest& request) const;

  std::vector<Route> routes_;
  std::vector<Key> keys_;
  std::string host_, allow_origin_;
  bool loopback_ = false;
};

HttpResponse error_response(const HttpError& error, const HttpRequest& request);
HttpError stopping_error();

std::string lower_case(std::string_view text);  // of ASCII

// The client's X-Request-Id if it is short and plain enough to be repeated and logged, or a new id.
std::string request_id(const std::map<std::string, std::string>& headers);

// One line on stderr about a failure that the client is not told of.
void log_failure(std::string_view where, std::string_view what) noexcept;
void log_failure(const HttpRequest& request, std::string_view what) noexcept;

}  // namespace heed::serve
