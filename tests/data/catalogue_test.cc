#include "data/catalogue.h"

#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "base/file.h"
#include "support/environment.h"
#include "support/error_of.h"

namespace heed {
namespace {

namespace fs = std::filesystem;
using testing::EnvironmentVariable;
using testing::error_of;

TEST(Catalogue, EntriesAreComplete) {
  const std::regex sum("[0-9a-f]{64}");
  std::set<std::string> names;
  for (const DataSet& set : data_sets()) {
    EXPECT_TRUE(names.insert(set.name).second) << set.name;
    EXPECT_FALSE(set.what.empty() || set.licence.empty() || set.recipes.empty()) << set.name;
    EXPECT_NE(set.sources.empty(), set.made_by.empty()) << set.name;
    std::set<std::string> files;
    for (const DataSource& source : set.sources) {
      EXPECT_TRUE(source.url.starts_with("https://")) << source.url;
      EXPECT_TRUE(source.sha256.empty() || std::regex_match(source.sha256, sum)) << source.url;
      EXPECT_TRUE(source.sha256.empty() || source.bytes > 0) << source.url;
      EXPECT_EQ(source.file.empty(), !source.members.empty() || !source.suffix.empty())
          << source.url;
      EXPECT_TRUE(!source.file.empty() || source.url.ends_with(".zip") ||
                  source.url.ends_with(".tar.gz"))
          << source.url;
      EXPECT_TRUE(source.file.empty() || files.insert(source.file).second) << source.file;
      for (const DataMember& member : source.members) {
        EXPECT_TRUE(files.insert(member.to).second) << member.to;
        EXPECT_TRUE(member.sha256.empty() || std::regex_match(member.sha256, sum)) << member.to;
      }
    }
  }
}

// Every file of a recipe that is not made up by Heed is one that the catalogue knows.
TEST(Catalogue, HasTheFilesOfAllRecipes) {
  const std::regex in_data(R"(\$\{HEED_DATA\}/([^/"]+)/?([^"]*)\")");
  const std::regex made(R"(\.\./\.\./corpora/([^/"]+)/)");
  size_t found = 0;
  for (const auto& entry : fs::recursive_directory_iterator("recipes")) {
    if (entry.path().extension() != ".toml") {
      continue;
    }
    const std::string text = read_file(entry.path());
    for (std::sregex_iterator match(text.begin(), text.end(), in_data), end; match != end;
         ++match) {
      const DataSet& set = find_data_set((*match)[1]);
      const std::string file = (*match)[2];
      bool known = file.empty();  // the whole folder
      for (const DataSource& source : set.sources) {
        known = known || source.file == file;
        for (const DataMember& member : source.members) {
          known = known || member.to == file || member.to.starts_with(file + "/");
        }
      }
      EXPECT_TRUE(known) << entry.path() << " wants " << file << " of " << set.name;
      ++found;
    }
    for (std::sregex_iterator match(text.begin(), text.end(), made), end; match != end; ++match) {
      EXPECT_FALSE(find_data_set((*match)[1]).made_by.empty());
      ++found;
    }
  }
  EXPECT_GT(found, 30U);
}

TEST(Catalogue, UnknownNamesGetTheNearest) {
  EXPECT_EQ(find_data_set("mnist").name, "mnist");
  EXPECT_EQ(error_of([] { find_data_set("mutli30k"); }),
            "[data] there is no set mutli30k; did you mean multi30k? `heed data list` lists all");
}

TEST(Catalogue, TheDataFolder) {
  {
    const EnvironmentVariable variable("HEED_DATA", "/big/disk/");
    EXPECT_EQ(data_folder(), "/big/disk");
  }
  {
    const EnvironmentVariable variable("HEED_DATA", "/");
    EXPECT_EQ(data_folder(), "/");
  }
  const EnvironmentVariable variable("HEED_DATA", "");
  EXPECT_EQ(data_folder(), fs::is_directory("../shared/data") ? "../shared/data" : "data");
}

TEST(Catalogue, AdviceOnMissingFiles) {
  {
    const EnvironmentVariable variable("HEED_DATA", "/x/");
    EXPECT_EQ(advice_on_missing("/x/multi30k/train.en.gz"),
              "; `heed data get multi30k` fetches it into HEED_DATA, which is /x; or set HEED_DATA "
              "to the "
              "folder that holds multi30k");
    EXPECT_EQ(advice_on_missing("/y/multi30k/train.en.gz"),
              "; `heed data get multi30k --output /y` fetches it");
    EXPECT_EQ(advice_on_missing("recipes/../../corpora/debian-it/train.en"),
              "; `tools/debian-corpus.sh it corpora/debian-it` makes it");
    EXPECT_EQ(advice_on_missing("/x/mine/a.txt"),
              "; HEED_DATA is /x/: set it to the folder that holds mine, or see `heed data list`");
    EXPECT_EQ(advice_on_missing("/z/mine/a.txt"), "");
    EXPECT_EQ(advice_on_missing("a.txt"), "");
  }
  const EnvironmentVariable variable("HEED_DATA", nullptr);
  const std::string folder = data_folder().string();
  EXPECT_EQ(advice_on_missing(folder + "/mnist/x.gz"),
            "; HEED_DATA is not set: set it to the folder that holds mnist, or run `heed data get "
            "mnist`, "
            "which fetches it into " +
                folder);
  EXPECT_EQ(
      advice_on_missing(folder + "/mine/x.gz"),
      "; HEED_DATA is not set: set it to the folder that holds mine, or see `heed data list`");
}

}  // namespace
}  // namespace heed
