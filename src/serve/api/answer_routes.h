// POST /v1/answer: answers to questions about stories.
#pragma once

#include "serve/http/http.h"
#include "serve/hub.h"

namespace heed::serve {

void add_answer_routes(HttpServer& server, Hub& hub);

}  // namespace heed::serve
