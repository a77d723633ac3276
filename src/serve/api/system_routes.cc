#include "serve/api/system_routes.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <functional>

#include "base/error.h"
#include "serve/api/exchange.h"
#include "serve/http/http_router.h"

namespace heed::serve {
namespace {

struct Metric {
  const char* name;
  const char* type;
  const char* help;
  std::function<double(const EngineCounters&)> value;
};

const std::array<Metric, 7>& metrics() {
  static const std::array<Metric, 7> kMetrics{{
      {"heed_prompt_tokens_total", "counter", "Prompt tokens processed.",
       [](const EngineCounters& c) { return static_cast<double>(c.tokens_in); }},
      {"heed_generated_tokens_total", "counter", "Tokens generated.",
       [](const EngineCounters& c) { return static_cast<double>(c.tokens_out); }},
      {"heed_turns_total", "counter", "Engine steps.",
       [](const EngineCounters& c) { return static_cast<double>(c.turns); }},
      {"heed_turn_seconds_total", "counter", "Seconds spent in engine steps.",
       [](const EngineCounters& c) { return c.turn_seconds; }},
      {"heed_queued", "gauge", "Jobs waiting for a slot.",
       [](const EngineCounters& c) { return static_cast<double>(c.queued); }},
      {"heed_slots_busy", "gauge", "Jobs being processed.",
       [](const EngineCounters& c) { return static_cast<double>(c.busy); }},
      {"heed_slots", "gauge", "Maximum number of jobs processed at once.", {}},
  }};
  return kMetrics;
}

// A label's value: quotes, backslashes and line ends are escaped.
std::string label(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (c == '\\' || c == '"') {
      safe += '\\';
    }
    safe += c == '\n' ? "\\n" : std::string(1, c);
  }
  return safe;
}

// 0 where the system does not tell.
int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  int64_t all = 0;
  int64_t resident = 0;
  return file >> all >> resident ? resident * ::sysconf(_SC_PAGESIZE) : 0;
}

void add_outcomes(std::string& text, const Hub& hub) {
  text += "# HELP heed_jobs_total Jobs by outcome.\n# TYPE heed_jobs_total counter\n";
  for (const auto& model : hub.models()) {
    const EngineCounters c = model->engine->counters();
    const std::array<std::pair<const char*, uint64_t>, 4> outcomes{{{"completed", c.completed},
                                                                    {"failed", c.failed},
                                                                    {"cancelled", c.cancelled},
                                                                    {"refused", c.refused}}};
    for (const auto& [outcome, count] : outcomes) {
      text += fmt::format("heed_jobs_total{{model=\"{}\",outcome=\"{}\"}} {}\n", label(model->name),
                          outcome, count);
    }
  }
}

HttpResponse tell_metrics(const Hub& hub, const HttpServer& server) {
  HttpResponse response;
  response.type = "text/plain; version=0.0.4";
  add_outcomes(response.body, hub);
  for (const Metric& metric : metrics()) {
    response.body += fmt::format("# HELP {} {}\n# TYPE {} {}\n", metric.name, metric.help,
                                 metric.name, metric.type);
    for (const auto& model : hub.models()) {
      const double value = metric.value ? metric.value(model->engine->counters())
                                        : static_cast<double>(model->engine->slots());
      response.body +=
          fmt::format("{}{{model=\"{}\"}} {}\n", metric.name, label(model->name), value);
    }
  }
  response.body += fmt::format(
      "# HELP process_resident_memory_bytes Resident memory size in bytes.\n"
      "# TYPE process_resident_memory_bytes gauge\nprocess_resident_memory_bytes {}\n",
      resident_bytes());
  response.body += fmt::format(
      "# HELP heed_connections Open connections.\n# TYPE heed_connections gauge\n"
      "heed_connections {}\n",
      server.connections());
  return response;
}

std::string type_of(std::string_view path) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kTypes{
      {{".html", "text/html; charset=utf-8"},
       {".js", "text/javascript; charset=utf-8"},
       {".css", "text/css; charset=utf-8"},
       {".svg", "image/svg+xml"},
       {".json", "application/json"}}};
  for (const auto& [end, type] : kTypes) {
    if (path.ends_with(end)) {
      return std::string(type);
    }
  }
  fail("[serve] {} is a file of an unknown type", path);
}

}  // namespace

void add_system_routes(HttpServer& server, Hub& hub) {
  server.route(
      "GET", "/health",
      [&hub](const HttpRequest&) {
        return json_response({{"status", "ok"}, {"models", hub.models().size()}});
      },
      Access::open);
  server.route(
      "GET", "/ready",
      [&server](const HttpRequest&) {
        if (server.draining()) {
          throw stopping_error();
        }
        return json_response({{"status", "ready"}});
      },
      Access::open);
  server.route("GET", "/metrics",
               [&hub, &server](const HttpRequest&) { return tell_metrics(hub, server); });
}

void add_static_routes(HttpServer& server, std::span<const StaticFile> files) {
  for (const StaticFile& file : files) {
    const auto answer = [file, type = type_of(file.path)](const HttpRequest&) {
      HttpResponse response;
      response.type = type;
      response.body = file.bytes;
      return response;
    };
    server.route("GET", std::string(file.path), answer, Access::open);
    if (file.path == "/studio/index.html") {
      server.route("GET", "/", answer, Access::open);
    }
  }
}

}  // namespace heed::serve
