// Gets the files of a data set from their addresses and puts them where recipes look for them.
//
// A file arrives under a temporary name, ending in .part, and goes on from there after an
// interruption. It gets its name when it is complete and its checksum is right, so what has its
// name can be used. What came from where, with its checksum, is written to fetched.json beside it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "data/catalogue.h"

namespace heed {

// An address that has been dealt with.
struct FetchedSource {
  std::string url;
  int64_t bytes = 0;
  std::string sha256 = {};  // of what the address gave; empty: its files were there already
  bool checked = false;     // it, or all files that are taken from it, against the catalogue's
};

struct FetchOptions {
  std::filesystem::path folder;  // the set's own folder is made inside
  std::string mirror = {};       // instead of the catalogue's addresses: MIRROR/SET/FILE
  bool force = false;            // also what is there already
  // The file that is coming, its bytes so far and in all (0: unknown). False stops.
  std::function<bool(const std::string& file, int64_t done, int64_t total)> progress = nullptr;
  std::function<void(const FetchedSource&)> fetched = nullptr;
};

// True: all files are there. False: progress() stopped it, and the next call goes on.
bool fetch_data_set(const DataSet& set, const FetchOptions& options);

// An Error that says how the set is made, if it has no address.
void check_fetchable(const DataSet& set);

// Whether all files of the set are in its folder inside `folder`.
bool has_data_set(const DataSet& set, const std::filesystem::path& folder);

}  // namespace heed
