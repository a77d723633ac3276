// Between a request that came by HTTP and the engine that works on it.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "serve/http/http.h"
#include "serve/hub.h"

namespace heed::serve {

// Of texts that are cut to what the model reads, or refused once their tokens are counted.
inline constexpr size_t kMostTextBytes = size_t{1} << 20;

// Into the engine's queue; an HttpError if there is no room (429), the server stops (503) or it
// asks for too much (400).
void submit(const HttpRequest& request, const ServedModel& model,
            std::vector<std::shared_ptr<Job>> jobs);
void submit(const HttpRequest& request, const ServedModel& model, const std::shared_ptr<Job>& job);

// Calls told() with every event until all `jobs` of the reply are done, and counts their tokens for
// the access log. If one fails, or told() returns false, or the client leaves, the others are
// cancelled. An HttpError says what failed; the client's leaving is one too, for the log alone.
void follow(const HttpRequest& request, Reply& reply, size_t jobs,
            const std::function<bool(const Event&)>& told = {});

// {"data": ...} as a server-sent event.
std::string as_event(const Json& data);

// Streams what `told` makes of events: JSON for the client, or null. At the end comes what `last`
// makes. Waits for the first event; an HttpError if it says that the request failed. Errors after
// that become an event as well.
struct EventStream {
  std::shared_ptr<Reply> reply;
  size_t jobs = 1;
  std::function<Json(const Event&)> told;
  std::function<std::vector<std::string>()> last;  // events as texts
};
HttpResponse stream_events(const HttpRequest& request, EventStream stream);

// The answer to a request with one job, once that is done: a body or, if a stream is wanted, its
// last event, after those that `progress` makes of how far the job is.
struct JobAnswer {
  std::shared_ptr<Reply> reply;
  bool stream = false;
  std::function<Json(const Progress&)> progress;
  std::function<Json()> answer;
};
HttpResponse answer_job(const HttpRequest& request, const JobAnswer& job);

HttpResponse json_response(const Json& json);

// Little-endian 32-bit floats in base64.
std::string floats_in_base64(std::span<const float> values);

// The bytes of a field in base64; an HttpError that names it for anything else.
std::string bytes_of(JsonRequest& request, const std::string& field);

}  // namespace heed::serve
