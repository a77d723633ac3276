#include "data/fetch.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/config.h"
#include "base/download.h"
#include "base/encoding/gzip.h"
#include "base/encoding/sha256.h"
#include "base/error.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/write_bytes.h"
#include "formats/tar.h"
#include "formats/zip.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostUnpacked = int64_t{4} << 30;  // of one archive
constexpr const char* kRecord = "fetched.json";

std::string file_of(const std::string& url) { return url.substr(url.rfind('/') + 1); }

// What fetched.json says: an object for each address.
Json read_record(const fs::path& folder) {
  std::error_code unknown;
  if (!fs::exists(folder / kRecord, unknown)) {
    return Json::object();
  }
  Json record = Json::parse(read_file(folder / kRecord), nullptr, false);
  return record.is_object() ? record : Json::object();
}

// Which files an address gives is not always known. Then the record says whether they are complete;
// without one, somebody has put them there by hand.
bool has_files(const fs::path& folder, const DataSource& source) {
  const Json record = read_record(folder);
  if (record.contains(source.url)) {
    return record[source.url].value("complete", false);
  }
  std::error_code unknown;
  for (fs::recursive_directory_iterator at(folder, unknown), end; at != end;
       at.increment(unknown)) {
    if (at->path().string().ends_with(source.suffix)) {
      return true;
    }
  }
  return false;
}

bool is_there(const DataSource& source, const fs::path& folder) {
  if (!source.suffix.empty()) {
    return has_files(folder, source);
  }
  std::error_code unknown;
  const auto exists = [&](const std::string& file) { return fs::exists(folder / file, unknown); };
  return source.file.empty()
             ? std::all_of(source.members.begin(), source.members.end(),
                           [&](const DataMember& member) { return exists(member.to); })
             : exists(source.file);
}

// Whether the catalogue has the checksum of every file that is taken from an archive.
bool knows_members(const DataSource& source) {
  return !source.members.empty() &&
         std::none_of(source.members.begin(), source.members.end(),
                      [](const DataMember& member) { return member.sha256.empty(); });
}

// The same bytes, which `sum` sees too.
ReadBytes summed(ReadBytes read, Sha256& sum) {
  return [read = std::move(read), &sum](std::span<std::byte> bytes) {
    const size_t count = read(bytes);
    sum.update(bytes.first(count));
    return count;
  };
}

// Writes a stream as the file `to`, packed if the name of `to` asks for it and that of `from` does
// not have it already.
void write_stream(ReadBytes read, const std::string& from, const fs::path& to,
                  const std::string& sha256) {
  Sha256 sum;
  const bool pack = to.extension() == ".gz" && fs::path(from).extension() != ".gz";
  read = summed(std::move(read), sum);
  if (pack) {
    read = packed_stream(std::move(read));
  }
  make_folders(to.parent_path());
  AtomicFile file(to);
  write_all(file, read);
  const std::string found = sum.hex();
  check(sha256.empty() || found == sha256,
        "[data] {} has the SHA-256 {}, expected {}; it is not kept", from, found, sha256);
  file.commit();
}

// What an archive's member becomes in the folder, or null if it is not wanted.
std::optional<DataMember> wanted(const DataSource& source, const std::string& name) {
  if (!source.suffix.empty()) {
    const bool other = !source.but_for.empty() && name.ends_with(source.but_for);
    const size_t slash = name.find('/');
    return name.ends_with(source.suffix) && !other && slash != std::string::npos
               ? std::optional(DataMember{.from = name, .to = name.substr(slash + 1)})
               : std::nullopt;
  }
  const auto found = std::find_if(source.members.begin(), source.members.end(),
                                  [&](const DataMember& member) { return member.from == name; });
  return found == source.members.end() ? std::nullopt : std::optional(*found);
}

// One set on its way into its folder.
class Fetch {
 public:
  Fetch(const DataSet& set, const FetchOptions& options)
      : set_(set), options_(options), folder_(options.folder / set.name) {}

