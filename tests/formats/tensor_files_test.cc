// Tensors of a folder, in one file or in shards, and what may be wrong with an index.
#include "formats/tensor_files.h"

#include <gtest/gtest.h>

#include "base/config.h"
#include "support/error_of.h"
#include "support/text_files.h"

namespace heed::testing {
namespace {

namespace fs = std::filesystem;

constexpr const char* kIndex = "model.safetensors.index.json";

void write_tensors(const fs::path& file, const std::vector<std::pair<std::string, float>>& values) {
  std::vector<Tensor> tensors;
  std::vector<NamedTensor> named;
  for (const auto& [name, value] : values) {
    tensors.push_back(Tensor::full({2, 3}, value));
    named.push_back(named_tensor(name, tensors.back()));
  }
  write_safetensors(file, named);
}

// Two shards: a and b, c and d. Tensor x holds the number of the letter.
struct Shards {
  Shards() {
    write_tensors(folder / "one.safetensors", {{"a", 1.0F}, {"b", 2.0F}});
    write_tensors(folder / "two.safetensors", {{"c", 3.0F}, {"d", 4.0F}});
    for (const char* name : {"a", "b"}) {
      map[name] = "one.safetensors";
    }
    for (const char* name : {"c", "d"}) {
      map[name] = "two.safetensors";
    }
    write_index({{"metadata", {{"total_size", 96}}}, {"weight_map", map}});
  }

  void write_index(const Json& json) const { folder.write(kIndex, json.dump()); }
  // With the tensor said to be in another file.
  std::string error_with(const std::string& tensor, const Json& file) const {
    Json changed = map;
    changed[tensor] = file;
    write_index({{"weight_map", changed}});
    return error_of([&] { TensorFiles{folder / ""}; });
  }
  std::string index() const { return (folder / kIndex).string(); }

