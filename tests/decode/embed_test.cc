// Texts as vectors: against what the model's outputs give by hand, and whatever else is in the
// list.
#include "decode/text/embed.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/tiny_encoder.h"

namespace heed::testing {
namespace {

using Vectors = std::vector<std::vector<float>>;

const std::vector<std::string> kTexts{"the cat saw the dog",
                                      "",
                                      "a bird",
                                      "the dog saw a bird and the cat ran and ran and ran",
                                      "dog",
                                      "\xff\xfe bad bytes",
                                      "the cat saw the dog"};

// The output of one text alone: a row a token.
Vectors hidden_rows(const LoadedEncoder& model, const std::string& text) {
  const EncodedText encoded = encode_text(*model.tokenizers.source, text, model.model->longest());
  const int64_t only = 0;
  const HostTexts host = pad_texts(std::span(&encoded, 1), std::span(&only, 1), 0);
  const std::vector<float> values = model.model->hidden(to_tensors(host)).to_vector();
  const auto width = static_cast<size_t>(model.model->width());
  Vectors rows;
  for (size_t begin = 0; begin < values.size(); begin += width) {
    const auto from = values.begin() + static_cast<int64_t>(begin);
    rows.emplace_back(from, from + static_cast<int64_t>(width));
  }
  return rows;
}

// By hand, in double.
std::vector<double> pooled(const Vectors& rows, Pooling pooling) {
  std::vector<double> vector(rows[0].begin(), rows[0].end());
  if (pooling == Pooling::first) {
    return vector;
  }
  for (size_t c = 0; c < vector.size(); ++c) {
    for (size_t t = 1; t < rows.size(); ++t) {
      const double value = rows[t][c];
      vector[c] = pooling == Pooling::max ? std::max(vector[c], value) : vector[c] + value;
    }
    vector[c] /= pooling == Pooling::mean ? static_cast<double>(rows.size()) : 1.0;
  }
  return vector;
}

void expect_near(const std::vector<float>& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i], expected[i], 2e-5) << "component " << i;
  }
}

TEST(Embed, PoolsAsByHand) {
  const TinyEncoder folder;
  const auto model = folder.load();
  for (const Pooling pooling : {Pooling::first, Pooling::mean, Pooling::max}) {
    const Vectors vectors = embed(*model, kTexts, {.pooling = pooling});
    ASSERT_EQ(vectors.size(), kTexts.size());
    for (size_t i = 0; i < kTexts.size(); ++i) {
      SCOPED_TRACE(fmt::format("{} pooling {}", kTexts[i], static_cast<int>(pooling)));
      expect_near(vectors[i], pooled(hidden_rows(*model, kTexts[i]), pooling));
    }
  }
}

// tanh(W h + b) of the first token, with the pooler's parameters as they are stored.
TEST(Embed, SummaryIsThePooler) {
  const TinyEncoder folder;
  const auto model = folder.load();
  const std::vector<float> weight = model->store.find("pooler.weight").value.to_vector();
  const std::vector<float> bias = model->store.find("pooler.bias").value.to_vector();
  const Vectors vectors = embed(*model, kTexts, {.pooling = Pooling::summary});
  for (size_t i = 0; i < kTexts.size(); ++i) {
    const std::vector<float> first = hidden_rows(*model, kTexts[i])[0];
    std::vector<double> expected(bias.begin(), bias.end());
    for (size_t out = 0; out < expected.size(); ++out) {
      for (size_t in = 0; in < first.size(); ++in) {
        expected[out] += static_cast<double>(weight[out * first.size() + in]) * first[in];
      }
      expected[out] = std::tanh(expected[out]);
    }
    expect_near(vectors[i], expected);
  }
}

