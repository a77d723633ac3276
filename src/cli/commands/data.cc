// `heed data`: the data sets of recipes/. `list` says what they are, `get` fetches them.
#include <fmt/core.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/config.h"
#include "base/error.h"
#include "cli/command.h"
#include "cli/share_progress.h"
#include "cli/signals.h"
#include "cli/train_progress.h"
#include "data/catalogue.h"
#include "data/fetch.h"

namespace heed::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kInterrupted = 130;
constexpr double kMegabyte = 1e6;

struct ListArguments {
  std::string name;
  fs::path folder;
  bool json = false;
};

struct GetArguments {
  std::vector<std::string> names;
  fs::path folder;
  std::string mirror;
  bool force = false;
};

fs::path folder_or_default(const fs::path& folder) {
  return folder.empty() ? data_folder() : folder;
}

std::string megabytes(int64_t bytes) {
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / kMegabyte);
}

// The bytes of everything that is fetched; "unknown" if the size of one address is not known.
std::string size_of(const DataSet& set) {
  int64_t bytes = 0;
  bool known = !set.sources.empty();
  for (const DataSource& source : set.sources) {
    bytes += source.bytes;
    known = known && source.bytes > 0;
  }
  return set.sources.empty() ? "-" : known ? megabytes(bytes) : "unknown";
}

Json json_of(const DataSet& set, bool here) {
  Json sources = Json::array();
  for (const DataSource& source : set.sources) {
    Json files = Json::array();
    for (const DataMember& member : source.members) {
      files.push_back(member.to);
    }
    if (source.members.empty()) {
      files.push_back(source.file.empty() ? "*" + source.suffix : source.file);
    }
    sources.push_back({{"url", source.url},
                       {"bytes", source.bytes > 0 ? Json(source.bytes) : Json()},
                       {"sha256", source.sha256.empty() ? Json() : Json(source.sha256)},
                       {"files", files}});
  }
  return {{"name", set.name},       {"what", set.what},       {"licence", set.licence},
          {"recipes", set.recipes}, {"made_by", set.made_by}, {"note", set.note},
          {"here", here},           {"sources", sources}};
}

void print_table(const fs::path& folder) {
  fmt::print("{:<19}{:<5}{:>9}  {}\n", "NAME", "HERE", "SIZE", "WHAT");
  for (const DataSet& set : data_sets()) {
    const bool here = has_data_set(set, folder);
    fmt::print("{:<19}{:<5}{:>9}  {}; licence: {}\n", set.name, here ? "yes" : "", size_of(set),
               set.what, set.licence);
  }
  fmt::print(
      "\nSets lie in {}; HEED_DATA names another folder. `heed data list NAME` shows addresses "
      "and\n"
      "checksums, `heed data get NAME` fetches a set.\n",
      folder.string());
}

void print_set(const DataSet& set, const fs::path& folder) {
  fmt::print("{}: {}\n  licence  {}\n  used by  recipes/{}\n", set.name, set.what, set.licence,
             set.recipes);
  if (!set.note.empty()) {
    fmt::print("  note     {}\n", set.note);
  }
  if (!set.made_by.empty()) {
    fmt::print("  made by  {}\n", set.made_by);
    return;
  }
  fmt::print("  here     {}\n", has_data_set(set, folder) ? (folder / set.name).string() : "no");
  for (const DataSource& source : set.sources) {
    fmt::print("  {}\n    {}, SHA-256 {}\n", source.url,
               source.bytes > 0 ? fmt::format("{} bytes", source.bytes) : "size unknown",
               source.sha256.empty() ? "unknown" : source.sha256);
    for (const DataMember& member : source.members) {
      fmt::print("    {} becomes {}{}\n", member.from, member.to,
                 member.sha256.empty() ? "" : ", SHA-256 of the former " + member.sha256);
    }
  }
}

void list(const ListArguments& arguments) {
  const fs::path folder = folder_or_default(arguments.folder);
  const std::span<const DataSet> sets =
      arguments.name.empty() ? data_sets() : std::span(&find_data_set(arguments.name), 1);
  if (arguments.json) {
    Json json = Json::array();
    for (const DataSet& set : sets) {
      json.push_back(json_of(set, has_data_set(set, folder)));
    }
    fmt::print("{}\n", json.dump(2));
  } else if (arguments.name.empty()) {
    print_table(folder);
  } else {
    print_set(sets.front(), folder);
  }
}

// How much has come, how fast, and how long the rest takes.
class FetchProgress {
 public:
  void show(const std::string& file, int64_t done, int64_t total) {
    const double now = line_.seconds();
    if (file != file_) {
      file_ = file;
      begin_ = now;
      first_ = done;
    }
    const double seconds = now - begin_;
    const double rate = seconds > 0.0 ? static_cast<double>(done - first_) / seconds : 0.0;
    std::string text = fmt::format("{}  {}", file, megabytes(done));
    if (total > 0) {
      text += fmt::format(" of {}", megabytes(total));
    }
    text += fmt::format(", {:.1f} MB/s", rate / kMegabyte);
    if (total > 0 && rate > 0.0) {
      text += fmt::format(", {} left", format_seconds(static_cast<double>(total - done) / rate));
    }
    line_.say(std::move(text));
  }
  void clear() { line_.clear(); }

