// `heed serve`: models behind HTTP, with a page to use them and look into them.
#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "base/parallel.h"
#include "cli/command.h"
#include "cli/signals.h"
#include "serve/api/answer_routes.h"
#include "serve/api/image_routes.h"
#include "serve/api/music_routes.h"
#include "serve/api/openai_routes.h"
#include "serve/api/run_routes.h"
#include "serve/api/system_routes.h"
#include "serve/api/text_routes.h"
#include "serve/http/access_log.h"

namespace heed::embedded {
extern const std::span<const heed::serve::StaticFile> studio;
}  // namespace heed::embedded

namespace heed::cli {
namespace {

struct ServeArguments {
  std::vector<std::string> models;
  std::vector<std::string> drafts;
  std::vector<std::string> runs;
  std::string key_file;
  std::string log_file;
  std::string log_format = "text";
  serve::HttpOptions http;
  serve::HubOptions hub;
  double drain_seconds = 0.0;
  double grace_seconds = 10.0;
};

std::atomic<bool> hung_up{false};

// A key a line; empty lines and lines that begin with # do not count.
std::vector<std::string> read_keys(const std::string& file) {
  std::vector<std::string> keys;
  const std::string text = read_file(file);
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    line.erase(line.find_last_not_of(" \t\r") + 1);
    if (!line.empty() && line.front() != '#') {
      keys.push_back(line);
    }
    begin = end + 1;
  }
  check(!keys.empty(), "[serve] {} has no key, expected one per line", file);
  return keys;
}

struct NamedFolder {
  std::string name, folder;
};

// NAME=DIR or DIR. A folder whose own name has a "=" can be given as ./DIR.
NamedFolder parse_model(const std::string& model) {
  const size_t equals = model.find('=');
  if (equals == std::string::npos || model.find('/') < equals) {
    check(!model.empty(), "[serve] --model is empty, expected [NAME=]DIR");
    return {serve::name_of_folder(model), model};
  }
  NamedFolder named{model.substr(0, equals), model.substr(equals + 1)};
  check(!named.name.empty() && !named.folder.empty(),
        "[serve] --model is {}, expected [NAME=]DIR with a name and a folder", model);
  return named;
}

// The draft of each model that has one.
std::map<std::string, std::string> parse_drafts(const std::vector<std::string>& drafts) {
  std::map<std::string, std::string> folders;
  for (const std::string& draft : drafts) {
    const size_t equals = draft.find('=');
    check(equals != std::string::npos && equals > 0 && equals + 1 < draft.size(),
          "[serve] --draft is {}, expected NAME=DIR with the name of a model and a folder", draft);
    folders[draft.substr(0, equals)] = draft.substr(equals + 1);
  }
  return folders;
}

void load_models(serve::Hub& hub, const ServeArguments& arguments) {
  std::map<std::string, std::string> drafts = parse_drafts(arguments.drafts);
  for (const std::string& model : arguments.models) {
    const auto [name, folder] = parse_model(model);
    fmt::print(stderr, "loading model {} from {} ...\n", name, folder);
    const auto begin = std::chrono::steady_clock::now();
    hub.add(name, folder, drafts[name]);
    drafts.erase(name);
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    const serve::ServedModel& added = *hub.models().back();
    fmt::print(stderr, "{}: {} ({}), loaded in {:.1f} s\n", added.name, added.kind,
               fmt::join(added.abilities, ", "), spent.count());
  }
  check(drafts.empty(), "[serve] --draft names the model {}, which is not served",
        drafts.empty() ? "" : drafts.begin()->first);
}

// What clients get, with the files of the studio.
void add_routes(serve::HttpServer& server, serve::Hub& hub,
                const std::vector<serve::FollowedRun>& runs) {
  serve::add_openai_routes(server, hub);
  serve::add_text_routes(server, hub);
  serve::add_answer_routes(server, hub);
  serve::add_translate_routes(server, hub);
  serve::add_music_routes(server, hub);
  serve::add_image_routes(server, hub);
  serve::add_run_routes(server, runs);
  serve::add_system_routes(server, hub);
  serve::add_static_routes(server, embedded::studio);
}

void announce(const std::string& host, int port) {
  fmt::print(stderr, "listening on http://{}:{}/\n",
             host.find(':') == std::string::npos ? host : "[" + host + "]", port);
  if (host == "0.0.0.0" || host == "::") {
    fmt::print(stderr, "on this machine, open http://127.0.0.1:{}/\n", port);
  }
}

// The access log, if one is wanted. SIGHUP, which log rotation sends, opens a file again.
std::unique_ptr<serve::AccessLog> open_log(const ServeArguments& arguments) {
  if (arguments.log_file.empty()) {
    return nullptr;
  }
  if (arguments.log_file != "-") {
    std::signal(SIGHUP, [](int) { hung_up = true; });
  }
  return std::make_unique<serve::AccessLog>(arguments.log_file, arguments.log_format == "json"
                                                                    ? serve::LogFormat::json
                                                                    : serve::LogFormat::text);
}

// Lets the server work until `finished`, which is looked at often.
void wait_until(const std::function<bool()>& finished, serve::AccessLog* log) {
  while (!finished()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    if (hung_up.exchange(false)) {
      log->reopen();
    }
  }
}

// Answers everything for a while, as before, until the balancer in front has noticed that /ready
// says 503.
void drain(serve::HttpServer& server, double seconds, serve::AccessLog* log) {
  if (seconds <= 0) {
    return;
  }
  fmt::print(stderr, "draining: requests are answered for another {} s\n", seconds);
  server.drain();
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  wait_until([end] { return std::chrono::steady_clock::now() >= end; }, log);
}

void run(const ServeArguments& arguments) {
  check(!arguments.models.empty() || !arguments.runs.empty(),
        "[serve] there is nothing to serve; give a --model or a --run");
  const std::atomic<bool>& stopping = stop_requested();
  serve::HttpOptions http = arguments.http;
  if (!arguments.key_file.empty()) {
    http.keys = read_keys(arguments.key_file);
  }
  const std::unique_ptr<serve::AccessLog> log = open_log(arguments);
  if (log != nullptr) {
    http.log = [&log](const serve::HttpAnswer& answer) { log->add(answer); };
  }
  std::vector<serve::FollowedRun> runs;
  for (const std::string& folder : arguments.runs) {
    serve::add_run(runs, folder);
  }
  if (arguments.hub.threads > 0) {
    set_num_threads(arguments.hub.threads);
  }
  serve::Hub hub(arguments.hub);
  serve::HttpServer server(http);
  server.bind();  // before models are loaded, which may take long
  load_models(hub, arguments);
  if (stopping) {  // before anybody was served
    return;
  }
  add_routes(server, hub, runs);
  server.start();
  announce(http.host, server.port());
  wait_until([&] { return stopping.load(); }, log.get());
  drain(server, arguments.drain_seconds, log.get());
  fmt::print(stderr, "stopping: running requests have {} s to finish\n", arguments.grace_seconds);
  // Both at once: handlers wait for the engines.
  const auto grace = std::chrono::milliseconds(static_cast<int64_t>(1e3 * arguments.grace_seconds));
  std::thread engines([&] { hub.stop(grace); });
  server.stop(arguments.grace_seconds + 1.0);
  engines.join();
}

void add_stop_options(Command& command, ServeArguments& arguments) {
  command
      .option("--drain", arguments.drain_seconds,
              "seconds to go on answering after SIGTERM or Ctrl-C, while /ready says 503")
      .range(0.0, 3600.0)
      .show_default();
  command
      .option("--grace", arguments.grace_seconds,
              "seconds that running requests have to finish after that")
      .range(0.0, 3600.0)
      .show_default();
}

void add_log_options(Command& command, ServeArguments& arguments) {
  command
      .option("--log", arguments.log_file,
              "file to append a line per request to; - for standard error")
      .value_name("FILE");
  command.option("--log-format", arguments.log_format, "format of the log: text or json")
      .choices({"text", "json"})
      .show_default();
}

}  // namespace

