// Music by HTTP: /v1/music/continue and /v1/music/accompany.
#pragma once

#include "serve/http/http.h"
#include "serve/hub.h"

namespace heed::serve {

// The hub must outlive the server.
void add_music_routes(HttpServer& server, Hub& hub);

}  // namespace heed::serve
