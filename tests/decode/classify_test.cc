// Classes, scores and words behind masks, against what the model's outputs give by hand.
#include "decode/text/classify.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/file.h"
#include "support/error_of.h"
#include "support/tiny_encoder.h"

namespace heed::testing {
namespace {

const std::vector<ClassifyText> kTexts{{"the cat saw the dog"},
                                       {"dog", "the dog saw a bird and the cat ran"},
                                       {""},
                                       {"a bird and the cat ran and ran and ran", "dog"},
                                       {"\xff\xfe", "\xff"},
                                       {"dog"}};
const Json kThreeClasses{{"labels", 3}};
const FolderConfig kNames{.labels = {"bad", "fair", "good"}};

// The head's outputs of one text alone.
std::vector<float> outputs(const LoadedEncoder& model, const ClassifyText& text) {
  const Tokenizer& tokenizer = *model.tokenizers.source;
  std::optional<std::vector<int32_t>> pair;
  if (!text.pair.empty()) {
    pair = tokenizer.encode(text.pair);
  }
  const EncodedText encoded =
      join_texts(tokenizer, tokenizer.encode(text.text), pair, model.model->longest());
  const int64_t only = 0;
  return model.model->classes(to_tensors(pad_texts(std::span(&encoded, 1), std::span(&only, 1), 0)))
      .to_vector();
}

TEST(Classify, GivesProbabilities) {
  const TinyEncoder folder(kThreeClasses, kNames);
  const auto model = folder.load();
  EXPECT_EQ(model->config.labels, kNames.labels);
  const auto found = classify(*model, kTexts, 4096);
  ASSERT_EQ(found.size(), kTexts.size());
  for (size_t i = 0; i < kTexts.size(); ++i) {
    const std::vector<float> logits = outputs(*model, kTexts[i]);
    ASSERT_EQ(found[i].size(), 3U);
    double total = 0.0;
    double sum = 0.0;
    for (size_t k = 0; k < 3; ++k) {
      total += std::exp(static_cast<double>(logits[k]));
      sum += found[i][k];
    }
    EXPECT_NEAR(sum, 1.0, 1e-6);
    for (size_t k = 0; k < 3; ++k) {
      EXPECT_NEAR(found[i][k], std::exp(static_cast<double>(logits[k])) / total, 1e-5);
    }
  }
  EXPECT_NE(found[1], found[5]);  // the second text counts
}

TEST(Classify, IsTheSameWhateverElseIsInTheList) {
  const TinyEncoder folder(kThreeClasses, kNames);
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const auto model = folder.load(dtype);
    const auto together = classify(*model, kTexts, 4096);
    EXPECT_EQ(classify(*model, kTexts, 1), together);
    for (size_t i = 0; i < kTexts.size(); ++i) {
      EXPECT_EQ(classify(*model, std::span(&kTexts[i], 1), 4096).front(), together[i]);
    }
  }
  EXPECT_TRUE(classify(*folder.load(), {}, 4096).empty());
}

TEST(Classify, GivesScores) {
  const TinyEncoder folder({{"labels", 1}}, {.labels = {"score"}, .score = true});
  const auto model = folder.load();
  EXPECT_TRUE(model->config.score);
  const auto found = classify(*model, kTexts, 4096);
  for (size_t i = 0; i < kTexts.size(); ++i) {
    ASSERT_EQ(found[i].size(), 1U);
    EXPECT_NEAR(found[i][0], outputs(*model, kTexts[i])[0], 1e-5);
  }
}

TEST(Classify, NamesClassesOfFoldersWithoutNames) {
  const auto without = [](const TinyEncoder& folder, const Json& change) {
    Json json = Json::parse(read_file(folder.path() / "config.json"));
    json.update(change);
    for (const char* key : {"id2label", "problem_type", "num_labels"}) {
      if (!change.contains(key)) {
        json.erase(key);
      }
    }
    write_file(folder.path() / "config.json", json.dump());
  };
  // Two are what Hugging Face's configurations mean by saying nothing.
  const TinyEncoder two({{"labels", 2}}, {.labels = {"no", "yes"}});
  without(two, Json::object());
  EXPECT_EQ(two.load()->config.labels, (std::vector<std::string>{"LABEL_0", "LABEL_1"}));
  EXPECT_FALSE(two.load()->config.score);
  // One output is a score, also if nothing says so.
  const TinyEncoder one({{"labels", 1}}, {.labels = {"score"}, .score = true});
  without(one, {{"id2label", {{"0", "LABEL_0"}}}});
  EXPECT_TRUE(one.load()->config.score);
  const TinyEncoder lstm({{"kind", "rnn_encoder"}, {"hidden", 8}, {"labels", 3}}, kNames);
  EXPECT_EQ(lstm.load()->config.labels, kNames.labels);
  without(lstm, {{"id2label", {{"0", "a"}, {"1", "b"}}}});
  expect_error([&] { lstm.load(); }, fmt::format("[{}] id2label names 2 classes, the model has 3",
                                                 (lstm.path() / "config.json").string()));
}

TEST(Classify, NeedsAHead) {
  const TinyEncoder folder;
  expect_error([&] { classify(*folder.load(), kTexts, 4096); },
               "[classify] this model has no head for classes: train one with a recipe of task "
               "classify");
}

TEST(FillMasks, GivesTheLikeliestWordsOfEachMask) {
  const TinyEncoder folder(Json{{"masked_head", true}});
  const auto model = folder.load();
  const Tokenizer& tokenizer = *model->tokenizers.source;
  const auto filled = fill_masks(*model, "the [MASK] saw a [MASK]", 4);
  ASSERT_EQ(filled.size(), 2U);
  const EncodedText encoded = encode_text(tokenizer, "the [MASK] saw a [MASK]", 0);
  const int64_t only = 0;
  const HostTexts host = pad_texts(std::span(&encoded, 1), std::span(&only, 1), 0);
  const std::vector<int32_t> places{2, 5};  // [CLS] the [MASK] saw a [MASK] [SEP]
  const auto* heads = dynamic_cast<const MaskedModel*>(model->model);
  const std::vector<float> logits =
      heads->words(model->model->hidden(to_tensors(host)), Tensor::from_ints(places, {2}))
          .to_vector();
  const size_t width = logits.size() / 2;
  for (size_t mask = 0; mask < 2; ++mask) {
    double total = 0.0;  // of the tokens that exist
    std::vector<std::pair<double, int32_t>> all;
    for (int32_t id = 0; id < tokenizer.size(); ++id) {
      const double likely =
          std::exp(static_cast<double>(logits[mask * width + static_cast<size_t>(id)]));
      total += likely;
      all.emplace_back(-likely, id);
    }
    std::sort(all.begin(), all.end());
    ASSERT_EQ(filled[mask].size(), 4U);
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(filled[mask][i].word, tokenizer.piece(all[i].second));
      EXPECT_NEAR(filled[mask][i].probability, -all[i].first / total, 1e-5);
    }
  }
  const auto everything = fill_masks(*model, "[MASK]", 100000);
  ASSERT_EQ(everything.size(), 1U);
  EXPECT_EQ(std::ssize(everything[0]), tokenizer.size());
}

TEST(FillMasks, SaysWhatIsMissing) {
  const TinyEncoder plain;
  const std::string no_head = "[fill] this model has no head for masked words";
  expect_error([&] { fill_masks(*plain.load(), "a [MASK]", 3); }, no_head);
  const TinyEncoder lstm(Json{{"kind", "rnn_encoder"}, {"hidden", 8}});
  expect_error([&] { fill_masks(*lstm.load(), "a [MASK]", 3); }, no_head);
  const TinyEncoder folder(Json{{"masked_head", true}});
  expect_error([&] { fill_masks(*folder.load(), "the cat", 3); },
               "[fill] the text has no [MASK]: the cat");
  const TinyEncoder characters({{"masked_head", true}}, {},
                               train_tokenizer({"the cat"}, {.kind = "char"}));
  expect_error([&] { fill_masks(*characters.load(), "a [MASK]", 3); },
               "[fill] the model's tokenizer has no [MASK]");
}

}  // namespace
}  // namespace heed::testing
