// Speculative decoding: a draft changes how many passes a text takes, and nothing else. Greedy
// texts are the same, sampled ones have the same distribution, and rows do not depend on their
// company.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "decode/speculation/draft.h"
#include "decode/speculation/speculative_sampling.h"
#include "decode/text/generate.h"
#include "support/error_of.h"
#include "support/tiny_folder.h"

namespace heed::testing {
namespace {

using Ids = std::vector<int32_t>;

TEST(SpeculativeSampling, TakesOverWhatThePWantsAtLeastAsMuch) {
  EXPECT_TRUE(takes_over(0.5, 0.5, 0.999));
  EXPECT_TRUE(takes_over(0.9, 0.1, 0.999));
  EXPECT_TRUE(takes_over(0.1, 0.4, 0.249));
  EXPECT_FALSE(takes_over(0.1, 0.4, 0.251));
  EXPECT_FALSE(takes_over(0.0, 0.4, 0.0));
}

TEST(SpeculativeSampling, DrawsFromWhatIsLeft) {
  const std::vector<float> p{0.5F, 0.3F, 0.2F};
  const std::vector<float> q{0.6F, 0.1F, 0.1F};
  EXPECT_EQ(draw_rest(p, q, 0.0), 1);  // 0, 2/3, 1/3
  EXPECT_EQ(draw_rest(p, q, 0.66), 1);
  EXPECT_EQ(draw_rest(p, q, 0.67), 2);
  EXPECT_EQ(draw_rest(p, p, 0.6), 1);  // nothing is left: as p has it
  const std::vector<float> none{0.0F, 0.0F};
  EXPECT_EQ(error_of([&] { draw(std::span<const float>(none), 0.5); }),
            "[sampling] there is nothing to draw from");
}

struct Text {
  Ids ids;
  std::string text;
  std::vector<float> log_probabilities;
  std::optional<GenerateEnd> end;
  int64_t passes = 0;
};

// What all requests say; they come a few at a time.
std::vector<Text> texts_of(TextRows& rows, const std::vector<TextRequest>& requests,
                           size_t at_once) {
  std::vector<Text> texts(requests.size());
  size_t added = 0;
  while (added < requests.size() || rows.size() > 0) {
    for (size_t i = 0; i < at_once && added < requests.size(); ++i) {
      EXPECT_EQ(rows.add(requests[added]), added);
      ++added;
    }
    for (const TextAdvance& advance : rows.step()) {
      EXPECT_FALSE(advance.error);
      Text& text = texts[advance.row];
      EXPECT_FALSE(text.end) << "a row that has left";
      text.text += advance.text;
      text.end = advance.end;
      text.passes = advance.passes;
      if (advance.token) {
        text.ids.push_back(advance.token->id);
        text.log_probabilities.push_back(advance.token->log_probability);
      }
    }
  }
  return texts;
}

// Prompts of all lengths; some of the texts outgrow the context.
std::vector<TextRequest> requests_of(const Tokenizer& tokenizer, size_t count, bool greedy) {
  const std::string whole = "the quick brown fox jumps over the lazy dog.\nfox dog the q";
  std::vector<TextRequest> requests;
  for (size_t i = 0; i < count; ++i) {
    const RandomStream random{11, i};
    TextRequest& request = requests.emplace_back();
    request.prompt = tokenizer.encode(whole.substr(0, 1 + random.bits(0) % (whole.size() - 1)));
    request.options = {.sampling = {.temperature = greedy ? 0.0F : 0.9F,
                                    .top_k = static_cast<int64_t>(i % 3) * 4,
                                    .top_p = i % 2 == 0 ? 0.9F : 1.0F,
                                    .repetition_penalty = i % 4 == 0 ? 1.3F : 1.0F},
                       .max_tokens = 1 + random.bits(1) % 50,
                       .seed = i,
                       .ignore_end = i % 2 == 0};
    request.log_probabilities = 0;
    if (i % 5 == 0) {
      request.options.forbidden = {request.prompt.front()};
    }
    if (i % 3 == 0) {
      request.options.stop = {"zz", "x"};
    }
  }
  return requests;
}

void expect_same(const std::vector<Text>& found, const std::vector<Text>& expected) {
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(found[i].ids, expected[i].ids) << i;
    EXPECT_EQ(found[i].text, expected[i].text) << i;
    EXPECT_EQ(found[i].log_probabilities, expected[i].log_probabilities) << i;
    EXPECT_EQ(found[i].end, expected[i].end) << i;
  }
}

struct Pair {
  TinyFolder large{tiny_gpt({{"context", 32}})};
  TinyFolder small{tiny_gpt({{"context", 40}, {"layers", 1}, {"width", 16}, {"heads", 2}}), 9};
};

class SpeculativeDecoding : public ::testing::TestWithParam<DType> {};

TEST_P(SpeculativeDecoding, GreedyTextsAreTheSameAloneAndInCompany) {
  const Pair pair;
  const auto model = pair.large.load(GetParam());
  const auto draft = pair.small.load(GetParam());
  const Tokenizer& tokenizer = *pair.large.tokenizer;
  const std::vector<TextRequest> requests = requests_of(tokenizer, 30, true);
  const PrefillOptions prefill{.piece = 8, .tokens = 24};
  TextRows plain(*model->model, tokenizer, prefill);
  const std::vector<Text> expected = texts_of(plain, requests, 3);
  for (const int64_t tokens : {1, 2, 5}) {
    TextRows rows(*model->model, tokenizer, prefill,
                  {.draft = draft->model, .draft_tokens = tokens});
    expect_same(texts_of(rows, requests, 4), expected);
  }
  TextRows rows(*model->model, tokenizer, prefill, {.draft = draft->model, .draft_tokens = 3});
  expect_same(texts_of(rows, requests, 1), expected);
}

// A model that runs ahead of itself is always right.
TEST_P(SpeculativeDecoding, TakesAsFewPassesAsTheDraftDeserves) {
  const TinyFolder folder(tiny_gpt({{"context", 64}}));
  const auto model = folder.load(GetParam());
  TextRequest request{.prompt = folder.tokenizer->encode("the")};
  request.options = {.sampling = {.temperature = 0.0F}, .max_tokens = 41, .ignore_end = true};
  TextRows rows(*model->model, *folder.tokenizer, {}, {.draft = model->model, .draft_tokens = 4});
  const Text text = texts_of(rows, {request}, 1).front();
  EXPECT_EQ(text.ids.size(), 41U);
  EXPECT_EQ(text.passes, 1 + 40 / 5);
}

TEST_P(SpeculativeDecoding, SampledTextsDoNotDependOnTheirCompany) {
  const Pair pair;
  const auto model = pair.large.load(GetParam());
  const auto draft = pair.small.load(GetParam());
  const Tokenizer& tokenizer = *pair.large.tokenizer;
  const std::vector<TextRequest> requests = requests_of(tokenizer, 24, false);
  const PrefillOptions prefill{.piece = 8, .tokens = 24};
  TextRows together(*model->model, tokenizer, prefill, {.draft = draft->model, .draft_tokens = 3});
  const std::vector<Text> found = texts_of(together, requests, 5);
  for (size_t i = 0; i < requests.size(); ++i) {
    TextRows alone(*model->model, tokenizer, prefill, {.draft = draft->model, .draft_tokens = 3});
    expect_same({found[i]}, texts_of(alone, {requests[i]}, 1));
  }
}

INSTANTIATE_TEST_SUITE_P(DTypes, SpeculativeDecoding,
                         ::testing::Values(DType::f32, DType::bf16, DType::i8),
                         [](const auto& info) { return std::string(name_of(info.param)); });

// Sequences of three tokens, drawn with and without a draft: one distribution, by a chi-square test
// of two samples.
TEST(Speculative, SampledTextsHaveTheSameDistribution) {
  const Pair pair;
  const auto model = pair.large.load();
  const auto draft = pair.small.load();
  const Tokenizer& tokenizer = *pair.large.tokenizer;
  constexpr size_t kSamples = 6000;
  const std::vector<SamplingOptions> ways{
      {.temperature = 1.0F, .top_k = 3},
      {.temperature = 1.5F, .top_p = 0.6F, .repetition_penalty = 1.2F}};
  for (const SamplingOptions& sampling : ways) {
    std::map<Ids, std::array<double, 2>> counts;
    for (const size_t drafted : {0, 1}) {
      std::vector<TextRequest> requests(kSamples);
      for (size_t i = 0; i < kSamples; ++i) {
        requests[i].prompt = tokenizer.encode("fox");
        requests[i].options = {
            .sampling = sampling, .max_tokens = 4, .seed = 3 + drafted, .ignore_end = true};
        requests[i].sample = i;
      }
      TextRows rows(*model->model, tokenizer, {},
                    {.draft = drafted == 1 ? draft->model : nullptr, .draft_tokens = 2});
      for (const Text& text : texts_of(rows, requests, 500)) {
        counts[text.ids][drafted] += 1.0;
      }
    }
    // Rare ones count together.
    std::array<double, 2> rare{};
    double statistic = 0.0;
    double cells = 0.0;
    const auto add = [&](const std::array<double, 2>& cell) {
      const double difference = cell[0] - cell[1];
      statistic += difference * difference / (cell[0] + cell[1]);
      cells += 1.0;
    };
    for (const auto& [ids, cell] : counts) {
      if (cell[0] + cell[1] >= 20.0) {
        add(cell);
      } else {
        rare[0] += cell[0];
        rare[1] += cell[1];
      }
    }
    if (rare[0] + rare[1] > 0.0) {
      add(rare);
    }
    EXPECT_GT(cells, 10.0);
    // The mean is cells - 1, the standard deviation sqrt(2 (cells - 1)).
    EXPECT_LT(statistic, cells - 1.0 + 3.0 * std::sqrt(2.0 * (cells - 1.0)));
  }
}

// A model whose own heads propose: as with a draft.
class BlockwiseText : public ::testing::TestWithParam<DType> {};

TEST_P(BlockwiseText, GreedyTextsAreTheSameAloneAndInCompany) {
  const TinyFolder folder(tiny_gpt({{"kind", "blockwise_gpt2"}, {"context", 32}, {"block", 4}}));
  const auto model = folder.load(GetParam());
  const Tokenizer& tokenizer = *folder.tokenizer;
  const std::vector<TextRequest> requests = requests_of(tokenizer, 30, true);
  const PrefillOptions prefill{.piece = 8, .tokens = 24};
  TextRows plain(*model->model, tokenizer, prefill);
  const std::vector<Text> expected = texts_of(plain, requests, 3);
  TextRows together(*model->model, tokenizer, prefill, {.heads = true});
  expect_same(texts_of(together, requests, 4), expected);
  TextRows one_by_one(*model->model, tokenizer, prefill, {.heads = true});
  expect_same(texts_of(one_by_one, requests, 1), expected);
}

TEST_P(BlockwiseText, SampledTextsDoNotDependOnTheirCompany) {
  const TinyFolder folder(tiny_gpt({{"kind", "blockwise_gpt2"}, {"context", 32}, {"block", 3}}));
  const auto model = folder.load(GetParam());
  const std::vector<TextRequest> requests = requests_of(*folder.tokenizer, 16, false);
  TextRows together(*model->model, *folder.tokenizer, {}, {.heads = true});
  const std::vector<Text> found = texts_of(together, requests, 5);
  for (size_t i = 0; i < requests.size(); ++i) {
    TextRows alone(*model->model, *folder.tokenizer, {}, {.heads = true});
    expect_same({found[i]}, texts_of(alone, {requests[i]}, 1));
  }
}

INSTANTIATE_TEST_SUITE_P(DTypes, BlockwiseText, ::testing::Values(DType::f32, DType::bf16),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST(Speculative, NeedsAModelThatProposes) {
  const TinyFolder folder;
  const auto model = folder.load();
  EXPECT_EQ(error_of([&] { TextRows(*model->model, *folder.tokenizer, {}, {.heads = true}); }),
            "[generate] this model proposes nothing; one that does is trained with task = "
            "\"language_blockwise\", such as recipes/language/shakespeare-blockwise.toml");
}

TEST(Speculative, NeedsModelsThatFit) {
  const Pair pair;
  const auto model = pair.large.load();
  const Tokenizer& tokenizer = *pair.large.tokenizer;
  const auto error = [&](const LanguageModel& large, const LanguageModel& small) {
    return error_of([&] { TextRows(large, tokenizer, {}, {.draft = &small}); });
  };
  const TinyFolder rnn({{"kind", "rnn_language"}, {"embedding", 16}, {"hidden", 16}});
  const auto recurrent = rnn.load();
  EXPECT_EQ(error(*recurrent->model, *model->model),
            "[generate] the model cannot take tokens back, which speculative decoding needs: "
            "expected a Transformer such as gpt2");
  EXPECT_EQ(
      error(*model->model, *recurrent->model),
      "[generate] this model cannot be a draft: [generate] the draft cannot take tokens back, "
      "which speculative decoding needs: expected a Transformer such as gpt2");
  const TinyFolder narrow(tiny_gpt({{"context", 24}}));
  const auto shorter = narrow.load();
  EXPECT_EQ(error(*model->model, *shorter->model),
            "[generate] the draft looks at 24 tokens, expected at least 32, as many as the model");
  const TinyFolder compressed(tiny_gpt({{"context", 32}, {"attention", "M"}}));
  const auto summing = compressed.load();
  EXPECT_NE(error(*model->model, *summing->model).find("this model cannot be a draft"),
            std::string::npos);
  EXPECT_EQ(error_of([&] {
              TextRows(*model->model, tokenizer, {}, {.draft = shorter->model, .draft_tokens = 0});
            }),
            "[generate] a draft of 0 tokens, expected 1 or more");
  const auto other = train_tokenizer({"abc"}, {.kind = "char"});
  EXPECT_EQ(error_of([&] {
              check_same_vocabulary({"runs/a", tokenizer}, {"runs/b", *other});
            }),
            fmt::format("[generate] runs/a with {} tokens and the draft runs/b with {} have "
                        "different tokenizers, expected the same: train the draft with text.folder "
                        "set to the model",
                        tokenizer.size(), other->size()));
  EXPECT_NO_THROW(check_same_vocabulary({"a", tokenizer}, {"b", tokenizer}));
}

}  // namespace
}  // namespace heed::testing
