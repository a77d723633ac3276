// Counts of target tokens by the source token that they attend to most.
#include "train/fertility.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "decode/text/text_attention.h"
#include "support/error_of.h"
#include "support/tiny_folder.h"

namespace heed::testing {
namespace {

Json tiny_transformer() {
  return {{"kind", "transformer"}, {"width", 16},         {"heads", 2},
          {"hidden", 24},          {"encoder_layers", 1}, {"decoder_layers", 2}};
}

EncodedPair encoded(const LoadedFolder& model, const std::string& source,
                    const std::string& target) {
  return {.source = model.tokenizers.source->encode(source),
          .target = model.tokenizers.target->encode(target)};
}

// By hand, from the picture of all layers.
std::vector<int64_t> counted(const LoadedFolder& model, const std::string& source,
                             const std::string& target) {
  const TextAttention found = attention_of_text(model, {.text = source, .second = target});
  Tensor last;
  for (const LayerAttention& layer : found.maps) {
    last = layer.kind == "cross" ? layer.weights : last;  // [1,H,T,S]
  }
  const int64_t keys = last.dim(3);
  std::vector<int64_t> counts(static_cast<size_t>(keys), 0);
  for (int64_t t = 0; t + 1 < last.dim(2); ++t) {  // at the last position END is said
    std::vector<double> sums(static_cast<size_t>(keys), 0.0);
    for (int64_t head = 0; head < last.dim(1); ++head) {
      for (int64_t s = 0; s < keys; ++s) {
        sums[static_cast<size_t>(s)] += last.data<float>()[(head * last.dim(2) + t) * keys + s];
      }
    }
    ++counts[static_cast<size_t>(std::max_element(sums.begin(), sums.end()) - sums.begin())];
  }
  return counts;
}

TEST(Fertility, CountsWhatAttendsMost) {
  for (const Json& fields :
       {tiny_transformer(), Json{{"kind", "rnn"}, {"embedding", 8}, {"hidden", 8}},
        Json{{"kind", "conv"}, {"longest", 64}, {"hidden", 16}}}) {
    const TinyFolder folder(fields);
    const auto model = load_model(folder.path(), DType::f32);
    const std::string source = "the quick brown fox";
    const std::string target = "over the lazy dog jumps";
    const std::vector<EncodedPair> pairs{encoded(*model, source, target)};
    const auto counts = fertilities(*model, pairs, 4096);
    ASSERT_EQ(counts.size(), 1U);
    EXPECT_EQ(counts[0].size(), pairs[0].source.size() + 1) << "END is missing";
    EXPECT_EQ(std::reduce(counts[0].begin(), counts[0].end()), std::ssize(pairs[0].target));
    EXPECT_EQ(counts[0], counted(*model, source, target)) << fields.dump();
  }
}

TEST(Fertility, TheSameInAnyBatch) {
  const TinyFolder folder(tiny_transformer());
  const auto model = load_model(folder.path(), DType::f32);
  std::vector<EncodedPair> pairs;
  for (const char* text : {"the", "fox jumps over the lazy dog", "", "quick", "brown fox jumps"}) {
    pairs.push_back(encoded(*model, text, std::string(text) + " dog"));
  }
  pairs.push_back(encoded(*model, "the fox", ""));
  const auto together = fertilities(*model, pairs, 4096);
  EXPECT_EQ(fertilities(*model, pairs, 1), together);
  for (size_t i = 0; i < pairs.size(); ++i) {
    EXPECT_EQ(fertilities(*model, std::span(pairs).subspan(i, 1), 64).front(), together[i]) << i;
  }
  EXPECT_EQ(together[2], (std::vector<int64_t>{4})) << "only END is there to attend to";
  EXPECT_EQ(together[5], std::vector<int64_t>(pairs[5].source.size() + 1, 0));
}

TEST(Fertility, WhatDoesNotFit) {
  Json fields = tiny_transformer();
  fields.update({{"positions", "learned"}, {"longest", 16}});
  const TinyFolder folder(fields);
  const auto model = load_model(folder.path(), DType::f32);
  const std::string fifteen = "the quick brown";
  EXPECT_TRUE(fits_fertilities(*model, encoded(*model, fifteen, fifteen)));
  EXPECT_FALSE(fits_fertilities(*model, encoded(*model, fifteen + " ", "the")));
  EXPECT_FALSE(fits_fertilities(*model, encoded(*model, "the", fifteen + "s")));

  const TinyFolder blind({{"kind", "rnn"}, {"embedding", 8}, {"hidden", 8}, {"attention", false}});
  const auto rnn = load_model(blind.path(), DType::f32);
  const std::vector<EncodedPair> pairs{encoded(*rnn, "the", "fox")};
  EXPECT_TRUE(fits_fertilities(*rnn, pairs[0]));
  EXPECT_FALSE(fits_fertilities(*rnn, encoded(*rnn, std::string(1025, 'x'), "fox")));
  expect_error([&] { fertilities(*rnn, pairs, 64); },
               "[fertility] the model has no attention to its source, expected a translator with "
               "attention");
}

}  // namespace
}  // namespace heed::testing