 private:
  ShareProgress line_;
  std::string file_;
  double begin_ = 0.0;  // of the file, in seconds of the line
  int64_t first_ = 0;   // what an earlier call had fetched
};

void say_fetched(const FetchedSource& source) {
  if (source.sha256.empty()) {
    fmt::print("  there already: {}\n", source.url);
    return;
  }
  fmt::print("  {}\n    {} bytes, SHA-256 {}{}\n", source.url, source.bytes, source.sha256,
             source.checked ? " (checked)" : "");
  if (!source.checked) {
    fmt::print(
        stderr,
        "heed: warning: the checksum of {} is not known, so nobody has checked that it is the "
        "right file; fetched.json records what came\n",
        source.url);
  }
}

std::string mirror_of(const GetArguments& arguments) {
  const char* given = std::getenv("HEED_DATA_MIRROR");  // NOLINT: no other thread sets it
  std::string mirror = arguments.mirror.empty() && given != nullptr ? given : arguments.mirror;
  while (mirror.ends_with('/')) {
    mirror.pop_back();
  }
  return mirror;
}

void get(const GetArguments& arguments) {
  std::vector<const DataSet*> sets;  // all names first: a wrong one should not come up later
  for (const std::string& name : arguments.names) {
    sets.push_back(&find_data_set(name));
    check_fetchable(*sets.back());
  }
  const std::atomic<bool>& stop = stop_requested();
  const fs::path folder = folder_or_default(arguments.folder);
  for (const DataSet* set : sets) {
    fmt::print("{} into {}; licence: {}\n", set->name, (folder / set->name).string(), set->licence);
    std::fflush(stdout);
    FetchProgress progress;
    const FetchOptions options{.folder = folder,
                               .mirror = mirror_of(arguments),
                               .force = arguments.force,
                               .progress =
                                   [&](const std::string& file, int64_t done, int64_t total) {
                                     progress.show(file, done, total);
                                     return !stop;
                                   },
                               .fetched =
                                   [&](const FetchedSource& source) {
                                     progress.clear();
                                     say_fetched(source);
                                   }};
    if (!fetch_data_set(*set, options)) {
      progress.clear();
      fmt::print(stderr, "stopped; run the same command again to continue\n");
      throw ExitStatus{kInterrupted};
    }
  }
}

void add_list(Command& data) {
  auto arguments = std::make_shared<ListArguments>();
  Command command =
      data.subcommand("list", "List data sets, or one of them with addresses and checksums");
  command.option("NAME", arguments->name, "data set to show in full (default: list all)");
  command.option("--folder", arguments->folder, "folder to look for them in (default: HEED_DATA)")
      .value_name("DIR");
  command.flag("--json", arguments->json, "print everything as JSON");
  command.example("List all data sets", "heed data list");
  command.example("Show one with its addresses and checksums", "heed data list multi30k");
  command.action([arguments] { list(*arguments); });
}

void add_get(Command& data) {
  auto arguments = std::make_shared<GetArguments>();
  Command command = data.subcommand("get", "Fetch data sets");
  command.option("NAME", arguments->names, "data sets to fetch, as `heed data list` names them")
      .required();
  command
      .option("--output", arguments->folder,
              "folder in which a folder for each set is made (default: HEED_DATA)")
      .value_name("DIR");
  command
      .option("--url", arguments->mirror,
              "mirror to fetch from, which has each file as BASE/SET/FILE (default: "
              "HEED_DATA_MIRROR, or "
              "the addresses of `heed data list`)")
      .value_name("BASE");
  command.flag("--force", arguments->force, "fetch again what is there already");
  command.footer(
      "A file gets its name when it is complete and its checksum is right. After Ctrl-C or a lost "
      "connection the same command continues where it ended.");
  command.example("Fetch Multi30k", "heed data get multi30k");
  command.example("Fetch two sets to another folder",
                  "HEED_DATA=/big/disk heed data get mnist cifar10");
  command.example("Fetch from a mirror",
                  "heed data get ptb --output data --url http://mirror.example/heed");
  command.action([arguments] { get(*arguments); });
}

}  // namespace

void add_data(Command& app) {
  Command data = app.subcommand("data", "List and fetch the data sets of the recipes");
  data.group("Tools");
  data.example("Fetch the data of recipes/translation/multi30k.toml", "heed data get multi30k");
  data.require_subcommand();
  data.footer(
      "Recipes look for data in the folder that the environment variable HEED_DATA names; by "
      "default that is ../shared/data if it exists, and otherwise data.");
  add_list(data);
  add_get(data);
}

}  // namespace heed::cli
