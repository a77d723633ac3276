// What config.json says about a model besides its configuration: what its tokens stand for, its
// languages and its classes; and what is guessed about folders that do not say.
#include "models/folder_config.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "support/error_of.h"
#include "support/tiny_music.h"

namespace heed::testing {
namespace {

Json read_json(const TemporaryFolder& folder) {
  return Json::parse(read_file(folder / "config.json"));
}

FolderConfig translator() {
  FolderConfig config;
  config.model = resolve_model_config({{"kind", "transformer"}, {"vocabulary", 12}}, "test");
  return config;
}

TEST(FolderConfig, ContentAndLanguagesComeBack) {
  for (const char* kind : {"transformer", "gpt2", "bert"}) {
    const TemporaryFolder folder;
    FolderConfig config;
    config.model = resolve_model_config({{"kind", kind}}, "test");
    for (const Content content : {Content::text, Content::performance, Content::chorale}) {
      config.content = content;
      config.source_language = "en";
      config.target_language = "de";
      config.examples = {"A dog runs.", "two\ttexts"};
      save_config(folder / "", config);
      const FolderConfig loaded = load_config(folder / "");
      EXPECT_EQ(loaded.content, content);
      EXPECT_EQ(loaded.source_language, "en");
      EXPECT_EQ(loaded.target_language, "de");
      EXPECT_EQ(loaded.examples, config.examples);
      EXPECT_EQ(loaded.music().has_value(), content != Content::text);
    }
    EXPECT_EQ(read_json(folder).at("content"), "chorale");
    EXPECT_EQ(load_config(folder / "").music(), MusicForm::chorale);
  }
}

TEST(FolderConfig, TrainingLinesComeBack) {
  const TemporaryFolder folder;
  FolderConfig config = translator();
  config.training_lines = {
      .typical_tokens = 14, .most_tokens = 33, .most_sentences = 1, .least_ratio = 0.5};
  save_config(folder / "", config);
  const FolderConfig loaded = load_config(folder / "");
  ASSERT_TRUE(loaded.training_lines.has_value());
  EXPECT_TRUE(config::equal(*loaded.training_lines, *config.training_lines));
}

TEST(FolderConfig, WhatIsNotSaidIsNotWritten) {
  const TemporaryFolder folder;
  save_config(folder / "", translator());
  for (const char* key :
       {"content", "source_language", "target_language", "training_lines", "examples"}) {
    EXPECT_FALSE(read_json(folder).contains(key)) << key;
  }
  const FolderConfig loaded = load_config(folder / "");
  EXPECT_FALSE(loaded.content.has_value());
  EXPECT_EQ(loaded.source_language, "");
  // Images are no tokens.
  FolderConfig image;
  image.model = resolve_model_config({{"kind", "pixel_cnn"}}, "test");
  image.content = Content::text;
  save_config(folder / "", image);
  EXPECT_FALSE(read_json(folder).contains("content"));
}

TEST(FolderConfig, WrongValuesAreNamed) {
  const TemporaryFolder folder;
  save_config(folder / "", translator());
  const Json good = read_json(folder);
  const std::string place = "[model folder] " + (folder / "config.json").string() + ": ";
  const auto error_with = [&](const char* key, const Json& value) {
    Json json = good;
    json[key] = value;
    folder.write("config.json", json.dump());
    return error_of([&] { load_config(folder / ""); });
  };
  EXPECT_EQ(error_with("content", "painting"),
            place + "content is \"painting\", expected text, performance or chorale");
  EXPECT_EQ(error_with("content", 3), place + "content is 3, expected a text");
  EXPECT_EQ(error_with("source_language", Json::array({"en"})),
            place + "source_language is [\"en\"], expected a text");
  EXPECT_EQ(error_with("target_language", true),
            place + "target_language is true, expected a text");
  EXPECT_NE(error_with("training_lines", "long").find("training_lines"), std::string::npos);
  EXPECT_NE(error_with("training_lines", {{"most_tokens", 0}}).find("training_lines.most_tokens"),
            std::string::npos);
  EXPECT_EQ(error_with("examples", "A dog"),
            place + "examples is \"A dog\", expected a list of texts");
  EXPECT_EQ(error_with("examples", Json::array({"A dog", 3})),
            place + "examples is [\"A dog\",3], expected a list of texts");
}

// Classes of images had names in config.json that nobody read.
TEST(FolderConfig, ImagesKeepTheNamesOfTheirClasses) {
  const TemporaryFolder folder;
  FolderConfig config;
  config.model = with_images(resolve_model_config({{"kind", "pixel_cnn"}}, "test"),
                             {.rows = 4, .columns = 4, .channels = 1, .levels = 2, .classes = 2});
  save_config(folder / "", config);
  EXPECT_TRUE(load_config(folder / "").labels.empty());
  config.labels = {"cat", "dog"};
  save_config(folder / "", config);
  EXPECT_EQ(load_config(folder / "").labels, config.labels);
  EXPECT_FALSE(load_config(folder / "").score);
}

TEST(FolderConfig, MusicOfOldFoldersIsKnownByItsTokenizer) {
  for (const MusicForm form : {MusicForm::performance, MusicForm::chorale}) {
    const TinyMusicFolder old(form);
    EXPECT_FALSE(load_config(old.folder / "model").content.has_value());
    EXPECT_EQ(old.model->config.music(), form);
  }
  const TinyFolder text;
  EXPECT_EQ(text.load()->config.content, Content::text);
}

TEST(FolderConfig, ContentThatIsNotTheTokenizers) {
  const TinyMusicFolder music(MusicForm::performance);
  FolderConfig config = music.model->config;
  config.content = Content::chorale;
  const auto path = music.folder / "model";
  save_config(path, config);
  EXPECT_EQ(error_of([&] { load_as<LanguageModel>(path, DType::f32); }),
            "[model folder] " + path.string() +
                ": config.json says that the content is chorale, the tokenizer is that of another "
                "form of music");
}

TEST(FolderConfig, LanguagesOfOldFoldersAreReadFromNames) {
  const auto tokenizer = train_tokenizer({"abc"}, {.kind = "char"});
  const auto guessed = [&](const std::string& name, FolderConfig config = translator()) {
    guess_what_folder_leaves_out(config, tokenizer.get(), name);
    return config.source_language + ">" + config.target_language;
  };
  EXPECT_EQ(guessed("en-de"), "en>de");
  EXPECT_EQ(guessed("multi30k-en-de.2"), "en>de");
  EXPECT_EQ(guessed("multi30k"), ">");
  EXPECT_EQ(guessed("runs-2"), ">");
  FolderConfig says = translator();
  says.source_language = "fr";
  says.target_language = "it";
  EXPECT_EQ(guessed("en-de", says), "fr>it");
  FolderConfig gpt;
  gpt.model = resolve_model_config({{"kind", "gpt2"}}, "test");
  EXPECT_EQ(guessed("en-de", gpt), ">");
}

}  // namespace
}  // namespace heed::testing