  // False: stopped.
  bool run(const DataSource& source) {
    const std::string url = options_.mirror.empty()
                                ? source.url
                                : options_.mirror + "/" + set_.name + "/" + file_of(source.url);
    if (!options_.force && is_there(source, folder_)) {
      report({.url = url});
      return true;
    }
    make_folders(folder_);
    const fs::path part = folder_ / (file_of(source.url) + ".part");
    shown_ = set_.name + "/" + file_of(source.url);
    const auto progress = [&](int64_t done, int64_t total) { return goes_on(done, total); };
    if (!download({.url = url, .file = part, .bytes = source.bytes, .progress = progress})) {
      return false;
    }
    const FetchedSource fetched{.url = url,
                                .bytes = static_cast<int64_t>(fs::file_size(part)),
                                .sha256 = sha256_of_file(part),
                                .checked = !source.sha256.empty() || knows_members(source)};
    if (!source.sha256.empty() && fetched.sha256 != source.sha256) {
      forget_download(part);  // going on with it would never make it right
      fail("[data] {} has the SHA-256 {}, expected {}; it is not kept", url, fetched.sha256,
           source.sha256);
    }
    record(source, fetched, false);
    try {
      if (!place(source, part)) {
        return false;
      }
    } catch (const Error&) {
      if (source.sha256.empty()) {
        forget_download(part);  // it may be the file's fault
      }
      throw;
    }
    forget_download(part);
    record(source, fetched, true);
    report(fetched);
    return true;
  }

 private:
  bool goes_on(int64_t done, int64_t total) const {
    return options_.progress == nullptr || options_.progress(shown_, done, total);
  }

  void report(const FetchedSource& fetched) const {
    if (options_.fetched != nullptr) {
      options_.fetched(fetched);
    }
  }

  // `complete`: all files have their names.
  void record(const DataSource& source, const FetchedSource& fetched, bool complete) const {
    Json record = read_record(folder_);
    record[source.url] = {{"from", fetched.url},
                          {"bytes", fetched.bytes},
                          {"sha256", fetched.sha256},
                          {"complete", complete}};
    write_file(folder_ / kRecord, record.dump(2) + "\n");
  }

  bool place(const DataSource& source, const fs::path& part) const {
    if (source.file.empty()) {
      return source.url.ends_with(".zip") ? unpack_zip(source, part) : unpack_tar(source, part);
    }
    const std::string name = file_of(source.url);
    const fs::path to = folder_ / source.file;
    if (to.extension() == ".gz" && fs::path(name).extension() != ".gz") {
      write_stream(unpacked_stream(part), name, to, "");
    } else {
      fs::rename(part, to);
      sync_folder(folder_);
    }
    return true;
  }

  bool unpack_tar(const DataSource& source, const fs::path& part) const {
    const auto size = static_cast<int64_t>(fs::file_size(part));
    TarReader tar(unpacked_stream(part), source.url, kMostUnpacked);
    size_t placed = 0;
    while (const std::optional<ArchiveMember> member = tar.next()) {
      if (!goes_on(size, size)) {
        return false;
      }
      if (const auto as = wanted(source, member->name)) {
        write_stream([&](std::span<std::byte> bytes) { return tar.read(bytes); }, as->from,
                     folder_ / as->to, as->sha256);
        ++placed;
      }
    }
    check_placed(source, placed);
    return true;
  }

  bool unpack_zip(const DataSource& source, const fs::path& part) const {
    const MappedFile file(part);
    const auto size = std::ssize(file.bytes());
    const ZipFile zip(file.bytes(), source.url);
    int64_t left = kMostUnpacked;
    size_t placed = 0;
    for (const ZipFile::Member& member : zip.members()) {
      if (!goes_on(size, size)) {
        return false;
      }
      if (const auto as = wanted(source, member.name)) {
        left -= member.size;
        check(left >= 0, "[data] {} unpacks to more than {} bytes", source.url, kMostUnpacked);
        write_stream(zip.open(member), as->from, folder_ / as->to, as->sha256);
        ++placed;
      }
    }
    check_placed(source, placed);
    return true;
  }

  static void check_placed(const DataSource& source, size_t placed) {
    const size_t expected = source.suffix.empty() ? source.members.size() : 1;
    check(placed >= expected, "[data] {} has {} of the files that it should have, expected {}",
          source.url, placed, expected);
  }

  const DataSet& set_;
  const FetchOptions& options_;
  fs::path folder_;
  std::string shown_;  // what is coming
};

}  // namespace

void check_fetchable(const DataSet& set) {
  check(!set.sources.empty(), "[data] {} is not fetched but made: run {}", set.name, set.made_by);
}

bool fetch_data_set(const DataSet& set, const FetchOptions& options) {
  check_fetchable(set);
  Fetch fetch(set, options);
  return std::all_of(set.sources.begin(), set.sources.end(),
                     [&](const DataSource& source) { return fetch.run(source); });
}

bool has_data_set(const DataSet& set, const fs::path& folder) {
  return !set.sources.empty() &&
         std::all_of(set.sources.begin(), set.sources.end(),
                     [&](const DataSource& source) { return is_there(source, folder / set.name); });
}

}  // namespace heed
