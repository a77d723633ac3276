// Model folders: what is saved comes back, and what is wrong with a folder is said by name.
#include "models/folder.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "formats/safetensors.h"
#include "models/registry.h"
#include "support/error_of.h"
#include "support/model_kinds.h"
#include "support/text_files.h"

namespace heed::testing {
namespace {

namespace fs = std::filesystem;

Json tiny_config(int64_t vocabulary) {
  return resolve_model_config({{"kind", "transformer"},
                               {"vocabulary", vocabulary},
                               {"width", 16},
                               {"heads", 2},
                               {"hidden", 24},
                               {"encoder_layers", 1},
                               {"decoder_layers", 1}},
                              "test");
}

std::shared_ptr<const Tokenizer> characters(const std::string& line) {
  return train_tokenizer({line}, {.kind = "char"});
}

// A folder with a small model whose values are drawn by chance, and that model.
struct Saved {
  Saved() {
    const auto tokenizer = characters("hello world");  // 4 special and 8 characters
    tokenizers = {tokenizer, tokenizer};
    config.model = tiny_config(tokenizer->size());
    any = make_model(store.root(), config.model);
    model = &model_as<Seq2SeqModel>(*any, config.model);
    store.allocate(DType::f32, 5, ParameterStore::Use::batch_invariant);
    save_config(path(), config);
    save_tokenizers(path(), tokenizers);
    save_parameters(file(), store, config.model);
  }

  fs::path path() const { return folder / ""; }
  fs::path file() const { return folder / "model.safetensors"; }
  void write_config(const Json& json) const { folder.write("config.json", json.dump()); }
  Json read_config() const { return Json::parse(read_file(folder / "config.json")); }
  std::vector<NamedTensor> tensors() const {
    std::vector<NamedTensor> result;
    for (const ParameterEntry& entry : store.entries()) {
      result.push_back(named_tensor(entry.name, entry.value));
    }
    return result;
  }
  std::string load_error() const {
    return error_of([&] { load_model(path(), DType::f32); });
  }

