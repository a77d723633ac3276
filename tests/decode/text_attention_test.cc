// Attention to texts near the longest that a model can be shown.
#include "decode/text/text_attention.h"

#include <gtest/gtest.h>

#include "support/error_of.h"
#include "support/tiny_encoder.h"
#include "support/tiny_folder.h"

namespace heed::testing {
namespace {

// The model's own translation goes on as far as it may, and is shown behind START.
TEST(TextAttention, OwnTranslationFitsTheModel) {
  for (const Json& fields : {Json{{"kind", "transformer"},
                                  {"positions", "learned"},
                                  {"longest", 16},
                                  {"width", 16},
                                  {"heads", 2},
                                  {"hidden", 24},
                                  {"encoder_layers", 1},
                                  {"decoder_layers", 1}},
                             Json{{"kind", "conv"}, {"longest", 16}, {"hidden", 16}}}) {
    for (const uint64_t seed : {1, 2, 3, 4}) {
      const TinyFolder folder(fields, seed);
      const auto model = load_model(folder.path(), DType::f32);
      const TextAttention found = attention_of_text(*model, {.text = "the quick fox"});
      EXPECT_LE(found.target.size(), 16U);
      EXPECT_FALSE(found.maps.empty());
    }
  }
}

TEST(TextAttention, TheEndOfALongText) {
  const TinyFolder folder(
      {{"kind", "gpt2"}, {"context", 8}, {"width", 16}, {"heads", 2}, {"layers", 1}});
  const auto model = folder.load();
  const std::string text = "the quick fox the quick fox the quick fox the quick fox";
  const TextAttentionRequest request{.text = text, .most_tokens = 4, .crop = true};
  const std::vector<int32_t> ids = model->tokenizers.target->encode(text);
  ASSERT_GT(ids.size(), 8U);
  const TextAttention found = attention_of_text(*model, request);
  ASSERT_EQ(found.target.size(), 4U);
  EXPECT_EQ(found.left_out, std::ssize(ids) - 4);
  EXPECT_EQ(found.target.back(), model->tokenizers.target->piece(ids.back()));
  EXPECT_EQ(found.maps.front().weights.dim(2), 4);
  EXPECT_TRUE(
      error_of([&] { attention_of_text(*model, {.text = text}); }).ends_with("expected at most 8"));
}

TEST(TextAttention, HowLongUniversalModelsPonder) {
  const Json sizes{{"width", 16}, {"heads", 2}, {"hidden", 24}, {"steps", 3}};
  Json language = sizes;
  language.update({{"kind", "universal_language"}, {"context", 24}});
  const TinyFolder folder(language);
  const TextAttention said = attention_of_text(*folder.load(), {.text = "the quick fox"});
  ASSERT_EQ(said.pondering.size(), 1U);
  EXPECT_EQ(said.pondering[0].kind, "decoder");
  EXPECT_EQ(said.pondering[0].steps.size(), std::ssize(said.target));
  EXPECT_FALSE(said.maps.empty());
  Json encoder = sizes;
  encoder.update({{"kind", "universal_encoder"}, {"longest", 20}});
  const TinyEncoder texts(encoder);
  const TextAttention read =
      attention_of_text(*texts.load(), {.text = "the cat", .second = "a bird"});
  ASSERT_EQ(read.pondering.size(), 1U);
  EXPECT_EQ(read.pondering[0].kind, "encoder");
  EXPECT_EQ(read.pondering[0].steps.size(), std::ssize(read.source));
}

// What a model says of itself is what services go by.
TEST(TextAttention, OfEveryModelThatSaysItHasSome) {
  const Json small{{"embedding", 8}, {"hidden", 8}};
  const Json transformer{
      {"width", 16}, {"heads", 2}, {"hidden", 24}, {"encoder_layers", 1}, {"decoder_layers", 1}};
  const Json layers{{"width", 16}, {"heads", 2}, {"layers", 1}};
  const std::vector<std::pair<std::string, Json>> kinds{{"transformer", transformer},
                                                        {"parallel_transformer", transformer},
                                                        {"blockwise_transformer", transformer},
                                                        {"latent_transformer", transformer},
                                                        {"universal_transformer", transformer},
                                                        {"rnn", small},
                                                        {"bahdanau", small},
                                                        {"conv", small},
                                                        {"gpt2", layers},
                                                        {"blockwise_gpt2", layers},
                                                        {"bert", layers},
                                                        {"rnn_language", small},
                                                        {"rnn_encoder", small},
                                                        {"self_attentive", small},
                                                        {"decomposable_attention", small}};
  for (const auto& [kind, fields] : kinds) {
    SCOPED_TRACE(kind);
    Json all = fields;
    all["kind"] = kind;
    const TinyFolder folder(all);
    LoadedFolder model;
    load_folder(folder.path(), DType::f32, model);
    if (model.spec().attention) {
      EXPECT_FALSE(attention_of_text(model, {.text = "the fox"}).maps.empty());
    } else {
      expect_error([&] { attention_of_text(model, {.text = "the fox"}); },
                   "[attention] this model has no attention weights to show");
    }
  }
}

TEST(TextAttention, HopsAreNoTokens) {
  const TinyFolder folder({{"kind", "self_attentive"}, {"hidden", 8}, {"hops", 3}});
  LoadedFolder model;
  load_folder(folder.path(), DType::f32, model);
  const TextAttention found = attention_of_text(model, {.text = "the fox"});
  ASSERT_EQ(found.maps.size(), 1U);
  EXPECT_EQ(found.maps[0].kind, "hops");
  EXPECT_EQ(found.maps[0].weights.shape(), (Shape{1, 1, 3, std::ssize(found.source)}));
}

TEST(TextAttention, WordsOfAPairLookAtTheOtherText) {
  const TinyFolder folder({{"kind", "decomposable_attention"}, {"embedding", 8}, {"hidden", 8}});
  LoadedFolder model;
  load_folder(folder.path(), DType::f32, model);
  const TextAttention found = attention_of_text(model, {.text = "the", .second = "dog"});
  ASSERT_EQ(found.maps.size(), 1U);
  const int64_t length = std::ssize(found.source);
  ASSERT_EQ(found.maps[0].weights.shape(), (Shape{1, 1, length, length}));
  const float* weights = found.maps[0].weights.data<float>();
  EXPECT_EQ(weights[0], 0.0F);           // the first word to itself
  EXPECT_GT(weights[length - 1], 0.0F);  // and to the last one of the other text
}

}  // namespace
}  // namespace heed::testing