void add_serve(Command& app) {
  auto arguments = std::make_shared<ServeArguments>();
  Command command = app.subcommand("serve", "Serve models over HTTP, with a web page to use them");
  command.group("Serve");
  command
      .option("--model", arguments->models,
              "model folder to serve, in Heed's or Hugging Face's format; repeatable")
      .value_name("[NAME=]DIR");
  command
      .option("--draft", arguments->drafts,
              "smaller language model that runs ahead of a served one; repeatable")
      .value_name("NAME=DIR");
  command.option("--draft-tokens", arguments->hub.draft_tokens, "tokens that a draft says ahead")
      .range(1, 64)
      .show_default();
  command.option("--run", arguments->runs, "run folder to monitor; repeatable").value_name("DIR");
  command.option("--host", arguments->http.host, "address to listen on; 0.0.0.0 for all")
      .value_name("ADDRESS")
      .show_default();
  command.option("--port", arguments->http.port, "port to listen on; 0 for any free port")
      .range(0, 65535)
      .show_default();
  command
      .option("--api-key-file", arguments->key_file,
              "file of API keys, one per line; requests must have one of them")
      .value_name("FILE");
  command
      .option("--allow-origin", arguments->http.allow_origin,
              "allow requests from pages of this origin (CORS), such as https://example.org")
      .value_name("ORIGIN");
  command.option("--slots", arguments->hub.slots, "requests that a model processes at once")
      .range(1, 1024)
      .show_default();
  command.option("--queue", arguments->hub.queue, "requests that may wait for a slot")
      .range(0, 100000)
      .show_default();
  command.option("--threads", arguments->hub.threads, "number of threads (default: all cores)")
      .range(1, 4096);
  add_stop_options(command, *arguments);
  add_log_options(command, *arguments);
  add_precision(command, arguments->hub.compute);
  command.footer(
      "Once it is running, http://127.0.0.1:8080/ is the web page, and requests such as this one "
      "are answered:\n"
      "  curl http://127.0.0.1:8080/v1/completions -d '{\"prompt\": \"Once upon a time\"}'");
  command.example("Serve two models", "heed serve --model gpt2 --model en-de=runs/multi30k");
  command.example("Monitor a training run", "heed serve --run runs/mnist");
  command.example("Give a balancer five seconds to notice that the server will stop",
                  "heed serve --model gpt2 --drain 5 --grace 60");
  command.action([arguments] { run(*arguments); });
}

}  // namespace heed::cli
