#include "serve/http/http_router.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "base/error.h"
#include "serve/http/access_log.h"

namespace heed::serve {
namespace {

constexpr const char* kPagePolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; media-src 'self' blob:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'";

std::vector<std::string> split_path(std::string_view path) {
  std::vector<std::string> parts;
  for (size_t start = 0; start <= path.size();) {
    const size_t end = std::min(path.find('/', start), path.size());
    parts.emplace_back(path.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

// What the {} of the pattern match, if the path fits it.
std::optional<std::vector<std::string>> match(const std::vector<std::string>& pattern,
                                              const std::vector<std::string>& path) {
  if (pattern.size() != path.size()) {
    return std::nullopt;
  }
  std::vector<std::string> found;
  for (size_t i = 0; i < path.size(); ++i) {
    if (pattern[i] == "{}" && !path[i].empty()) {
      found.push_back(path[i]);
    } else if (pattern[i] != path[i]) {
      return std::nullopt;
    }
  }
  return found;
}

std::string header(const HttpRequest& request, const std::string& name) {
  const auto found = request.headers.find(name);
  return found == request.headers.end() ? std::string() : found->second;
}

void add_header(HttpResponse& response, const std::string& name, const std::string& value) {
  const bool given = std::ranges::any_of(response.headers, [&](const auto& pair) {
    return lower_case(pair.first) == lower_case(name);
  });
  if (!given) {
    response.headers.emplace_back(name, value);
  }
}

// Reasons quote what clients sent: no control character of theirs reaches a log.
std::string one_line(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool control = static_cast<unsigned char>(c) < ' ' || c == '\x7f';
    out += control ? fmt::format("\\x{:02x}", static_cast<unsigned char>(c)) : std::string(1, c);
  }
  return out;
}

}  // namespace

std::string lower_case(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

std::string new_id() {
  static std::atomic<uint64_t> next{std::random_device{}()};
  constexpr uint64_t kScatter = 0x9E3779B97F4A7C15;  // odd, so no two are the same
  return fmt::format("{:016x}", next.fetch_add(1) * kScatter);
}

std::string request_id(const std::map<std::string, std::string>& headers) {
  constexpr size_t kMostId = 128;
  const auto given = headers.find("x-request-id");
  const auto plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view("-_.:").find(c) != std::string_view::npos;
  };
  const bool sound = given != headers.end() && !given->second.empty() &&
                     given->second.size() <= kMostId && std::ranges::all_of(given->second, plain);
  return sound ? given->second : new_id();
}

void log_failure(std::string_view where, std::string_view what) noexcept {
  try {
    fmt::print(stderr, "[http] {}: {}\n", where, one_line(what));
  } catch (...) {  // stderr is closed: there is nobody left to tell
  }
}

void log_failure(const HttpRequest& request, std::string_view what) noexcept {
  try {
    log_failure(
        fmt::format("request {}, {} {}", request.id, request.method, percent_encoded(request.path)),
        what);
  } catch (...) {  // no memory even for a line
  }
}

HttpError stopping_error() {
  HttpError error(503, "the server is stopping", {}, "stopping");
  error.retry_after = 1;
  return error;
}

std::string error_json(const HttpError& error, const HttpRequest& request) {
  const bool internal = error.status == 500;
  if (internal) {
    log_failure(request, error.what());
  }
  const auto or_null = [](const std::string& text) {
    return text.empty() ? nlohmann::json() : nlohmann::json(text);
  };
  const char* type = error.status >= 500   ? "server_error"
                     : error.status == 429 ? "rate_limit_error"
                                           : "invalid_request_error";
  const std::string message =
      internal ? "internal error; the server's log gives the reason for this request_id"
               : std::string(error.what());
  const nlohmann::json json = {{"error",
                                {{"message", message},
                                 {"type", type},
                                 {"param", or_null(error.param)},
                                 {"code", or_null(error.code)},
                                 {"status", error.status},
                                 {"request_id", request.id}}}};
  // Messages quote what clients sent, which need not be UTF-8.
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

HttpResponse error_response(const HttpError& error, const HttpRequest& request) {
  HttpResponse response{
      .status = error.status, .body = error_json(error, request), .headers = error.headers};
  if (error.retry_after) {
    response.headers.emplace_back("Retry-After", std::to_string(*error.retry_after));
  }
  return response;
}

HttpRouter::HttpRouter(const HttpOptions& options)
    : host_(lower_case(options.host)), allow_origin_(options.allow_origin) {
  for (const std::string& key : options.keys) {
    check(!key.empty() && key.size() <= kMostKey,
          "[http] an API key has {} bytes, expected 1 to {}", key.size(), kMostKey);
    check(std::ranges::all_of(key, [](char c) { return c > ' ' && c < '\x7f'; }),
          "[http] an API key contains a space, a control character or a non-ASCII character, "
          "expected none");
    keys_.push_back(padded(key));
  }
  const size_t scheme = allow_origin_.find("://");
  check(allow_origin_.empty() || allow_origin_ == "*" ||
            (scheme != std::string::npos && scheme > 0 && allow_origin_.size() > scheme + 3 &&
             allow_origin_.find_first_of("/ ,", scheme + 3) == std::string::npos),
        "[http] allow_origin is {}, expected * or an origin such as https://example.org, without a "
        "path",
        allow_origin_);
}

void HttpRouter::add(Route route) {
  check(route.pattern.starts_with('/'), "[http] route is {}, expected a path that starts with /",
        route.pattern);
  const bool known = std::ranges::any_of(routes_, [&](const Route& other) {
    return other.method == route.method && other.pattern == route.pattern;
  });
  check(!known, "[http] route {} {} is registered twice", route.method, route.pattern);
  route.parts = split_path(route.pattern);
  routes_.push_back(std::move(route));
}

HttpRouter::Key HttpRouter::padded(std::string_view text) {
  Key key{.size = text.size()};
  std::copy_n(text.begin(), std::min(text.size(), kMostKey), key.bytes.begin());
  return key;
}

// Takes the same time whatever is different and however long the keys are.
bool HttpRouter::known_key(std::string_view text) const {
  const Key given = padded(text);
  unsigned found = 0;
  for (const Key& key : keys_) {
    size_t different = key.size ^ given.size;
    for (size_t i = 0; i < kMostKey; ++i) {
      different |= static_cast<size_t>(key.bytes[i] ^ given.bytes[i]);
    }
    found |= static_cast<unsigned>(different == 0);
  }
  return found != 0;
}

void HttpRouter::check_key(const HttpRequest& request) const {
  if (keys_.empty()) {
    return;
  }
  std::string key = header(request, "x-api-key");
  const std::string authorization = header(request, "authorization");
  constexpr std::string_view kBearer = "bearer ";
  if (lower_case(std::string_view(authorization).substr(0, kBearer.size())) == kBearer) {
    key = authorization.substr(kBearer.size());
  }
  if (!known_key(key)) {
    HttpError error(401,
                    key.empty() ? "an API key is required; send it as `Authorization: Bearer KEY`"
                                : "the API key is invalid",
                    {}, "invalid_api_key");
    error.headers = {{"WWW-Authenticate", "Bearer"}};
    throw error;
  }
}

void HttpRouter::check_host(const HttpRequest& request) const {
  const auto given = request.headers.find("host");
  if (!loopback_ || given == request.headers.end()) {
    return;
  }
  std::string host = lower_case(given->second);
  const size_t colon = host.rfind(':');
  if (colon != std::string::npos && host.find(']', colon) == std::string::npos) {
    host.resize(colon);
  }
  if (host != "localhost" && host != "127.0.0.1" && host != "[::1]" && host != host_) {
    throw HttpError(403,
                    fmt::format("host is {}, expected localhost, because this server only serves "
                                "its own machine",
                                given->second),
                    {}, "host_refused");
  }
}

// Browsers send along an origin when a page posts. Without this check any page could use the
// server of whoever looks at it, even though it could not read the answer.
void HttpRouter::check_origin(const HttpRequest& request) const {
  const std::string origin = header(request, "origin");
  if (origin.empty() || request.method == "GET" || request.method == "HEAD" ||
      allow_origin_ == "*" || origin == allow_origin_) {
    return;
  }
  const std::string host = header(request, "host");
  if (origin != "http://" + host && origin != "https://" + host) {
    throw HttpError(403,
                    fmt::format("origin {} may not use this server; see --allow-origin", origin),
                    {}, "origin_refused");
  }
}

const HttpRouter::Route& HttpRouter::admit(HttpRequest& request) const {
  check_host(request);
  check_origin(request);
  const std::vector<std::string> path = split_path(request.path);
  std::set<std::string> methods;
  for (const Route& route : routes_) {
    auto parts = match(route.parts, path);
    if (!parts) {
      continue;
    }
    if (route.method == request.method || (route.method == "GET" && request.method == "HEAD")) {
      if (route.access == Access::key) {
        check_key(request);
      }
      request.path_parts = std::move(*parts);
      return route;
    }
    methods.insert(route.method);
    if (route.method == "GET") {
      methods.insert("HEAD");
    }
  }
  if (methods.empty()) {
    throw HttpError(404, fmt::format("there is no route {}", request.path), {}, "not_found");
  }
  std::string allowed;
  for (const std::string& method : methods) {
    allowed += (allowed.empty() ? "" : ", ") + method;
  }
  HttpError error(405, fmt::format("method is {}, expected {}", request.method, allowed), {},
                  "method_not_allowed");
  error.headers = {{"Allow", allowed}};
  throw error;
}

bool HttpRouter::is_preflight(const HttpRequest& request) const {
  return !allow_origin_.empty() && request.method == "OPTIONS";
}

HttpResponse HttpRouter::preflight() const {
  // The star does not stand for Authorization.
  return {.status = 204,
          .headers = {{"Access-Control-Allow-Methods", "GET, HEAD, POST, OPTIONS"},
                      {"Access-Control-Allow-Headers", "Authorization, *"},
                      {"Access-Control-Max-Age", "600"}}};
}

HttpResponse HttpRouter::answer(const Route& route, const HttpRequest& request) const {
  std::string failure = "an exception of unknown type";
  try {
    return route.handler(request);
  } catch (const HttpError& error) {
    return error_response(error, request);
  } catch (const Error& error) {
    return error_response(HttpError(400, error.what()), request);
  } catch (const std::exception& error) {
    failure = error.what();
  } catch (...) {  // told below
  }
  return error_response(HttpError(500, failure), request);
}

void HttpRouter::complete(HttpResponse& response, const std::string& request_id) const {
  add_header(response, "X-Request-Id", request_id);
  add_header(response, "X-Content-Type-Options", "nosniff");
  add_header(response, "Referrer-Policy", "no-referrer");
  add_header(response, "X-Frame-Options", "DENY");
  add_header(response, "Cache-Control", "no-store");
  if (response.type.starts_with("text/html") || response.type.starts_with("image/svg")) {
    add_header(response, "Content-Security-Policy", kPagePolicy);
  }
  if (!allow_origin_.empty()) {
    add_header(response, "Access-Control-Allow-Origin", allow_origin_);
    add_header(response, "Access-Control-Expose-Headers", "Retry-After, X-Request-Id");
    add_header(response, "Vary", "Origin");
  }
}

}  // namespace heed::serve
