#include "serve/api/exchange.h"

#include <bit>
#include <chrono>

#include "base/encoding/base64.h"

namespace heed::serve {
namespace {

// How long a client's leaving may go unnoticed.
constexpr std::chrono::milliseconds kLook{100};
constexpr int kRetrySeconds = 1;

HttpError stops_before_its_turn(const std::string& message) {
  HttpError error(503, message, {}, "stopping");
  error.retry_after = kRetrySeconds;
  return error;
}

HttpError failure(const Failed& failed) {
  switch (failed.fault) {
    case Fault::request:
      return HttpError(400, failed.message, {}, "invalid_value");
    case Fault::stopping:
      return stops_before_its_turn(failed.message);
    default:
      return HttpError(500, failed.message, {}, "engine");
  }
}

void note_tokens(HttpNotes& notes, const Done& done) {
  notes.tokens_in = notes.tokens_in.value_or(0) + done.tokens_in;
  notes.tokens_out = notes.tokens_out.value_or(0) + done.tokens_out;
}

// Until the work has begun, or the request has failed: then the answer has the status of an error,
// and who is in front of the server may repeat the request elsewhere.
void wait_for_begin(const HttpRequest& request, Reply& reply) {
  std::optional<Event> event;
  while (!(event = reply.next(kLook))) {
    if (request.gone()) {
      reply.cancel();
      throw HttpError(kClientGone, "the client disconnected");
    }
  }
  if (const Failed* failed = std::get_if<Failed>(&event->what)) {
    reply.cancel();
    throw failure(*failed);
  }
  reply.put_back(*std::move(event));
}

}  // namespace

void submit(const HttpRequest& request, const ServedModel& model,
            std::vector<std::shared_ptr<Job>> jobs) {
  request.notes.model = model.name;
  try {
    model.engine->submit(std::move(jobs));
  } catch (const QueueFull& full) {
    HttpError error(429, full.what(), {}, "queue_full");
    error.retry_after = kRetrySeconds;
    throw error;
  } catch (const EngineStopping& stopping) {
    throw stops_before_its_turn(stopping.what());
  }
}

void submit(const HttpRequest& request, const ServedModel& model, const std::shared_ptr<Job>& job) {
  submit(request, model, std::vector<std::shared_ptr<Job>>{job});
}

void follow(const HttpRequest& request, Reply& reply, size_t jobs,
            const std::function<bool(const Event&)>& told) {
  try {
    while (jobs > 0) {
      const std::optional<Event> event = reply.next(kLook);
      if (request.gone()) {
        throw HttpError(kClientGone, "the client disconnected");
      }
      if (!event) {
        continue;
      }
      if (const Failed* failed = std::get_if<Failed>(&event->what)) {
        throw failure(*failed);
      }
      if (told && !told(*event)) {
        throw HttpError(kClientGone, "the client disconnected");
      }
      if (const Done* done = std::get_if<Done>(&event->what)) {
        note_tokens(request.notes, *done);
        --jobs;
      }
    }
  } catch (...) {
    reply.cancel();
    throw;
  }
}

std::string as_event(const Json& data) { return "data: " + to_text(data) + "\n\n"; }

HttpResponse stream_events(const HttpRequest& request, EventStream stream) {
  wait_for_begin(request, *stream.reply);
  HttpResponse response;
  response.type = "text/event-stream";
  response.headers = {{"X-Accel-Buffering", "no"}};
  // If nobody ever streams it, as when the client has left already, nobody waits for it.
  const std::shared_ptr<Reply> cancelled(stream.reply.get(),
                                         [reply = stream.reply](Reply*) { reply->cancel(); });
  response.stream = [&request, cancelled, stream = std::move(stream)](const Writer& write) {
    try {
      follow(request, *stream.reply, stream.jobs, [&](const Event& event) {
        const Json data = stream.told(event);
        return write(data.is_null() ? std::string() : as_event(data));
      });
      for (const std::string& each : stream.last()) {
        write(each);
      }
    } catch (const HttpError& error) {
      request.notes.stream_status = error.status;
      if (error.status != kClientGone) {
        write("data: " + error_json(error, request) + "\n\n");
      }
    }
  };
  return response;
}

HttpResponse answer_job(const HttpRequest& request, const JobAnswer& job) {
  if (!job.stream) {
    follow(request, *job.reply, 1);
    return json_response(job.answer());
  }
  return stream_events(
      request, {.reply = job.reply,
                .jobs = 1,
                .told = [tell = job.progress](const Event& event) -> Json {
                  const Progress* progress = std::get_if<Progress>(&event.what);
                  return progress == nullptr ? Json() : tell(*progress);
                },
                .last =
                    [answer = job.answer] {
                      return std::vector<std::string>{as_event(answer()), "data: [DONE]\n\n"};
                    }});
}

HttpResponse json_response(const Json& json) {
  HttpResponse response;
  response.body = to_text(json);
  return response;
}

std::string floats_in_base64(std::span<const float> values) {
  static_assert(std::endian::native == std::endian::little);
  return base64({reinterpret_cast<const char*>(values.data()), values.size_bytes()});
}

std::string bytes_of(JsonRequest& request, const std::string& field) {
  const std::string text = request.text(field);
  std::optional<std::string> bytes = from_base64(text);
  if (!bytes) {
    refuse(field, shown(Json(text)), "base64");
  }
  return *std::move(bytes);
}

}  // namespace heed::serve
