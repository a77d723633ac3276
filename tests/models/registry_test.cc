// What the registry says about models, of every kind there is: it must be what the models are.
#include "models/registry.h"

#include <gtest/gtest.h>

#include "support/error_of.h"

namespace heed::testing {
namespace {

constexpr VocabularySizes kSeparate{.source = 48, .target = 64, .joint = false};
constexpr ImageSizes kImages{.rows = 28, .columns = 28, .channels = 1, .levels = 4};

Json resolved(const std::string& kind) { return resolve_model_config({{"kind", kind}}, "test"); }

Json adapted(const std::string& kind) {
  const Json model = resolved(kind);
  return model_spec(model).has_tokenizer() ? with_vocabularies(model, kSeparate)
                                           : with_images(model, kImages);
}

template <typename Interface>
const Interface* built_as(const Model& model, const ModelSpec& spec) {
  const auto* found = dynamic_cast<const Interface*>(&model);
  EXPECT_EQ(found != nullptr, spec.interface == Interface::kInterface);
  return found;
}

TEST(Registry, EveryKindIsWhatItsSpecSays) {
  ASSERT_FALSE(describe_models().empty());
  for (const ModelHelp& help : describe_models()) {
    SCOPED_TRACE(help.kind);
    const Json json = adapted(help.kind);
    const ModelSpec spec = model_spec(json);
    EXPECT_EQ(spec.kind, help.kind);
    ParameterStore store;
    const std::unique_ptr<Model> model = make_model(store.root(), json);
    if (const auto* translator = built_as<TranslationModel>(*model, spec)) {
      EXPECT_EQ(spec.source_vocabulary, kSeparate.source);
      EXPECT_EQ(spec.target_vocabulary, translator->target_vocabulary());
      EXPECT_EQ(spec.longest, translator->longest());
    }
    if (const auto* language = built_as<LanguageModel>(*model, spec)) {
      EXPECT_EQ(spec.source_vocabulary, language->vocabulary());
      EXPECT_EQ(spec.target_vocabulary, language->vocabulary());
      EXPECT_EQ(spec.longest, language->context());
    }
    if (const auto* encoder = built_as<TextEncoder>(*model, spec)) {
      EXPECT_EQ(spec.source_vocabulary, encoder->vocabulary());
      EXPECT_EQ(spec.longest, encoder->longest());
      EXPECT_EQ(spec.classes, encoder->labels());
      EXPECT_TRUE(spec.width == 0 || spec.width == encoder->width());
    }
    if (const auto* image = built_as<ImageModel>(*model, spec)) {
      EXPECT_EQ(spec.classes, image->classes());
      EXPECT_EQ(image->layout().channels, kImages.channels);
      EXPECT_EQ(image->layout().levels, kImages.levels);
    }
    EXPECT_EQ(spec.target_vocabulary, spec.has_tokenizer() ? kSeparate.target : 0);
  }
}

TEST(Registry, PresetsHaveSpecs) {
  for (const ModelHelp& help : describe_models()) {
    for (const std::string& preset : help.presets) {
      const Json model = resolve_model_config({{"kind", help.kind}, {"preset", preset}}, "test");
      EXPECT_EQ(model_spec(model).kind, help.kind);
    }
  }
  EXPECT_EQ(model_spec(resolve_model_config({{"kind", "bert"}, {"preset", "base"}}, "test")).width,
            768);
}

TEST(Registry, JointVocabularies) {
  const Json joint =
      with_vocabularies(resolved("transformer"), {.source = 32, .target = 32, .joint = true});
  EXPECT_EQ(joint.at("source_vocabulary"), 0);
  EXPECT_EQ(model_spec(joint).source_vocabulary, 32);
  EXPECT_EQ(model_spec(joint).target_vocabulary, 32);
  EXPECT_EQ(joint.begin().key(), "kind");  // as in every config.json
}

TEST(Registry, LearnedPositionsAreALimit) {
  Json model = resolved("transformer");
  EXPECT_EQ(model_spec(model).longest, 0);
  model["positions"] = "learned";
  EXPECT_EQ(model_spec(model).longest, 1024);
  EXPECT_FALSE(model_spec(resolved("music_transformer")).from_start);
  Json music = resolved("music_transformer");
  music["cycles"] = {4, 16};
  EXPECT_TRUE(model_spec(music).from_start);
}

TEST(Registry, HeadsOfEncoders) {
  const Json masked = with_heads(resolved("bert"), {.masked = true, .next = true, .pooler = true});
  EXPECT_TRUE(model_spec(masked).masked_head);
  EXPECT_EQ(masked.at("next_head"), true);
  const Json classes = with_heads(masked, {.classes = 3});
  EXPECT_EQ(model_spec(classes).classes, 3);
  EXPECT_FALSE(model_spec(classes).masked_head);
  EXPECT_EQ(classes.at("pooler"), true);
  EXPECT_EQ(with_heads(classes, {.pooler = false}).at("pooler"), false);
  EXPECT_EQ(model_spec(with_heads(resolved("rnn_encoder"), {.classes = 2})).classes, 2);
}

TEST(Registry, BeginsWithAnother) {
  Json wanted = resolved("gpt2");
  wanted["dropout"] = 0.5;
  wanted["width"] = 64;
  const Json model = begun_with(wanted, resolved("gpt2"), "FOLDER");
  EXPECT_EQ(model.at("dropout"), 0.5);
  EXPECT_EQ(model.at("width"), 768);
  const Json parallel =
      begun_with(resolved("parallel_transformer"), resolved("transformer"), "FOLDER");
  EXPECT_EQ(model_spec(parallel).kind, "parallel_transformer");
  expect_error([] { begun_with(resolved("parallel_transformer"), resolved("rnn"), "FOLDER"); },
               "[train] FOLDER is a \"rnn\", the recipe needs a \"parallel_transformer\" or a "
               "\"transformer\"");
}

TEST(Registry, ModelsThatCannotFollow) {
  expect_error([] { with_vocabularies(resolved("pixel_cnn"), kSeparate); },
               "[model] a pixel_cnn reads no tokens");
  expect_error([] { with_heads(resolved("gpt2"), {}); }, "[model] a gpt2 is not a text encoder");
  expect_error([] { with_images(resolved("gpt2"), kImages); },
               "[model] a gpt2 is not an image model");
  expect_error([] { with_heads(resolved("rnn_encoder"), {.masked = true}); },
               "[masked] a rnn_encoder has no head for masked words");
  ImageSizes enlarging = kImages;
  enlarging.source_rows = enlarging.source_columns = 2;
  EXPECT_EQ(with_images(resolved("image_transformer"), enlarging).at("source_rows"), 2);
  expect_error([&] { with_images(resolved("pixel_cnn"), enlarging); },
               "[image] a pixel_cnn does not enlarge images: leave image.enlarge");
  Json narrow = resolved("pixel_cnn");
  narrow["columns"] = 7;
  expect_error([&] { with_images(narrow, kImages); },
               "[image] model.columns is 7, but the images have 28");
}

}  // namespace
}  // namespace heed::testing
