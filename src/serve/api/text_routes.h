// What Heed's text models are asked besides OpenAI's routes: /v1/attention, /v1/classify, /v1/fill,
// and LibreTranslate's /translate and /languages.
#pragma once

#include "serve/http/http.h"
#include "serve/hub.h"

namespace heed::serve {

// The hub must outlive the server.
void add_text_routes(HttpServer& server, Hub& hub);
void add_translate_routes(HttpServer& server, Hub& hub);

}  // namespace heed::serve
