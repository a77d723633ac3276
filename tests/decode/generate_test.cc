// Text behind prompts: the same alone and in company, what ends it, and what happens when the
// model's context is full.
#include "decode/text/generate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "support/error_of.h"
#include "support/tiny_folder.h"

namespace heed::testing {
namespace {

using Ids = std::vector<int32_t>;

const std::vector<std::string> kPrompts{"the fox", "q", "jumps over the lazy", "für Größe? ",
                                        "dog.\nthe quick brown fox jumps over the"};

std::vector<GenerateRequest> requests_of(const Tokenizer& tokenizer) {
  std::vector<GenerateRequest> requests;
  for (size_t i = 0; i < kPrompts.size(); ++i) {
    requests.push_back({encode_prompt(tokenizer, kPrompts[i]), i % 3});
  }
  return requests;
}

Generated alone(const LoadedLanguageModel& model, const GenerateRequest& request,
                const GenerateOptions& options) {
  return generate(model, std::span(&request, 1), options).front();
}

Generated said(const LoadedLanguageModel& model, const std::string& prompt,
               const GenerateOptions& options, uint64_t sample = 0) {
  return alone(model, {encode_prompt(*model.tokenizers.target, prompt), sample}, options);
}

class GenerateTest : public ::testing::TestWithParam<DType> {};

// Also past the context, of which each row reaches the end at another time.
TEST_P(GenerateTest, TheSameAloneAndInABatch) {
  const TinyFolder folder;
  const auto model = folder.load(GetParam());
  const auto requests = requests_of(*folder.tokenizer);
  for (const float temperature : {0.0F, 1.0F}) {
    const GenerateOptions options{.sampling = {.temperature = temperature, .top_p = 0.95F},
                                  .max_tokens = 60};
    const auto together = generate(*model, requests, options);
    ASSERT_EQ(together.size(), requests.size());
    for (size_t i = 0; i < requests.size(); ++i) {
      const Generated one = alone(*model, requests[i], options);
      EXPECT_EQ(one.ids, together[i].ids) << kPrompts[i];
      EXPECT_EQ(one.text, together[i].text);
      EXPECT_EQ(one.end, together[i].end);
      EXPECT_EQ(one.forgotten, together[i].forgotten);
    }
  }
}

// The likeliest token of the whole sequence's last logits, again and again. Where the best two are
// closer than rounding, the order of sums decides: then the test says nothing more.
TEST_P(GenerateTest, TemperatureZeroIsTheArgmaxOfFullLogits) {
  const TinyFolder folder(tiny_gpt({{"context", 64}}));
  const auto model = folder.load(GetParam());
  const auto known = folder.tokenizer->size();
  int compared = 0;
  for (const std::string& prompt : kPrompts) {
    const Generated found =
        said(*model, prompt, {.sampling = {.temperature = 0.0F}, .max_tokens = 20});
    Ids ids = encode_prompt(*folder.tokenizer, prompt);
    for (const int32_t id : found.ids) {
      const auto length = std::ssize(ids);
      const Tensor logits = model->model->logits(Tensor::from_ints(ids, {1, length}));
      const std::vector<float> all = logits.to(DType::f32).to_vector();
      std::vector<float> last(all.end() - logits.dim(2), all.end() - logits.dim(2) + known);
      const auto best = std::max_element(last.begin(), last.end());
      const float margin = GetParam() == DType::f32 ? 1e-3F : 0.2F;
      const float highest = *best;
      if (std::count_if(last.begin(), last.end(),
                        [&](float logit) { return logit > highest - margin; }) > 1) {
        break;
      }
      ASSERT_EQ(id, best - last.begin()) << prompt << " " << compared;
      ids.push_back(id);
      ++compared;
    }
  }
  EXPECT_GT(compared, 20);
}

INSTANTIATE_TEST_SUITE_P(DTypes, GenerateTest, ::testing::Values(DType::f32, DType::bf16),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST(Generate, GoesOnPastTheContext) {
  const TinyFolder folder;  // a context of 24
  const auto model = folder.load();
  const auto forgotten = [&](const std::string& prompt, int64_t tokens) {
    const Generated found = said(*model, prompt, {.max_tokens = tokens, .ignore_end = true});
    EXPECT_EQ(std::ssize(found.ids), tokens);
    EXPECT_EQ(found.end, GenerateEnd::length);
    return found.forgotten;
  };
  const std::string five = "the f";
  const std::string thirty = "the quick brown fox jumps over";
  EXPECT_EQ(forgotten(five, 20), 0);  // the last is drawn from 24
  EXPECT_EQ(forgotten(five, 21), 25 - 12);
  EXPECT_EQ(forgotten(five, 33), 25 - 12);
  EXPECT_EQ(forgotten(five, 34), 38 - 12);
  EXPECT_EQ(forgotten(thirty, 1), 30 - 24);
  EXPECT_EQ(forgotten(thirty, 2), 31 - 12);
}

// What is drawn past the context follows from what is still seen alone.
TEST(Generate, PastTheContextIsATextOfItsOwn) {
  const TinyFolder folder;
  const auto model = folder.load();
  const GenerateOptions options{
      .sampling = {.temperature = 0.0F}, .max_tokens = 12, .ignore_end = true};
  const Ids whole = encode_prompt(*folder.tokenizer, "the quick brown fox jumps over");
  const Ids end(whole.end() - 24, whole.end());
  EXPECT_EQ(alone(*model, {whole}, options).ids, alone(*model, {end}, options).ids);
}

TEST(Generate, ContextOfOneToken) {
  const TinyFolder folder(tiny_gpt({{"context", 1}}));
  const auto model = folder.load();
  const Generated found = said(*model, "the", {.max_tokens = 6, .ignore_end = true});
  EXPECT_EQ(found.ids.size(), 6U);
  EXPECT_EQ(found.forgotten, 7);
}

TEST(Generate, EndsWithEnd) {
  const TinyFolder folder;
  const auto model = folder.load();
  const int32_t end = folder.tokenizer->special().end;
  std::vector<GenerateRequest> requests(40, {encode_prompt(*folder.tokenizer, "fox"), 0});
  for (size_t i = 0; i < requests.size(); ++i) {
    requests[i].sample = i;
  }
  const auto ended = generate(*model, requests, {.max_tokens = 40});
  // The same with END as a token like others.
  const auto longer = generate(*model, requests, {.max_tokens = 40, .ignore_end = true});
  std::set<GenerateEnd> ends;
  for (size_t i = 0; i < requests.size(); ++i) {
    const Generated& found = ended[i];
    ends.insert(found.end);
    EXPECT_EQ(std::count(found.ids.begin(), found.ids.end(), end), 0);
    EXPECT_EQ(found.ids.size() < 40, found.end == GenerateEnd::end_token);
    EXPECT_EQ(found.text, folder.tokenizer->decode(found.ids));
    ASSERT_EQ(longer[i].ids.size(), 40U);
    EXPECT_TRUE(std::equal(found.ids.begin(), found.ids.end(), longer[i].ids.begin()));
    if (found.end == GenerateEnd::end_token) {
      EXPECT_EQ(longer[i].ids[found.ids.size()], end);
    }
  }
  EXPECT_EQ(ends, (std::set<GenerateEnd>{GenerateEnd::length, GenerateEnd::end_token}));
}

TEST(Generate, StopText) {
  const TinyFolder folder;
  const auto model = folder.load();
  const GenerateOptions options{.max_tokens = 40, .ignore_end = true};
  const Generated whole = said(*model, "the", options);
  const auto tokenizer = folder.tokenizer;
  const std::string stop = tokenizer->decode(std::span(whole.ids).subspan(10, 3));
  GenerateOptions stopping = options;
  stopping.stop = {"never said", stop};
  const Generated found = said(*model, "the", stopping);
  EXPECT_EQ(found.end, GenerateEnd::stop_text);
  EXPECT_EQ(found.text, whole.text.substr(0, whole.text.find(stop)));
  EXPECT_LE(found.ids.size(), 13U);
  EXPECT_TRUE(std::equal(found.ids.begin(), found.ids.end(), whole.ids.begin()));
  stopping.stop = {""};
  EXPECT_EQ(error_of([&] { said(*model, "the", stopping); }), "[generate] a stop text is empty");
}

TEST(Generate, SeedsAndSampleNumbers) {
  const TinyFolder folder;
  const auto model = folder.load();
  const GenerateOptions options{.max_tokens = 20, .ignore_end = true};
  std::vector<GenerateRequest> requests(5, {encode_prompt(*folder.tokenizer, "fox"), 0});
  for (size_t i = 0; i < requests.size(); ++i) {
    requests[i].sample = i;
  }
  std::set<Ids> different;
  for (const Generated& found : generate(*model, requests, options)) {
    different.insert(found.ids);
  }
  EXPECT_EQ(said(*model, "fox", options, 3).ids, said(*model, "fox", options, 3).ids);
  EXPECT_EQ(different.size(), 5U);
  GenerateOptions other = options;
  other.seed = 2;
  EXPECT_NE(said(*model, "fox", other).ids, said(*model, "fox", options).ids);
  // Without chance the numbers do not matter.
  other.sampling.temperature = 0.0F;
  EXPECT_EQ(said(*model, "fox", other, 3).ids, said(*model, "fox", other, 4).ids);
}

TEST(Generate, TellsTheTextAsItComes) {
  const TinyFolder folder;
  const auto model = folder.load();
  const auto requests = requests_of(*folder.tokenizer);
  std::map<size_t, std::string> told;
  int calls = 0;
  const auto results = generate(*model, requests, {.max_tokens = 15},
                                {.text = [&](size_t request, const std::string& text) {
                                  EXPECT_FALSE(text.empty());
                                  told[request] += text;
                                  ++calls;
                                }});
  EXPECT_GT(calls, 20);
  for (size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(told[i], results[i].text);
  }
}

TEST(Generate, ForbiddenTokensAreNeverDrawn) {
  const TinyFolder folder;
  const auto model = folder.load();
  const auto requests = requests_of(*folder.tokenizer);
  GenerateOptions options{.max_tokens = 60, .ignore_end = true};
  std::set<int32_t> free;
  for (const Generated& found : generate(*model, requests, options)) {
    free.insert(found.ids.begin(), found.ids.end());
  }
  ASSERT_GT(free.size(), 10U);
  options.forbidden.assign(std::next(free.begin(), 2), std::next(free.begin(), 9));
  for (const Generated& found : generate(*model, requests, options)) {
    EXPECT_EQ(found.ids.size(), 60U);
    for (const int32_t id : options.forbidden) {
      EXPECT_EQ(std::count(found.ids.begin(), found.ids.end(), id), 0) << id;
    }
  }
  options.forbidden = {folder.tokenizer->size()};
  EXPECT_EQ(error_of([&] { generate(*model, requests, options); }),
            fmt::format("[generate] token {0} is forbidden, expected 0 to {1}",
                        folder.tokenizer->size(), folder.tokenizer->size() - 1));
}

// The others go on as they would.
TEST(Generate, ACallbackSaysThatItIsEnough) {
  const TinyFolder folder;
  const auto model = folder.load();
  const auto requests = requests_of(*folder.tokenizer);
  const GenerateOptions options{.max_tokens = 30, .ignore_end = true};
  std::map<size_t, Ids> told;
  const auto results =
      generate(*model, requests, options, {.token = [&](size_t request, int32_t id) {
        told[request].push_back(id);
        return request != 1 || told[request].size() < 7;
      }});
  const auto whole = generate(*model, requests, options);
  for (size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(results[i].ids, told[i]);
    EXPECT_EQ(results[i].end, i == 1 ? GenerateEnd::enough : GenerateEnd::length);
    EXPECT_EQ(results[i].ids.size(), i == 1 ? 7U : 30U);
    EXPECT_TRUE(std::equal(results[i].ids.begin(), results[i].ids.end(), whole[i].ids.begin()));
  }
}

TEST(Generate, Prompts) {
  const TinyFolder folder;
  const auto model = folder.load();
  const Tokenizer& tokenizer = *folder.tokenizer;
  EXPECT_EQ(encode_prompt(tokenizer, ""), Ids{tokenizer.special().end});
  EXPECT_EQ(encode_prompt(tokenizer, "fox"), tokenizer.encode("fox"));
  const WordTokenizer without_end({.pad = 0, .start = 1, .end = -1, .unk = 3});
  EXPECT_TRUE(encode_prompt(without_end, "").empty());
  EXPECT_EQ(said(*model, "", {.max_tokens = 5, .ignore_end = true}).ids.size(), 5U);
  const std::vector<GenerateRequest> requests{{tokenizer.encode("fox")}, {}};
  EXPECT_EQ(error_of([&] { generate(*model, requests, {}); }),
            "[generate] prompt 2 is empty, and the tokenizer has no END to start with");
  EXPECT_TRUE(generate(*model, {}, {}).empty());
  EXPECT_EQ(said(*model, "fox", {.max_tokens = 0}).text, "");
  EXPECT_EQ(error_of([&] { said(*model, "fox", {.sampling = {.top_k = -1}}); }),
            "[sampling] top_k is -1, expected 0 or more");
}

}  // namespace
}  // namespace heed::testing
