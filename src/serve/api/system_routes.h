// What operators and browsers ask for: /health, /ready, /metrics, and files that are part of the
// program.
#pragma once

#include <span>
#include <string_view>

#include "serve/http/http.h"
#include "serve/hub.h"

namespace heed::serve {

// The hub must outlive the server.
void add_system_routes(HttpServer& server, Hub& hub);

// A file that the program carries; its path begins with "/".
struct StaticFile {
  std::string_view path, bytes;
};
// /studio/index.html is also /. The files must outlive the server.
void add_static_routes(HttpServer& server, std::span<const StaticFile> files);

}  // namespace heed::serve