  TemporaryFolder folder;
  FolderConfig config;
  Tokenizers tokenizers;
  ParameterStore store;
  std::unique_ptr<Model> any;
  Seq2SeqModel* model = nullptr;
};

std::vector<float> logits_of(const Seq2SeqModel& model) {
  const std::vector<int32_t> source{4, 7, 11, 2, 5, 2, 0, 0};
  const std::vector<int32_t> lengths{4, 2};
  const std::vector<int32_t> input{1, 9, 4, 1, 6, 6};
  const Tensor target = Tensor::from_ints(input, {2, 3});
  return model
      .logits({.source = Tensor::from_ints(source, {2, 4}),
               .source_lengths = Tensor::from_ints(lengths, {2}),
               .input = target,
               .target = target,
               .target_lengths = Tensor::from_ints(std::vector<int32_t>{3, 3}, {2})})
      .to(DType::f32)
      .to_vector();
}

TEST(ModelFolder, RoundTrip) {
  const Saved saved;
  const auto loaded = load_model(saved.path(), DType::f32);
  EXPECT_EQ(logits_of(*loaded->model), logits_of(*saved.model));
  EXPECT_EQ(loaded->config.model, saved.config.model);
  EXPECT_TRUE(loaded->config.source_end);
  EXPECT_TRUE(loaded->tokenizers.joint());
  EXPECT_EQ(loaded->tokenizers.target->serialize(), saved.tokenizers.target->serialize());
}

TEST(ModelFolder, LoadsIntoTraining) {
  const Saved saved;
  ParameterStore store;
  const auto model = make_model(store.root(), saved.config.model);
  store.allocate(DType::bf16, 6);
  load_parameters(saved.file(), store, saved.config.model);
  for (const ParameterEntry& entry : saved.store.entries()) {
    const ParameterEntry& other = store.find(entry.name);
    EXPECT_EQ(other.value.to_vector(), entry.value.to_vector()) << entry.name;
    if (entry.shape.rank() > 1) {  // what the products use follows
      EXPECT_EQ(other.compute.to_vector(), entry.value.to(DType::bf16).to_vector()) << entry.name;
    }
  }
}

TEST(ModelFolder, SourceEnd) {
  const Saved saved;
  EXPECT_EQ(load_model(saved.path(), DType::f32)->encode_source("he").back(), 2);
  save_config(saved.path(), {.model = saved.config.model, .source_end = false});
  const auto loaded = load_model(saved.path(), DType::f32);
  EXPECT_EQ(loaded->encode_source("he"), saved.tokenizers.source->encode("he"));
  EXPECT_TRUE(loaded->encode_source("").empty());
}

TEST(ModelFolder, SeparateTokenizers) {
  const TemporaryFolder folder;
  const Tokenizers tokenizers{characters("source"), characters("target tokens")};
  EXPECT_FALSE(has_tokenizers(folder / ""));
  save_tokenizers(folder / "", tokenizers);
  EXPECT_TRUE(has_tokenizers(folder / ""));
  EXPECT_TRUE(fs::exists(folder / "source.vocabulary.json"));
  EXPECT_TRUE(fs::exists(folder / "target.vocabulary.json"));
  const Tokenizers loaded = load_tokenizers(folder / "");
  EXPECT_FALSE(loaded.joint());
  EXPECT_EQ(loaded.source->serialize(), tokenizers.source->serialize());
  EXPECT_EQ(loaded.target->serialize(), tokenizers.target->serialize());
  fs::remove(folder / "target.vocabulary.json");
  EXPECT_FALSE(has_tokenizers(folder / ""));
}

TEST(ModelFolder, MissingFiles) {
  const TemporaryFolder empty;
  const std::string none = (empty / "none").string();
  expect_error([&] { load_model(none, DType::f32); },
               "[model folder] " + none + " is not a folder");
  const std::string folder = (empty / "").string();
  expect_error([&] { load_model(folder, DType::f32); },
               "[model folder] " + folder + " has no config.json; is it a model folder?");
  const Saved saved;
  fs::remove(saved.file());
  EXPECT_EQ(saved.load_error(), "[model folder] " + saved.path().string() +
                                    " has no model.safetensors; has the training not finished?");
  fs::remove(saved.folder / "vocabulary.json");
  EXPECT_EQ(saved.load_error(), "[model folder] " + saved.path().string() +
                                    " has no tokenizer: neither tokenizer.model, vocabulary.json, "
                                    "tokenizer.json nor source.* and target.*");
}

TEST(ModelFolder, ConfigsOfOthers) {
  const Saved saved;
  const std::string file = (saved.folder / "config.json").string();
  saved.folder.write("config.json", "{\"format\": ");
  EXPECT_EQ(saved.load_error(), "[model folder] " + file + " is not valid JSON");
  saved.folder.write("config.json", "[1]");
  EXPECT_EQ(saved.load_error(), "[model folder] " + file + " holds no JSON object");
  saved.folder.write("config.json", R"({"architectures": ["MarianMTModel"]})");
  EXPECT_EQ(saved.load_error(),
            "[model folder] " + file +
                " is not the config of a Heed model; `heed convert` imports others");
  constexpr size_t kDepth = 1'000'000;
  saved.folder.write("config.json", R"({"format": "heed", "version": )" + std::string(kDepth, '[') +
                                        std::string(kDepth, ']') + "}");
  EXPECT_EQ(saved.load_error(), "[model folder] " + file + " is nested more than 100 deep");
}

TEST(ModelFolder, WrongVersion) {
  const Saved saved;
  const std::string file = (saved.folder / "config.json").string();
  Json json = saved.read_config();
  json["version"] = 2;
  saved.write_config(json);
  EXPECT_EQ(saved.load_error(), "[model folder] " + file + " has version 2, expected 1");
  json.erase("version");
  saved.write_config(json);
  EXPECT_EQ(saved.load_error(), "[model folder] " + file + " has version none, expected 1");
}

TEST(ModelFolder, WrongConfig) {
  const Saved saved;
  const std::string place = "[" + (saved.folder / "config.json").string() + "] ";
  const Json good = saved.read_config();
  const auto error_with = [&](const char* key, const Json& value) {
    Json json = good;
    json["model"][key] = value;
    saved.write_config(json);
    return saved.load_error();
  };
  EXPECT_EQ(error_with("widht", 16),
            place + "there is no key model.widht; did you mean model.width?");
  EXPECT_EQ(error_with("width", "16"), place + "model.width is \"16\", expected a whole number");
  EXPECT_EQ(error_with("width", -1), place + "model.width is -1, expected at least 1");
  EXPECT_EQ(error_with("dropout", 1e300), place + "model.dropout is 1e+300, which is out of range");
  EXPECT_EQ(error_with("kind", "transformers"),
            place + "model.kind is \"transformers\", expected one of: " + model_kinds());
  EXPECT_EQ(error_with("kind", Json::array({1})),
            place + "model.kind is a list, expected a text in quotes");
  Json json = good;
  json["source_end"] = 1;
  saved.write_config(json);
  EXPECT_EQ(saved.load_error(), "[model folder] " + (saved.folder / "config.json").string() +
                                    ": source_end is not true or false");
  json = good;
  json["model"] = 3;
  saved.write_config(json);
  EXPECT_EQ(saved.load_error(), place + "model is 3, expected a table");
}

TEST(ModelFolder, MissingTensor) {
  const Saved saved;
  std::vector<NamedTensor> tensors = saved.tensors();
  const std::string name = tensors[2].name;
  tensors.erase(tensors.begin() + 2);
  write_safetensors(saved.file(), tensors);
  EXPECT_EQ(saved.load_error(),
            "[model folder] " + saved.file().string() + " has no tensor " + name);
}

TEST(ModelFolder, ExtraTensor) {
  const Saved saved;
  std::vector<NamedTensor> tensors = saved.tensors();
  const Tensor value = Tensor::zeros({3});
  tensors.push_back(named_tensor("encoder.7.norm1.weight", value));
  write_safetensors(saved.file(), tensors);
  const std::string expected =
      "[model folder] " + saved.file().string() +
      ": tensor encoder.7.norm1.weight belongs to no parameter of this model";
  EXPECT_EQ(saved.load_error(), expected);
  // As many as there should be, but not those.
  tensors.erase(tensors.begin());
  write_safetensors(saved.file(), tensors);
  EXPECT_EQ(saved.load_error(), expected);
}

TEST(ModelFolder, WrongTensor) {
  const Saved saved;
  const std::string name = saved.tensors()[0].name;
  ASSERT_EQ(saved.tensors()[0].shape, (Shape{12, 16}));
  const auto error_with = [&](const Tensor& value) {
    std::vector<NamedTensor> tensors = saved.tensors();
    tensors[0] = named_tensor(name, value);
    write_safetensors(saved.file(), tensors);
    return saved.load_error();
  };
  const std::string place = "[model folder] " + saved.file().string() + ": tensor " + name;
  EXPECT_EQ(error_with(Tensor::zeros({12, 17})), place + " is [12,17], expected [12,16]");
  EXPECT_EQ(error_with(Tensor::zeros({16, 12})), place + " is [16,12], expected [12,16]");
  EXPECT_EQ(error_with(Tensor::zeros({12 * 16})), place + " is [192], expected [12,16]");
  const std::string integers = error_with(Tensor::zeros({12, 16}, DType::i32));
  EXPECT_NE(integers.find(saved.file().string()), std::string::npos) << integers;
  EXPECT_NE(integers.find("'" + name + "'"), std::string::npos) << integers;
}

TEST(ModelFolder, DamagedParameters) {
  const Saved saved;
  const std::string bytes = read_file(saved.file());
  saved.folder.write("model.safetensors", bytes.substr(0, bytes.size() - 4));
  const std::string error = saved.load_error();
  EXPECT_TRUE(error.starts_with("[safetensors] " + saved.file().string())) << error;
  saved.folder.write("model.safetensors", "");
  EXPECT_TRUE(saved.load_error().starts_with("[safetensors] " + saved.file().string()));
}

TEST(ModelFolder, TokenizerLargerThanTheVocabulary) {
  const Saved saved;
  const auto larger = characters("hello worlds");
  save_tokenizers(saved.path(), {larger, larger});
  EXPECT_EQ(saved.load_error(),
            "[model folder] " + saved.path().string() +
                ": the target tokenizer has 13 pieces, the model a vocabulary of 12");
  fs::remove(saved.folder / "vocabulary.json");
  save_tokenizers(saved.path(), {larger, saved.tokenizers.target});
  EXPECT_EQ(saved.load_error(),
            "[model folder] " + saved.path().string() +
                ": the source tokenizer has 13 pieces, the model a vocabulary of 12");
}

}  // namespace
}  // namespace heed::testing
