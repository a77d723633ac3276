// One request of a connection, from its body to the end of the answer.
//
// Thread safety: each socket belongs to one thread; the router is shared and const.
#pragma once

#include "serve/http/http.h"
#include "serve/http/http_body.h"
#include "serve/http/http_router.h"
#include "serve/http/http_socket.h"

namespace heed::serve {

enum class AfterAnswer { wait, drain, close };  // for the next request; see HttpSocket

// Answers the request whose head the socket has read; its body counts to the budget meanwhile.
AfterAnswer answer_request(HttpSocket& socket, const HttpRouter& router, const HttpOptions& options,
                           HttpBodyBudget& budget);

// Answers with an error, whatever was asked; does not wait for the client to take it.
void refuse_request(HttpSocket& socket, const HttpError& error, const HttpRouter& router,
                    const HttpOptions& options);

}  // namespace heed::serve
