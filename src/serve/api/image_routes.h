// Images by HTTP: /v1/image/sample, /v1/image/complete and /v1/image/upscale.
#pragma once

#include "serve/http/http.h"
#include "serve/hub.h"

namespace heed::serve {

// The hub must outlive the server.
void add_image_routes(HttpServer& server, Hub& hub);

}  // namespace heed::serve
