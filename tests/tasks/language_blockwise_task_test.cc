// Training proposals of a language model and of an image model: what they say themselves stays as
// it was, to the bit, and they say it in fewer passes.
#include "tasks/blockwise/language_blockwise_task.h"

#include <gtest/gtest.h>

#include "data/images/drawings.h"
#include "decode/images/blockwise_images.h"
#include "decode/text/generate.h"
#include "formats/png.h"
#include "support/tiny_training.h"

namespace heed {
namespace {

using namespace testing;

void expect_same_base(const LoadedFolder& base, LoadedFolder& learned) {
  for (const ParameterEntry& entry : base.store.entries()) {
    EXPECT_EQ(learned.store.find(entry.name).value.to_vector(), entry.value.to_vector())
        << entry.name;
  }
}

TEST(LanguageBlockwiseTask, KeepsTheModelToTheBitAndForeseesAVerse) {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 80; ++i) {
    text += "quick fox jumps,\n";
  }
  Json recipe = Json::parse(R"({
      "task": "language",
      "data": {"batch_tokens": 256, "valid_share": 0.1},
      "text": {"kind": "char"},
      "model": {"kind": "gpt2", "context": 32, "width": 32, "heads": 2, "layers": 1},
      "train": {"steps": 60, "precision": "f32", "label_smoothing": 0.0},
      "schedule": {"kind": "constant", "rate": 0.01, "warmup": 0},
      "validation": {"every": 20}})");
  recipe["data"]["text"] = Json::array({folder.write("train.txt", text).string()});
  train(recipe, folder / "base");
  recipe["task"] = "language_blockwise";
  recipe["model"] = {{"kind", "blockwise_gpt2"}, {"block", 3}};
  recipe["train"]["from"] = (folder / "base").string();
  recipe["train"]["steps"] = 120;
  Watcher watcher;
  train(recipe, folder / "run", watcher);
  EXPECT_LT(watcher.validations.back().score.loss, 0.5);
  const auto base = load_as<LanguageModel>(folder / "base", DType::f32);
  const auto learned = load_as<LanguageModel>(folder / "run", DType::f32);
  expect_same_base(*base, *learned);
  const GenerateRequest request{encode_prompt(*base->tokenizers.target, "quick")};
  const GenerateOptions options{.sampling = {.temperature = 0.0F}, .max_tokens = 60};
  const Generated plain = generate(*base, std::span(&request, 1), options).front();
  TextRows rows(*learned->model, *learned->tokenizers.target, {}, {.heads = true});
  const Generated blockwise = generate(rows, std::span(&request, 1), options).front();
  EXPECT_EQ(blockwise.text, plain.text);
  EXPECT_EQ(plain.passes, 60);
  EXPECT_LT(blockwise.passes, 35);
}

TEST(ImageBlockwiseTask, KeepsTheModelToTheBit) {
  const TemporaryFolder folder;
  Json recipe = Json::parse(R"({
      "task": "image",
      "image": {"rows": 8, "columns": 8, "grey": true, "levels": 4, "enlarge": 2, "held_out": 10},
      "data": {"batch_tokens": 640},
      "model": {"width": 16, "heads": 2, "layers": 1, "hidden": 32, "encoder_layers": 1,
                "block_rows": 4, "block_columns": 4, "memory_rows": 4, "memory_columns": 4,
                "neighbours": 2},
      "train": {"steps": 30, "precision": "f32"},
      "schedule": {"kind": "constant", "rate": 0.01, "warmup": 0},
      "validation": {"every": 10}})");
  const ImageSet digits = draw_images({.kind = "digits", .first = 0, .count = 60});
  std::filesystem::create_directory(folder / "digits");
  for (int64_t i = 0; i < digits.count(); ++i) {
    const std::span<const uint8_t> image = digits.image(i);
    write_png(folder / "digits" / (std::to_string(100 + i) + ".png"),
              {.width = digits.width,
               .height = digits.height,
               .channels = digits.channels,
               .pixels = {image.begin(), image.end()}});
  }
  recipe["image"]["train"] = Json::array({(folder / "digits").string()});
  train(recipe, folder / "base");
  recipe["task"] = "image_blockwise";
  recipe["model"] = {{"kind", "blockwise_image_transformer"}, {"proposals", 3}};
  recipe["train"]["from"] = (folder / "base").string();
  Watcher watcher;
  train(recipe, folder / "run", watcher);
  EXPECT_LT(watcher.validations.back().score.loss, watcher.validations.front().score.loss);
  const auto base = load_as<ImageModel>(folder / "base", DType::f32);
  const auto learned = load_as<ImageModel>(folder / "run", DType::f32);
  expect_same_base(*base, *learned);
  SampleOptions options{.images = 2, .sampling = {.temperature = 0.0F}};
  const std::vector<int32_t> small(32, 2);
  options.conditions.source = Tensor::from_ints(small, {2, 16});
  const BlockwiseImages drawn = draw_blockwise(*learned->model, options, {});
  EXPECT_EQ(drawn.levels, sample_images(*base->model, options));
  EXPECT_LT(drawn.passes, 2 * 64);
}

}  // namespace
}  // namespace heed
