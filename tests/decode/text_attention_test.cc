// Attention to texts near the longest that a model can be shown.
#include "decode/text/text_attention.h"

#include <gtest/gtest.h>

#include "support/error_of.h"
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

TEST(TextAttention, ModelsWithout) {
  const TinyFolder folder({{"kind", "rnn_language"}, {"embedding", 8}, {"hidden", 8}});
  const auto model = folder.load();
  expect_error([&] { attention_of_text(*model, {.text = "the"}); },
               "[attention] this model has no attention to look at");
  EXPECT_FALSE(model->spec().attention);
}

}  // namespace
}  // namespace heed::testing
