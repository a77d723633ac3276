// `heed serve`: models behind HTTP, with a page to use them and look into them.
#include <fmt/core.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "base/parallel.h"
#include "cli/command.h"
#include "cli/signals.h"
#include "serve/api/image_routes.h"
#include "serve/api/music_routes.h"
#include "serve/api/openai_routes.h"
#include "serve/api/run_routes.h"
#include "serve/api/system_routes.h"
#include "serve/api/text_routes.h"

namespace heed::embedded {
extern const std::span<const heed::serve::StaticFile> studio;
}  // namespace heed::embedded

namespace heed::cli {
namespace {

struct ServeArguments {
  std::vector<std::string> models;
  std::vector<std::string> runs;
  std::string key_file;
  serve::HttpOptions http;
  serve::HubOptions hub;
  double grace_seconds = 10.0;
};

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
  check(!keys.empty(), "[serve] {} has no key, expected one a line", file);
  return keys;
}

// NAME=DIR or DIR. A folder whose own name has a "=" can be given as ./DIR.
void load_models(serve::Hub& hub, const std::vector<std::string>& models) {
  for (const std::string& model : models) {
    const size_t equals = model.find('=');
    const bool named = equals != std::string::npos && model.find('/') > equals;
    const std::string folder = named ? model.substr(equals + 1) : model;
    const auto begin = std::chrono::steady_clock::now();
    hub.add(named ? model.substr(0, equals) : "", folder);
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    const serve::ServedModel& added = *hub.models().back();
    std::string abilities;
    for (const std::string& ability : added.abilities) {
      abilities += (abilities.empty() ? "" : ", ") + ability;
    }
    fmt::print(stderr, "{}: {} ({}), {:.1f} s\n", added.name, added.kind, abilities, spent.count());
  }
}

void run(const ServeArguments& arguments) {
  check(!arguments.models.empty() || !arguments.runs.empty(),
        "[serve] there is nothing to serve: give a --model or a --run");
  const std::atomic<bool>& stopping = stop_requested();
  serve::HttpOptions http = arguments.http;
  if (!arguments.key_file.empty()) {
    http.keys = read_keys(arguments.key_file);
  }
  if (arguments.hub.threads > 0) {
    set_num_threads(arguments.hub.threads);
  }
  serve::Hub hub(arguments.hub);
  load_models(hub, arguments.models);
  std::vector<serve::FollowedRun> runs;
  for (const std::string& folder : arguments.runs) {
    serve::add_run(runs, folder);
  }
  serve::HttpServer server(http);
  serve::add_openai_routes(server, hub);
  serve::add_text_routes(server, hub);
  serve::add_translate_routes(server, hub);
  serve::add_music_routes(server, hub);
  serve::add_image_routes(server, hub);
  serve::add_run_routes(server, runs);
  serve::add_system_routes(server, hub);
  serve::add_static_routes(server, embedded::studio);
  server.start();
  fmt::print(stderr, "listening on http://{}:{}/\n",
             http.host.find(':') == std::string::npos ? http.host : "[" + http.host + "]",
             server.port());
  while (!stopping) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  fmt::print(stderr, "stopping: what is running may finish within {} s\n", arguments.grace_seconds);
  // Both at once: handlers wait for the engines.
  const auto grace = std::chrono::milliseconds(static_cast<int64_t>(1e3 * arguments.grace_seconds));
  std::thread engines([&] { hub.stop(grace); });
  server.stop(arguments.grace_seconds + 1.0);
  engines.join();
}

}  // namespace

void add_serve(Command& app) {
  auto arguments = std::make_shared<ServeArguments>();
  Command command = app.subcommand("serve", "Serve models by HTTP, with a page to use them");
  command.option("--model", arguments->models,
                 "[NAME=]DIR: a model folder, also Hugging Face's; may be given again");
  command.option("--run", arguments->runs, "the folder of a training to follow; as often");
  command.option("--host", arguments->http.host, "address to listen on; 0.0.0.0 for all")
      .show_default();
  command.option("--port", arguments->http.port, "0: any free one").range(0, 65535).show_default();
  command.option("--api-key-file", arguments->key_file,
                 "requests must have one of its keys, a line each");
  command.option("--allow-origin", arguments->http.allow_origin,
                 "pages of this origin may call, such as https://example.org (CORS)");
  command.option("--slots", arguments->hub.slots, "requests that a model works on at once")
      .range(1, 1024)
      .show_default();
  command.option("--queue", arguments->hub.queue, "requests that may wait for a slot")
      .range(0, 100000)
      .show_default();
  command.option("--threads", arguments->hub.threads, "of the products (default: all cores)")
      .range(1, 4096);
  command
      .option("--grace", arguments->grace_seconds,
              "seconds that requests have to finish after SIGTERM or Ctrl-C")
      .range(0.0, 3600.0)
      .show_default();
  add_precision(command, arguments->hub.compute);
  command.footer(
      "Examples:\n"
      "  heed serve --model gpt2 --model en-de=runs/multi30k\n"
      "  heed serve --run runs/mnist\n"
      "  curl http://127.0.0.1:8080/v1/completions -d '{\"prompt\": \"Once upon a time\"}'");
  command.action([arguments] { run(*arguments); });
}

}  // namespace heed::cli
