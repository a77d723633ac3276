// How well a text is foreseen, against a sum over the logits of every window by hand.
#include "decode/text/perplexity.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "models/language/gpt.h"
#include "models/language/rnn_language.h"
#include "ops/loss/cross_entropy.h"
#include "support/error_of.h"

namespace heed::testing {
namespace {

constexpr int64_t kContext = 12;
constexpr int64_t kVocabulary = 19;

struct Model {
  Model()
      : gpt(store.root(), {.vocabulary = kVocabulary,
                           .context = kContext,
                           .width = 16,
                           .heads = 2,
                           .layers = 1,
                           .initializer_range = 0.4F}) {
    store.allocate(DType::f32, 4, ParameterStore::Use::inference);
  }
  ParameterStore store;
  Gpt gpt;
};

std::vector<int32_t> text_of(int64_t length) {
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i < length; ++i) {
    tokens.push_back(static_cast<int32_t>((i * i * 7 + i * 3) % kVocabulary));
  }
  return tokens;
}

// -log p of every token behind the first, seen from tokens[begin] on and no more than the context.
std::vector<double> nats_from(const Gpt& model, const std::vector<int32_t>& tokens, int64_t begin) {
  const auto length = std::min(kContext, std::ssize(tokens) - 1 - begin);
  const std::vector<int32_t> seen(tokens.begin() + begin, tokens.begin() + begin + length);
  const auto logits = model.logits(Tensor::from_ints(seen, {1, length})).to_vector();
  std::vector<double> nats;
  for (int64_t i = 0; i < length; ++i) {
    const auto row = logits.begin() + i * kVocabulary;
    double sum = 0.0;
    std::for_each(row, row + kVocabulary, [&](double logit) { sum += std::exp(logit); });
    nats.push_back(std::log(sum) - row[tokens[static_cast<size_t>(begin + i + 1)]]);
  }
  return nats;
}

// Where the window begins that counts tokens[place]: the first one that has it.
int64_t window_of(int64_t place, int64_t tokens, int64_t length, int64_t stride) {
  int64_t begin = 0;
  while (begin + length < place) {
    begin += stride;
  }
  const bool fits = begin + length <= tokens - 1;
  return fits || stride == length ? begin : std::max<int64_t>(0, tokens - 1 - length);
}

TEST(Perplexity, IsTheSumOverAllTokensButTheFirst) {
  const Model model;
  for (const int64_t size : {2, 3, 12, 13, 14, 24, 25, 26, 40}) {
    const auto tokens = text_of(size);
    std::vector<std::vector<double>> nats;
    for (int64_t begin = 0; begin + 1 < size; ++begin) {
      nats.push_back(nats_from(model.gpt, tokens, begin));
    }
    for (const auto& [length, stride] : std::vector<std::pair<int64_t, int64_t>>{
             {0, 0}, {12, 12}, {5, 0}, {5, 2}, {12, 1}, {12, 5}, {1, 1}}) {
      const int64_t window = length > 0 ? length : kContext;
      double expected = 0.0;
      for (int64_t place = 1; place < size; ++place) {
        const int64_t begin = window_of(place, size, window, stride > 0 ? stride : window);
        expected += nats[static_cast<size_t>(begin)][static_cast<size_t>(place - begin - 1)];
      }
      for (const int64_t batch_tokens : {30, 4096}) {
        const Perplexity found = measure_perplexity(
            model.gpt, tokens, {.length = length, .stride = stride, .batch_tokens = batch_tokens});
        EXPECT_EQ(found.tokens, size - 1);
        EXPECT_NEAR(found.nats, expected, 1e-4 * expected)
            << size << " tokens, length " << length << " stride " << stride;
        EXPECT_NEAR(found.loss(), expected / static_cast<double>(size - 1), 1e-3);
      }
    }
  }
}

TEST(Perplexity, OfTextsWithNothingToForesee) {
  const Model model;
  for (const int64_t size : {0, 1}) {
    const Perplexity found = measure_perplexity(model.gpt, text_of(size), {});
    EXPECT_EQ(found.tokens, 0);
    EXPECT_EQ(found.loss(), 0.0);
  }
}

TEST(Perplexity, LooksAtNoMoreThanTheContext) {
  const Model model;
  const auto tokens = text_of(50);
  EXPECT_EQ(measure_perplexity(model.gpt, tokens, {.length = 1000}).nats,
            measure_perplexity(model.gpt, tokens, {.length = kContext}).nats);
}

TEST(Perplexity, StrideThatSkipsTokensIsAnError) {
  const Model model;
  EXPECT_EQ(
      error_of([&] { measure_perplexity(model.gpt, text_of(50), {.length = 5, .stride = 6}); }),
      "[eval] a stride of 6 skips tokens, expected at most 5");
}

// A model without a context looks at as much as it is asked to.
TEST(Perplexity, WindowsOfAnyLengthWithoutAContext) {
  ParameterStore store;
  RnnLanguageConfig config;
  config.vocabulary = kVocabulary;
  config.embedding = 8;
  config.hidden = 8;
  const RnnLanguage model(store.root(), config);
  store.allocate(DType::f32, 4, ParameterStore::Use::inference);
  const std::vector<int32_t> tokens = text_of(1501);
  const Tensor whole = model.logits(Tensor::from_ints({tokens.data(), 1500}, {1, 1500}));
  const double expected =
      cross_entropy(whole, Tensor::from_ints({tokens.data() + 1, 1500}, {1, 1500})).item();
  const Perplexity found = measure_perplexity(model, tokens, {.length = 1500});
  EXPECT_EQ(found.tokens, 1500);
  EXPECT_NEAR(found.loss(), expected, 1e-6);
}

}  // namespace
}  // namespace heed::testing