  TemporaryFolder folder;
  Json map = Json::object();
};

std::vector<float> values_of(const TensorFiles& files, const std::string& name) {
  std::vector<float> values(6);
  files.copy(*files.find(name), values);
  return values;
}

TEST(TensorFiles, OneFile) {
  const TemporaryFolder folder;
  EXPECT_FALSE(has_tensors(folder / ""));
  write_tensors(folder / "model.safetensors", {{"a", 1.5F}, {"b", 2.5F}});
  EXPECT_TRUE(has_tensors(folder / ""));
  for (const fs::path& path : {folder / "", folder / "model.safetensors"}) {
    const TensorFiles files(path);
    EXPECT_EQ(files.path(), folder / "model.safetensors");
    EXPECT_EQ(files.entries().size(), 2U);
    EXPECT_EQ(values_of(files, "b"), std::vector<float>(6, 2.5F));
    EXPECT_EQ(files.find("c"), nullptr);
    EXPECT_EQ(files.bytes(), fs::file_size(folder / "model.safetensors"));
  }
}

TEST(TensorFiles, ShardsAreAsOneFile) {
  const Shards shards;
  EXPECT_TRUE(has_tensors(shards.folder / ""));
  const TensorFiles files(shards.folder / "");
  EXPECT_EQ(files.path(), shards.folder / kIndex);
  ASSERT_EQ(files.entries().size(), 4U);
  float expected = 0.0F;
  for (const char* name : {"a", "b", "c", "d"}) {
    expected += 1.0F;
    ASSERT_NE(files.find(name), nullptr);
    EXPECT_EQ(files.find(name)->shape, (std::vector<int64_t>{2, 3}));
    EXPECT_EQ(values_of(files, name), std::vector<float>(6, expected));
  }
  EXPECT_EQ(files.find("e"), nullptr);
  EXPECT_EQ(files.bytes(), fs::file_size(shards.folder / "one.safetensors") +
                               fs::file_size(shards.folder / "two.safetensors"));
}

TEST(TensorFiles, AWholeFileIsPreferred) {
  const Shards shards;
  write_tensors(shards.folder / "model.safetensors", {{"z", 9.0F}});
  EXPECT_EQ(TensorFiles(shards.folder / "").entries().size(), 1U);
}

TEST(TensorFiles, TheOnlyFileMayHaveAnyName) {
  const TemporaryFolder folder;
  write_tensors(folder / "model.fp16.safetensors", {{"a", 1.0F}});
  EXPECT_TRUE(has_tensors(folder / ""));
  EXPECT_EQ(TensorFiles(folder / "").path(), folder / "model.fp16.safetensors");
  write_tensors(folder / "other.safetensors", {{"a", 2.0F}});
  EXPECT_FALSE(has_tensors(folder / ""));
  EXPECT_NE(error_of([&] { TensorFiles{folder / ""}; }), "no error");
  write_tensors(folder / "model.safetensors", {{"a", 3.0F}});
  EXPECT_EQ(values_of(TensorFiles(folder / ""), "a"), std::vector<float>(6, 3.0F));
}

TEST(TensorFiles, NoFiles) {
  const TemporaryFolder folder;
  EXPECT_EQ(error_of([&] { TensorFiles{folder / ""}; }),
            "[model folder] " + (folder / "").string() +
                " has neither model.safetensors nor model.safetensors.index.json");
  const std::string none = (folder / "none.safetensors").string();
  EXPECT_NE(error_of([&] { TensorFiles{none}; }).find(none), std::string::npos);
}

TEST(TensorFiles, MissingOrDamagedShard) {
  const Shards shards;
  const std::string missing = shards.error_with("e", "three.safetensors");
  EXPECT_NE(missing.find((shards.folder / "three.safetensors").string()), std::string::npos)
      << missing;
  shards.folder.write("three.safetensors", "no tensors");
  const std::string damaged = shards.error_with("e", "three.safetensors");
  EXPECT_TRUE(
      damaged.starts_with("[safetensors] " + (shards.folder / "three.safetensors").string()))
      << damaged;
}

TEST(TensorFiles, TensorThatIsNowhere) {
  const Shards shards;
  EXPECT_EQ(shards.error_with("e", "two.safetensors"),
            "[model folder] " + shards.index() + ": tensor e is not in two.safetensors");
}

TEST(TensorFiles, TensorInTwoFiles) {
  const Shards shards;
  write_tensors(shards.folder / "zero.safetensors", {{"e", 5.0F}, {"b", 6.0F}});
  EXPECT_EQ(shards.error_with("e", "zero.safetensors"),
            "[model folder] tensor b is in " + (shards.folder / "one.safetensors").string() +
                " and in " + (shards.folder / "zero.safetensors").string());
}

// An index from strangers must not reach files elsewhere.
TEST(TensorFiles, FilesElsewhere) {
  const Shards shards;
  for (const std::string& name :
       {std::string("../x"), std::string("/etc/passwd"), std::string("a/b.safetensors"),
        std::string("./one.safetensors"), std::string("one.safetensors/")}) {
    EXPECT_EQ(shards.error_with("e", name), "[model folder] " + shards.index() + " names " + name +
                                                ", expected a file beside it");
  }
  for (const char* name : {"", ".", ".."}) {
    const std::string error = shards.error_with("e", name);
    EXPECT_NE(error, "no error") << name;
    EXPECT_NE(error.find(shards.folder.operator/("").string()), std::string::npos) << error;
  }
}

TEST(TensorFiles, WrongJson) {
  const Shards shards;
  const auto error_with = [&](const std::string& text) {
    shards.folder.write(kIndex, text);
    return error_of([&] { TensorFiles{shards.folder / ""}; });
  };
  for (const char* text : {"", "{", "[]", "3", "{}", R"({"weight_map": 3})",
                           R"({"weight_map": ["one.safetensors"]})", R"({"weight_map": {}})",
                           R"({"weight_map": null})", "{\"weight_map\": {\"\xFF\": \"one\"}}"}) {
    EXPECT_EQ(error_with(text), "[model folder] " + shards.index() +
                                    " has no weight_map that names tensors and their files")
        << text;
  }
  EXPECT_EQ(shards.error_with("e", 3),
            "[model folder] " + shards.index() + ": the file of tensor e is 3, expected text");
  EXPECT_EQ(shards.error_with("e", Json::array({"one.safetensors"})),
            "[model folder] " + shards.index() +
                ": the file of tensor e is [\"one.safetensors\"], expected text");
  constexpr size_t kDepth = 1'000'000;
  EXPECT_EQ(error_with(R"({"weight_map": {"a": )" + std::string(kDepth, '[') +
                       std::string(kDepth, ']') + "}}"),
            "[model folder] " + shards.index() + " is nested more than 16 deep");
}

}  // namespace
}  // namespace heed::testing
