// What tests of text data share: a folder for files that vanishes with the test, and a tokenizer
// whose ids are easily computed by hand.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "text/tokenizer.h"

namespace heed::testing {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "heed-test-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

  std::filesystem::path write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
    return path_ / name;
  }
  std::filesystem::path write_gzip(const std::string& name, const std::string& bytes) const {
    gzFile file = gzopen((path_ / name).c_str(), "wb");
    EXPECT_EQ(gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())),
              static_cast<int>(bytes.size()));
    EXPECT_EQ(gzclose(file), Z_OK);
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

// Words between blanks. A number n has the id 4 + n; other words get one by their hash. Special
// ids can be moved to show that nobody counts on their usual values.
class WordTokenizer : public Tokenizer {
 public:
  explicit WordTokenizer(const SpecialIds& special = {}) : special_(special) {}

  std::vector<int32_t> encode(std::string_view text) const override {
    return encode_with_offsets(text).ids;
  }
  Encoding encode_with_offsets(std::string_view text) const override {
    Encoding result{.ids = {}, .ranges = words_at_spaces(text)};
    for (const TextRange& range : result.ranges) {
      const std::string word(text.substr(range.begin, range.end - range.begin));
      const bool number = std::isdigit(static_cast<unsigned char>(word[0])) != 0;
      result.ids.push_back(number ? 4 + std::stoi(word)
                                  : 4 + static_cast<int32_t>(stream_of(word) % 1'000'000));
    }
    return result;
  }
  std::string decode(std::span<const int32_t> /*ids*/) const override { return ""; }
  int32_t size() const override { return 1'000'004; }
  std::string piece(int32_t id) const override { return std::to_string(id - 4); }
  std::optional<int32_t> find(std::string_view /*piece*/) const override { return std::nullopt; }
  const SpecialIds& special() const override { return special_; }
  std::string_view kind() const override { return "word"; }
  std::string_view file_name() const override { return "none"; }
  std::string serialize() const override { return ""; }

 private:
  SpecialIds special_;
};

}  // namespace heed::testing
