// What OpenAI's clients ask for: /v1/models, /v1/completions, /v1/embeddings.
#pragma once

#include "serve/http/http.h"
#include "serve/hub.h"

namespace heed::serve {

// The hub must outlive the server.
void add_openai_routes(HttpServer& server, Hub& hub);

}  // namespace heed::serve
