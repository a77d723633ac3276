// The requests of one connection, from its first to its last.
//
// Thread safety: each connection belongs to one thread; the router is shared and const.
#pragma once

#include "serve/http/http.h"
#include "serve/http/http_router.h"
#include "serve/http/http_socket.h"

namespace heed::serve {

// Answers requests until the client leaves, is idle for too long or breaks a rule, or the server
// stops.
void serve_connection(HttpSocket& socket, const HttpRouter& router, const HttpOptions& options);

// Tells the client to come back later.
void refuse_connection(HttpSocket& socket, const HttpRouter& router, const HttpOptions& options);

}  // namespace heed::serve