// Bit by bit: with padding, in any batch, and alone.
TEST(Embed, IsTheSameWhateverElseIsInTheList) {
  const TinyEncoder folder;
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const auto model = folder.load(dtype);
    for (const Pooling pooling : {Pooling::first, Pooling::mean, Pooling::max, Pooling::summary}) {
      SCOPED_TRACE(fmt::format("{} pooling {}", name_of(dtype), static_cast<int>(pooling)));
      const Vectors together = embed(*model, kTexts, {.pooling = pooling});
      EXPECT_EQ(together, embed(*model, kTexts, {.pooling = pooling, .batch_tokens = 1}));
      EXPECT_EQ(together, embed(*model, kTexts, {.pooling = pooling, .batch_tokens = 30}));
      for (size_t i = 0; i < kTexts.size(); ++i) {
        const Vectors alone = embed(*model, std::span(&kTexts[i], 1), {.pooling = pooling});
        EXPECT_EQ(alone.front(), together[i]) << kTexts[i];
      }
      EXPECT_EQ(together.front(), together.back());
      EXPECT_NE(together[0], together[2]);
    }
  }
}

// Long texts of recurrent encoders up to rounding: alone they run on another product.
TEST(Embed, OfARecurrentEncoderIsNearlyTheSame) {
  for (const char* kind : {"rnn_encoder", "self_attentive"}) {
    const TinyEncoder folder(Json{{"kind", kind}, {"embedding", 12}, {"hidden", 8}, {"layers", 2}});
    const auto model = folder.load();
    for (const Pooling pooling : {Pooling::first, Pooling::mean, Pooling::max, Pooling::summary}) {
      const Vectors together = embed(*model, kTexts, {.pooling = pooling});
      for (size_t i = 0; i < kTexts.size(); ++i) {
        const Vectors alone = embed(*model, std::span(&kTexts[i], 1), {.pooling = pooling});
        expect_near(together[i], {alone[0].begin(), alone[0].end()});
      }
    }
  }
}

TEST(Embed, OfDecomposableAttentionIsTheSame) {
  const TinyEncoder folder(Json{{"kind", "decomposable_attention"},
                                {"embedding", 12},
                                {"hidden", 8},
                                {"intra_attention", true}});
  const auto model = folder.load();
  for (const Pooling pooling : {Pooling::first, Pooling::mean, Pooling::max, Pooling::summary}) {
    const Vectors together = embed(*model, kTexts, {.pooling = pooling});
    for (size_t i = 0; i < kTexts.size(); ++i) {
      EXPECT_EQ(embed(*model, std::span(&kTexts[i], 1), {.pooling = pooling}).front(), together[i]);
    }
  }
}

TEST(Embed, NormalizesToLengthOne) {
  const TinyEncoder folder;
  const auto model = folder.load();
  const Vectors plain = embed(*model, kTexts, {});
  const Vectors unit = embed(*model, kTexts, {.normalize = true});
  for (size_t i = 0; i < kTexts.size(); ++i) {
    double squares = 0.0;
    for (const float value : plain[i]) {
      squares += static_cast<double>(value) * value;
    }
    std::vector<double> expected;
    for (const float value : plain[i]) {
      expected.push_back(value / std::sqrt(squares));
    }
    expect_near(unit[i], expected);
  }
}

TEST(Embed, ReadsNoMoreThanTheLongest) {
  const TinyEncoder folder;  // of at most 20 tokens
  const auto model = folder.load();
  std::string text = "the cat saw the dog";
  const auto vector = [&](int64_t longest) {
    return embed(*model, std::span(&text, 1), {.longest = longest}).front();
  };
  const std::vector<float> three = vector(5);  // [CLS] the cat saw [SEP]
  const std::vector<float> whole = vector(0);
  EXPECT_NE(three, whole);
  EXPECT_EQ(vector(1).size(), 16U);
  text = "the cat saw";
  EXPECT_EQ(vector(0), three);
  text = "the cat saw the dog and a bird ran and the dog saw the cat and the bird";  // 18 words
  const std::vector<float> full = vector(0);
  text += " and the dog and the dog";
  EXPECT_EQ(vector(0), full);
  EXPECT_EQ(vector(1000), full);
  EXPECT_TRUE(embed(*model, {}, {}).empty());
}

}  // namespace
}  // namespace heed::testing
