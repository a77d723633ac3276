// Models of CTranslate2 against what CTranslate2's own tests expect of them: log-probabilities,
// translations, forced prefixes, suppressed sequences and another end.
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/file.h"
#include "decode/text/translator.h"
#include "formats/safetensors.h"
#include "models/folder.h"
#include "models/imports/import_ctranslate2.h"
#include "ops/softmax.h"
#include "support/error_of.h"
#include "support/text_files.h"

namespace heed::testing {
namespace {

namespace fs = std::filesystem;

fs::path model_data() {
  const char* root = std::getenv("HEED_DATA");
  return fs::path(root != nullptr ? root : "../shared/data") / "ct2-aren-transliteration";
}

// Tokens with spaces between them, as the imported tokenizers read and write them.
std::string spaced(const Json& tokens) {
  std::string text;
  for (const Json& token : tokens) {
    text += (text.empty() ? "" : " ") + token.get<std::string>();
  }
  return text;
}

// The log-probability of each target token and of END behind them.
std::vector<double> log_probabilities(const LoadedTranslator& model, const std::string& source,
                                      const std::string& target) {
  const std::vector<int32_t> ids = model.encode_source(source);
  const SpecialIds& special = model.tokenizers.target->special();
  std::vector<int32_t> said = model.tokenizers.target->encode(target);
  std::vector<int32_t> input = said;
  input.insert(input.begin(), special.start);
  said.push_back(special.end);
  const auto source_length = static_cast<int64_t>(ids.size());
  const auto length = static_cast<int64_t>(said.size());
  const std::vector<int32_t> source_lengths{static_cast<int32_t>(source_length)};
  const std::vector<int32_t> lengths{static_cast<int32_t>(length)};
  const Tensor logits = dynamic_cast<const Seq2SeqModel&>(*model.model)
                            .logits({.source = Tensor::from_ints(ids, {1, source_length}),
                                     .source_lengths = Tensor::from_ints(source_lengths, {1}),
                                     .input = Tensor::from_ints(input, {1, length}),
                                     .target = Tensor::from_ints(said, {1, length}),
                                     .target_lengths = Tensor::from_ints(lengths, {1})});
  const Tensor scores = log_softmax(logits);
  std::vector<double> result;
  for (int64_t t = 0; t < length; ++t) {
    const int64_t place = t * scores.dim(2) + said[static_cast<size_t>(t)];
    result.push_back(scores.data<float>()[place]);
  }
  return result;
}

struct Variant {
  std::string name;
  std::string input;  // inside the data folder
  // Of log-probabilities. The expected ones are those of the f32 weights, rounded to six digits;
  // int16 has 1/32767 of a row's largest weight, int8 1/127.
  double tolerance;
};

class Ctranslate2ImportTest : public ::testing::TestWithParam<Variant> {
 protected:
  void SetUp() override {
    if (!fs::exists(model_data())) {
      GTEST_SKIP() << "skipped: no data at " << model_data().string();
    }
    expected_ = Json::parse(read_file(model_data() / "expected.json"));
    import_ctranslate2(
        {.input = model_data() / GetParam().input, .vocabulary = {}, .output = folder_ / "model"});
    model_ = load_translator(folder_ / "model", DType::f32);
  }

  // The value whose key begins with `key`; the rest of a key tells how it was made.
  const Json& expected(const std::string& key) const {
    for (const auto& item : expected_.items()) {
      if (item.key().starts_with(key)) {
        return item.value();
      }
    }
    fail("[import_test] expected.json has no {}", key);
  }
  std::string translate(const SourceText& text, const DecodeOptions& decode) const {
    const Translator translator(*model_, {.decode = decode});
    return translator.translate(std::span(&text, 1)).front().best.front().text;
  }
  int32_t target_id(const std::string& token) const {
    return model_->tokenizers.target->find(token).value();
  }

