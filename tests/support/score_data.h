// The published scores that the tests of BLEU, chrF and TER are checked against.
#pragma once

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace heed::testing {

inline std::filesystem::path score_data() {
  const char* root = std::getenv("HEED_DATA");
  return std::filesystem::path(root != nullptr ? root : "../shared/data") / "bleu";
}

#define HEED_SKIP_WITHOUT_SCORE_DATA()                               \
  if (!std::filesystem::exists(score_data())) {                      \
    GTEST_SKIP() << "skipped: no data at " << score_data().string(); \
  }                                                                  \
  static_assert(true)

inline std::vector<std::string> gzip_lines(const std::filesystem::path& path) {
  gzFile file = gzopen(path.c_str(), "rb");
  EXPECT_NE(file, nullptr) << path;
  std::string text;
  std::vector<char> buffer(1 << 16);
  int got = 0;
  while (file != nullptr &&
         (got = gzread(file, buffer.data(), static_cast<unsigned>(buffer.size()))) > 0) {
    text.append(buffer.data(), static_cast<size_t>(got));
  }
  EXPECT_EQ(got, 0) << path;
  if (file != nullptr) {
    gzclose(file);
  }
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(line);
  }
  return lines;
}

// One row of a table with a header: column name to cell.
using ScoreRow = std::map<std::string, std::string>;

inline std::vector<ScoreRow> score_table(const std::filesystem::path& path) {
  std::ifstream file(path);
  const auto cells = [](const std::string& line) {
    std::vector<std::string> result;
    std::istringstream stream(line);
    for (std::string cell; std::getline(stream, cell, '\t');) {
      result.push_back(cell);
    }
    return result;
  };
  std::string line;
  std::getline(file, line);
  const std::vector<std::string> names = cells(line);
  std::vector<ScoreRow> rows;
  while (std::getline(file, line)) {
    const std::vector<std::string> values = cells(line);
    ScoreRow row;
    for (size_t i = 0; i < values.size() && i < names.size(); ++i) {
      row[names[i]] = values[i];
    }
    rows.push_back(row);
  }
  EXPECT_FALSE(rows.empty()) << path;
  return rows;
}

// Half a unit of the last digit written, for "26.33" 0.005, and a little for rounding.
inline double tolerance_of(const std::string& number) {
  const size_t point = number.find('.');
  double unit = 1.0;
  for (size_t i = point == std::string::npos ? number.size() : point + 1; i < number.size(); ++i) {
    unit /= 10.0;
  }
  return unit / 2 + 1e-9;
}

inline nlohmann::json score_unit_cases(const std::string& file) {
  std::ifstream stream(score_data() / "sacrebleu_unit_cases.json");
  return nlohmann::json::parse(stream).at(file);
}

// [set][sentence], as sacreBLEU takes references, to [sentence][set], as Heed does.
inline std::vector<std::vector<std::string>> by_sentence(
    const std::vector<std::vector<std::string>>& sets) {
  std::vector<std::vector<std::string>> result(sets.front().size());
  for (const std::vector<std::string>& set : sets) {
    for (size_t i = 0; i < set.size(); ++i) {
      result[i].push_back(set[i]);
    }
  }
  return result;
}

inline std::vector<std::vector<std::string>> one_each(const std::vector<std::string>& references) {
  return by_sentence({references});
}

}  // namespace heed::testing
