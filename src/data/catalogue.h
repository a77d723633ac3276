// The data sets that recipes/ use: where they come from, under which licence, and by which checksum
// they are recognised. `heed data` lists and fetches them, and whoever misses a file asks here
// where to get it. A new set is one entry of the table in catalogue.cc.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace heed {

// A file of an archive and what it becomes in the set's folder.
struct DataMember {
  std::string from;
  std::string to;           // a name in .gz: packed here, unless `from` is one too
  std::string sha256 = {};  // of the file as the archive has it; empty: unknown
};

// What one address gives.
struct DataSource {
  std::string url;
  std::string file = {};    // its name in the set's folder, packed as above; empty: an archive,
                            // whose address ends in .tar.gz or .zip
  int64_t bytes = 0;        // 0: unknown
  std::string sha256 = {};  // empty: unknown
  std::vector<DataMember> members = {};
  // Instead of members: all files with this ending but for those with the other. The first folder
  // of their names is left out.
  std::string suffix = {};
  std::string but_for = {};
};

struct DataSet {
  std::string name;  // also that of its folder
  std::string what;
  std::string licence;
  std::string recipes;  // that use it
  std::vector<DataSource> sources = {};
  std::string made_by = {};  // without sources: the command that makes it
  std::string note = {};
};

std::span<const DataSet> data_sets();
const DataSet& find_data_set(const std::string& name);  // an Error that names the nearest

// The folder that ${HEED_DATA} stands for in recipes: the environment's HEED_DATA, or
// ../shared/data if there is one, or else data.
std::filesystem::path data_folder();

// What to do about a file that a recipe names and that does not exist: "; set HEED_DATA ..." with
// the command that fetches or makes its set. Empty if nothing is known of it.
std::string advice_on_missing(const std::filesystem::path& file);

}  // namespace heed