  TemporaryFolder folder_;
  Json expected_;
  std::unique_ptr<LoadedTranslator> model_;
};

constexpr int64_t kBeams[] = {1, 4};

TEST_P(Ctranslate2ImportTest, LogProbabilities) {
  const Json& cases = expected("score_api_log_probs");
  ASSERT_EQ(cases.size(), 2U);
  for (const Json& pair : cases) {
    const auto values = pair["log_probs"].get<std::vector<double>>();
    const std::vector<double> ours =
        log_probabilities(*model_, spaced(pair["source"]), spaced(pair["target"]));
    ASSERT_EQ(ours.size(), values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      EXPECT_NEAR(ours[i], values[i], GetParam().tolerance) << i;
    }
  }
}

TEST_P(Ctranslate2ImportTest, Translations) {
  const Json& cases = expected("translate");
  ASSERT_EQ(cases.size(), 2U);
  for (const int64_t beam : kBeams) {
    for (const Json& pair : cases) {
      EXPECT_EQ(translate({spaced(pair["source"])}, {.beam = beam}), spaced(pair["output"]));
    }
  }
}

TEST_P(Ctranslate2ImportTest, Prefixes) {
  const Json& cases = expected("with_target_prefix");
  ASSERT_EQ(cases.size(), 2U);
  for (const int64_t beam : kBeams) {
    for (const Json& pair : cases) {
      EXPECT_EQ(translate({spaced(pair["source"]), spaced(pair["prefix"])}, {.beam = beam}),
                spaced(pair["output"]));
    }
  }
}

TEST_P(Ctranslate2ImportTest, SuppressedSequences) {
  const Json& pair = expected("suppress_sequences [[o],[t,z,m]]");
  const std::vector<std::vector<int32_t>> suppress{
      {target_id("o")}, {target_id("t"), target_id("z"), target_id("m")}};
  for (const int64_t beam : kBeams) {
    EXPECT_EQ(translate({spaced(pair["source"])}, {.beam = beam, .suppress = suppress}),
              spaced(pair["output"]));
  }
}

TEST_P(Ctranslate2ImportTest, AnotherEnd) {
  const Json& pair = expected("end_token m");
  for (const int64_t beam : kBeams) {
    EXPECT_EQ(translate({spaced(pair["source"])}, {.beam = beam, .end = target_id("m")}),
              spaced(pair["output"]));
  }
}

TEST_P(Ctranslate2ImportTest, Vocabularies) {
  const Tokenizers& tokenizers = model_->tokenizers;
  EXPECT_FALSE(tokenizers.joint());
  EXPECT_EQ(tokenizers.source->size(), 51);  // 50 lines and <unk>
  EXPECT_EQ(tokenizers.target->size(), 43);
  EXPECT_EQ(tokenizers.target->special().start, 1);
  EXPECT_EQ(tokenizers.target->special().end, 2);
  EXPECT_EQ(tokenizers.target->special().unk, 42);
  EXPECT_EQ(target_id("a"), 3);
  EXPECT_FALSE(model_->config.source_end);
  EXPECT_EQ(model_->store.count(), 182'731);
}

INSTANTIATE_TEST_SUITE_P(Variants, Ctranslate2ImportTest,
                         ::testing::Values(Variant{"safetensors", "model.safetensors", 1e-4},
                                           Variant{"folder", "", 1e-4},
                                           Variant{"f32", "v2-original", 1e-4},
                                           Variant{"int16", "v2-original-i16", 0.02},
                                           Variant{"int8", "v2-original-i8", 0.2}),
                         [](const auto& info) { return info.param.name; });

TEST(Ctranslate2Import, Errors) {
  const TemporaryFolder folder;
  const fs::path empty = folder / "";
  expect_error(
      [&] { import_ctranslate2({.input = empty, .vocabulary = {}, .output = folder / "out"}); },
      "[convert] " + empty.string() + " has neither model.bin nor model.safetensors");
  const Tensor table = Tensor::zeros({4, 8});
  const fs::path file = folder / "model.safetensors";
  write_safetensors(file, std::vector{named_tensor("encoder/embeddings/weight", table)});
  folder.write("shared_vocabulary.txt", "<blank>\n<s>\n</s>\n");
  expect_error(
      [&] { import_ctranslate2({.input = empty, .vocabulary = {}, .output = folder / "out"}); },
      "[convert] " + file.string() + " has no tensor decoder/embeddings/weight");
  EXPECT_FALSE(fs::exists(folder / "out"));
}

// Other numbers than f32 are converted, not taken for f32.
TEST(Ctranslate2Import, NarrowFloats) {
  if (!fs::exists(model_data())) {
    GTEST_SKIP() << "skipped: no data at " << model_data().string();
  }
  const TemporaryFolder folder;
  const SafetensorsFile original(model_data() / "model.safetensors");
  std::vector<Tensor> values;
  std::vector<NamedTensor> tensors;
  for (const TensorEntry& entry : original.entries()) {
    values.push_back(original.load(entry).to(DType::bf16));
    tensors.push_back(named_tensor(entry.name, values.back()));
  }
  write_safetensors(folder / "model.safetensors", tensors);
  import_ctranslate2({.input = folder / "model.safetensors",
                      .vocabulary = model_data(),
                      .output = folder / "out"});
  const SafetensorsFile imported(folder / "out/model.safetensors");
  EXPECT_EQ(imported.load(imported.at("source_embedding.weight")).to_vector(),
            original.load(original.at("encoder/embeddings/weight")).to(DType::bf16).to_vector());
}

}  // namespace
}  // namespace heed::testing
