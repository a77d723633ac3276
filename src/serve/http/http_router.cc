#include "serve/http/http_router.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"

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

}  // namespace

std::string lower_case(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

void log_failure(std::string_view where, std::string_view what) noexcept {
  try {
    fmt::print(stderr, "[http] {}: {}\n", where, what);
  } catch (...) {  // stderr is closed: there is nobody left to tell
  }
}

std::string error_json(const HttpError& error) {
  const auto or_null = [](const std::string& text) {
    return text.empty() ? nlohmann::json() : nlohmann::json(text);
  };
  const char* type = error.status >= 500   ? "server_error"
                     : error.status == 429 ? "rate_limit_error"
                                           : "invalid_request_error";
  const nlohmann::json json = {{"error",
                                {{"message", error.what()},
                                 {"type", type},
                                 {"param", or_null(error.param)},
                                 {"code", or_null(error.code)},
                                 {"status", error.status}}}};
  // Messages quote what clients sent, which need not be UTF-8.
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

HttpResponse error_response(const HttpError& error) {
  HttpResponse response{
      .status = error.status, .body = error_json(error), .headers = error.headers};
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
          "[http] an API key has a space or a character outside of ASCII, expected none");
    keys_.push_back(padded(key));
  }
}

void HttpRouter::add(Route route) {
  check(route.pattern.starts_with('/'), "[http] route is {}, expected a path that begins with /",
        route.pattern);
  const bool known = std::ranges::any_of(routes_, [&](const Route& other) {
    return other.method == route.method && other.pattern == route.pattern;
  });
  check(!known, "[http] route {} {} is there twice, expected once", route.method, route.pattern);
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
                    key.empty() ? "an API key is needed: send it as `Authorization: Bearer KEY`"
                                : "the API key is not known",
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
                    fmt::format("host is {}, expected localhost: this server is for its own "
                                "machine",
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
                    fmt::format("origin is {}, which is not allowed to use this server", origin),
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
    throw HttpError(404, fmt::format("there is no {}", request.path), {}, "not_found");
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
    return error_response(error);
  } catch (const Error& error) {
    return error_response(HttpError(400, error.what()));
  } catch (const std::exception& error) {
    failure = error.what();
  } catch (...) {  // told below
  }
  log_failure(route.method + " " + route.pattern, failure);
  return error_response(HttpError(500, "the server failed to answer; its log says why"));
}

void HttpRouter::complete(HttpResponse& response) const {
  add_header(response, "X-Content-Type-Options", "nosniff");
  add_header(response, "Referrer-Policy", "no-referrer");
  add_header(response, "X-Frame-Options", "DENY");
  add_header(response, "Cache-Control", "no-store");
  if (response.type.starts_with("text/html") || response.type.starts_with("image/svg")) {
    add_header(response, "Content-Security-Policy", kPagePolicy);
  }
  if (!allow_origin_.empty()) {
    add_header(response, "Access-Control-Allow-Origin", allow_origin_);
    add_header(response, "Access-Control-Expose-Headers", "Retry-After");
    add_header(response, "Vary", "Origin");
  }
}

}  // namespace heed::serve
