// Which service a folder gets, and what /v1/models tells about it.
#include "serve/hub.h"

#include <gtest/gtest.h>

#include "serve/http/http.h"
#include "serve/services/attention_job.h"
#include "serve/services/completion_service.h"
#include "serve/services/encode_service.h"
#include "serve/services/image_service.h"
#include "serve/services/music_service.h"
#include "serve/services/translate_service.h"
#include "support/error_of.h"
#include "support/tiny_encoder.h"
#include "support/tiny_music.h"

namespace heed::serve::testing {
namespace {

using heed::testing::tiny_accompanist;
using heed::testing::tiny_gpt;
using heed::testing::TinyEncoder;
using heed::testing::TinyFolder;
using Abilities = std::set<std::string>;

// One folder, served under a name.
struct Serving {
  explicit Serving(const std::filesystem::path& folder, const std::string& name = "it") {
    hub.add(name, folder);
  }
  const ServedModel& model() const { return *hub.models().front(); }
  // Without what is told of every model.
  Json heed() const {
    Json told = describe(model())["heed"];
    EXPECT_EQ(told.erase("examples") + told.erase("parameters"), 2U);
    return told;
  }

  Hub hub{{.slots = 1, .queue = 1}};
};

heed::Json tiny_translator() { return tiny_accompanist(); }

std::string status_of(const std::function<void()>& run) {
  try {
    run();
  } catch (const HttpError& error) {
    return fmt::format("{} {}: {}", error.status, error.code, error.what());
  }
  return "no error";
}

TEST(Hub, LanguageModels) {
  const TinyFolder folder;
  const Serving serving(folder.path());
  EXPECT_EQ(serving.model().abilities, (Abilities{"complete", "attention"}));
  EXPECT_EQ(serving.model().served_by<CompletionService>().model().model->context(), 24);
  EXPECT_EQ(serving.heed(), Json::parse(R"({"kind": "gpt2", "abilities": ["attention", "complete"],
      "context": 24, "vocabulary": 38})"));
  const TinyFolder universal(
      {{"kind", "universal_language"}, {"width", 16}, {"heads", 2}, {"hidden", 24}});
  EXPECT_EQ(Serving(universal.path()).model().abilities, (Abilities{"complete", "attention"}));
  const TinyFolder recurrent({{"kind", "rnn_language"}, {"embedding", 8}, {"hidden", 8}});
  EXPECT_EQ(Serving(recurrent.path()).model().abilities, (Abilities{"complete"}));
}

TEST(Hub, ExamplesAndSize) {
  TinyFolder folder;
  folder.config.examples = {"the fox", "a dog"};
  save_config(folder.path(), folder.config);
  const Serving serving(folder.path());
  const Json told = describe(serving.model())["heed"];
  EXPECT_EQ(told["examples"], Json::array({"the fox", "a dog"}));
  EXPECT_EQ(told["parameters"], folder.store.count());
}

TEST(Hub, Encoders) {
  const TinyEncoder folder({{"labels", 2}, {"masked_head", true}}, {.labels = {"cat", "dog"}});
  const Serving serving(folder.path());
  EXPECT_EQ(serving.model().abilities, (Abilities{"embed", "attention", "classify", "fill"}));
  const auto& service = serving.model().served_by<EncodeService>();
  EXPECT_EQ(service.second_field(), "pair");
  EXPECT_EQ(serving.heed(), Json::parse(R"({"kind": "bert",
      "abilities": ["attention", "classify", "embed", "fill"], "width": 16, "context": 20,
      "labels": ["cat", "dog"], "score": false, "vocabulary": )" +
                                        std::to_string(service.model().model->vocabulary()) + "}"));
  EXPECT_EQ(Serving(TinyEncoder().path()).model().abilities, (Abilities{"embed", "attention"}));
  const TinyEncoder universal({{"kind", "universal_encoder"},
                               {"width", 16},
                               {"heads", 2},
                               {"hidden", 24},
                               {"labels", 2},
                               {"masked_head", true}},
                              {.labels = {"cat", "dog"}});
  EXPECT_EQ(Serving(universal.path()).model().abilities,
            (Abilities{"embed", "attention", "classify", "fill"}));
}

TEST(Hub, OnlyModelsWithAttentionOfferIt) {
  const TinyEncoder encoder({{"kind", "rnn_encoder"}, {"embedding", 8}, {"hidden", 8}});
  EXPECT_EQ(Serving(encoder.path()).model().abilities, (Abilities{"embed"}));
  for (const bool attention : {false, true}) {
    const TinyFolder translator(
        {{"kind", "rnn"}, {"embedding", 8}, {"hidden", 8}, {"attention", attention}});
    EXPECT_EQ(Serving(translator.path()).model().abilities.contains("attention"), attention);
  }
}

TEST(Hub, TranslatorsSayTheirLanguages) {
  const TinyFolder folder(tiny_translator());
  Json told = Serving(folder.path()).heed();
  const Json decodings = told["decodings"];
  told.erase("decodings");
  EXPECT_EQ(told, Json::parse(R"({"kind": "transformer", "abilities": ["attention", "translate"],
      "source": "source", "target": "target", "decoding": "beam"})"));
  ASSERT_EQ(decodings.size(), 2U);
  EXPECT_EQ(decodings[0]["name"], "greedy");
  EXPECT_EQ(decodings[0]["options"], Json::array());
  EXPECT_EQ(decodings[1]["options"][0], Json::parse(R"({"name": "beam", "default": 4, "least": 1,
      "most": 16, "help": "hypotheses that go on at each step"})"));
  EXPECT_EQ(decodings[1]["options"][1]["default"], 0.6);
  EXPECT_EQ(Serving(folder.path(), "old-en-de").heed()["target"], "de");
  FolderConfig config = folder.config;
  config.content = Content::text;
  config.source_language = "fr";
  config.target_language = "it";
  save_config(folder.path(), config);
  const Serving serving(folder.path(), "en-de");
  EXPECT_EQ(serving.model().served_by<TranslateService>().source_language(), "fr");
  EXPECT_EQ(serving.heed()["target"], "it");
  EXPECT_TRUE(serving.model().served_by<AttendsToText>().translates());
}

TEST(Hub, MusicIsServedByWhatTheFolderSays) {
  const heed::testing::TemporaryFolder folder;
  for (const bool says : {false, true}) {
    const auto path = folder / (says ? "new" : "old");
    heed::testing::write_music_folder(path, MusicForm::chorale);
    if (says) {
      FolderConfig config = load_config(path);
      config.content = Content::chorale;
      save_config(path, config);
    }
    const Serving serving(path);
    EXPECT_EQ(serving.model().abilities, (Abilities{"music", "attention"}));
    EXPECT_EQ(serving.model().served_by<MusicService>().form(), MusicForm::chorale);
    EXPECT_EQ(serving.model().if_served_by<AttendsToText>(), nullptr);
    EXPECT_EQ(serving.heed()["form"], "chorale");
    EXPECT_EQ(serving.heed()["context"], 128);
  }
  heed::testing::write_music_folder(folder / "harmonise", MusicForm::performance,
                                    tiny_accompanist());
  const Serving serving(folder / "harmonise");
  EXPECT_EQ(serving.model().abilities, (Abilities{"accompany"}));
  EXPECT_EQ(serving.model().served_by<AccompanyService>().form(), MusicForm::performance);
  EXPECT_EQ(serving.heed(), Json::parse(R"({"kind": "transformer", "abilities": ["accompany"],
      "form": "performance"})"));
}

TEST(Hub, ImagesAndTheNamesOfTheirClasses) {
  const heed::testing::TemporaryFolder folder;
  FolderConfig config;
  config.model = with_images(
      resolve_model_config({{"kind", "pixel_cnn"}, {"width", 8}, {"layers", 1}}, "test"),
      {.rows = 4, .columns = 3, .channels = 1, .levels = 2, .classes = 2});
  config.labels = {"cat", "dog"};
  ParameterStore store;
  const auto model = make_model(store.root(), config.model);
  store.allocate(DType::f32, 8, ParameterStore::Use::batch_invariant);
  save_folder(folder / "m", config, {}, store);
  const Serving serving(folder / "m");
  EXPECT_EQ(serving.heed(), Json::parse(R"({"kind": "pixel_cnn", "abilities": ["image"], "rows": 4,
      "columns": 3, "channels": 1, "levels": 2, "enlarges": false, "source_rows": 0,
      "source_columns": 0, "classes": ["cat", "dog"]})"));
  EXPECT_FALSE(serving.model().served_by<ImageService>().enlarges());
}

TEST(Hub, FindsByNameAndAbility) {
  const TinyFolder folder;
  Serving serving(folder.path());
  EXPECT_EQ(serving.hub.find("", "complete").name, "it");
  EXPECT_EQ(serving.hub.find("it", "complete").name, "it");
  EXPECT_EQ(status_of([&] { serving.hub.find("", "image"); }),
            "404 model_not_found: no model here has the ability image");
  EXPECT_EQ(status_of([&] { serving.hub.find("other", "complete"); }),
            "404 model_not_found: there is no model named \"other\"");
  EXPECT_EQ(status_of([&] { serving.hub.find("it", "image"); }),
            "400 wrong_model: model it does not have the ability image; it has: attention, "
            "complete");
  EXPECT_EQ(serving.model().if_served_by<ImageService>(), nullptr);
  heed::testing::expect_error([&] { serving.model().served_by<ImageService>(); },
                              "[serve] model it is served by another service");
  heed::testing::expect_error([&] { serving.hub.add("it", folder.path()); },
                              "[serve] two models are named it; give one of them another name with "
                              "--model NAME=DIR");
  EXPECT_TRUE(heed::testing::error_of([&] {
                serving.hub.add("absent", "no/such/folder");
              }).starts_with("[serve] cannot load model absent from no/such/folder: "));
}

}  // namespace
}  // namespace heed::serve::testing
