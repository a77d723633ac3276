#include "models/translation/rnn.h"

#include <gtest/gtest.h>

#include "support/op_case.h"
#include "support/seq2seq_check.h"

namespace heed::testing {
namespace {

RnnConfig tiny() {
  return {.vocabulary = 20, .embedding = 24, .hidden = 32, .attention_width = 16, .dropout = 0.0F};
}

struct Form {
  std::string name;
  RnnConfig config;
  size_t maps = 1;
};

std::vector<Form> forms() {
  std::vector<Form> all(6, {"", tiny()});
  all[0].name = "lstm";
  all[1].name = "gru";
  all[1].config.cell = "gru";
  all[2].name = "deep_one_way";
  all[2].config.bidirectional = false;
  all[2].config.encoder_layers = 3;
  all[2].config.decoder_layers = 3;
  all[3].name = "one_layer";
  all[3].config.decoder_layers = 1;
  all[3].config.cell = "gru";
  all[4].name = "without_attention";
  all[4].config.attention = false;
  all[4].config.encoder_layers = 2;
  all[4].config.dropout = 0.3F;  // of training only
  all[4].maps = 0;
  all[5].name = "vocabularies_apart";
  all[5].config.source_vocabulary = 31;
  all[5].config.encoder_layers = 2;
  all[5].config.tied_output = false;
  return all;
}

class RnnTest : public ::testing::TestWithParam<Form> {
 protected:
  RnnTest() {
    store_.allocate(DType::f32, 2, ParameterStore::Use::inference);
    if (GetParam().config.source_vocabulary > 0) {
      vocabulary_.source = GetParam().config.source_vocabulary;
    }
  }
  ParameterStore store_;
  const Rnn model_{store_.root(), GetParam().config};
  Seq2SeqVocabulary vocabulary_;
};

TEST_P(RnnTest, StepsEqualTeacherForcing) { expect_steps_equal_logits(model_, vocabulary_); }
TEST_P(RnnTest, PaddingChangesNothing) { expect_padding_changes_nothing(model_, vocabulary_); }
TEST_P(RnnTest, AttentionIsSound) {
  expect_attention_is_sound(model_, vocabulary_, GetParam().maps);
}

INSTANTIATE_TEST_SUITE_P(Forms, RnnTest, ::testing::ValuesIn(forms()),
                         [](const auto& info) { return info.param.name; });

struct Lesson {
  std::string name;
  std::string cell;
  bool attention;
  DType dtype;
};

class RnnLearning : public ::testing::TestWithParam<Lesson> {};

TEST_P(RnnLearning, Reverses) {
  RnnConfig config = tiny();
  config.cell = GetParam().cell;
  config.attention = GetParam().attention;
  config.hidden = 64;
  ParameterStore store;
  const Rnn model(store.root(), config);
  store.allocate(GetParam().dtype, 2);
  // Without attention a whole source has to pass through one state, which takes longer to learn.
  EXPECT_LT(
      loss_after_copying(model, store, {.steps = 300, .learning_rate = 5e-3F, .reverse = true}),
      config.attention ? 0.5F : 1.6F);
}

INSTANTIATE_TEST_SUITE_P(Forms, RnnLearning,
                         ::testing::Values(Lesson{"lstm", "lstm", true, DType::f32},
                                           Lesson{"lstm_bf16", "lstm", true, DType::bf16},
                                           Lesson{"gru_bf16", "gru", true, DType::bf16},
                                           Lesson{"gru_plain", "gru", false, DType::f32},
                                           Lesson{"lstm_plain", "lstm", false, DType::bf16}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace heed::testing
