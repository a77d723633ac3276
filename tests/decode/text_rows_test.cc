// Rows that come and go: each says what it says alone, to the last bit, whatever the others do.
#include "decode/text/text_rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "decode/text/generate.h"
#include "support/error_of.h"
#include "support/tiny_folder.h"

namespace heed::testing {
namespace {

using Ids = std::vector<int32_t>;

struct Said {
  Ids ids;
  std::string text;
  std::vector<float> log_probabilities;
  std::optional<GenerateEnd> end;

  bool operator==(const Said&) const = default;
};

void collect(const std::vector<TextAdvance>& advances, std::map<uint64_t, Said>& all) {
  for (const TextAdvance& advance : advances) {
    EXPECT_FALSE(advance.error);
    Said& said = all[advance.row];
    EXPECT_FALSE(said.end.has_value()) << "a row that has left";
    said.text += advance.text;
    said.end = advance.end;
    if (advance.token) {
      said.ids.push_back(advance.token->id);
      said.log_probabilities.push_back(advance.token->log_probability);
      for (const TokenLogProbability& one : advance.token->likeliest) {
        said.log_probabilities.push_back(one.log_probability);
      }
    }
  }
}

// Requests that differ in everything.
TextRequest request_of(const Tokenizer& tokenizer, uint64_t i) {
  const RandomStream random{7, i};
  const std::string whole = "the quick brown fox jumps over the lazy dog.\nfox dog the q";
  TextRequest request;
  request.prompt = tokenizer.encode(whole.substr(0, 1 + random.bits(0) % (whole.size() - 1)));
  request.options = {.sampling = {.temperature = i % 4 == 0 ? 0.0F : 0.8F,
                                  .top_k = static_cast<int64_t>(i % 3) * 5,
                                  .top_p = i % 2 == 0 ? 0.9F : 1.0F,
                                  .repetition_penalty = i % 5 == 0 ? 1.2F : 1.0F},
                     .max_tokens = 1 + random.bits(1) % 40,
                     .seed = i,
                     .ignore_end = i % 2 == 0};
  if (i % 3 == 0) {
    request.options.stop = {"zz", "x"};
  }
  if (i % 2 == 1) {
    request.log_probabilities = 3;
  }
  request.sample = i % 2;
  return request;
}

Said alone(const Loaded<LanguageModel>& model, const TextRequest& request,
           const PrefillOptions& prefill) {
  TextRows rows(*model.model, *model.tokenizers.target, prefill);
  std::map<uint64_t, Said> said;
  const uint64_t number = rows.add(request);
  while (rows.size() > 0) {
    collect(rows.step(), said);
  }
  return said[number];
}

class TextRowsTest : public ::testing::TestWithParam<std::tuple<std::string, DType>> {
 protected:
  static Json fields() {
    const std::string kind = std::get<0>(GetParam());
    if (kind.starts_with("universal")) {
      return {{"kind", "universal_language"},
              {"context", 32},
              {"width", 16},
              {"heads", 2},
              {"hidden", 24},
              {"transition", kind == "universal" ? "feed_forward" : "separable_convolution"}};
    }
    return kind == "gpt2"
               ? tiny_gpt({{"context", 32}})
               : Json{{"kind", "rnn_language"}, {"embedding", 16}, {"hidden", 16}, {"layers", 2}};
  }
};

// 40 requests come a few at a time, some are taken out on the way; contexts overflow, prompts come
// in pieces and in padded batches.
TEST_P(TextRowsTest, EachSaysWhatItSaysAlone) {
  const TinyFolder folder(fields());
  const auto model = folder.load(std::get<1>(GetParam()));
  const PrefillOptions prefill{.piece = 8, .tokens = 20};
  TextRows rows(*model->model, *folder.tokenizer, prefill);
  std::map<uint64_t, Said> together;
  std::set<uint64_t> removed;
  uint64_t added = 0;
  size_t most = 0;
  for (int turn = 0; rows.size() > 0 || added < 40; ++turn) {
    for (int i = 0; turn % 3 == 0 && i < 3 && added < 40; ++i) {
      EXPECT_EQ(rows.add(request_of(*folder.tokenizer, added)), added);
      ++added;
    }
    if (turn % 7 == 6) {  // once while it waits, once in the middle
      const uint64_t gone = turn % 2 == 0 ? added - 1 : added / 2;
      rows.remove(gone);
      removed.insert(gone);
    }
    collect(rows.step(), together);
    most = std::max(most, rows.size());
  }
  EXPECT_GT(most, 8U);
  EXPECT_GT(removed.size(), 3U);
  std::set<std::optional<GenerateEnd>> ends;
  for (uint64_t i = 0; i < 40; ++i) {
    const Said one = alone(*model, request_of(*folder.tokenizer, i), prefill);
    Said& other = together[i];
    if (!removed.contains(i) || other.end.has_value()) {
      EXPECT_EQ(one, other) << i << ": " << one.text << " | " << other.text;
      ends.insert(other.end);
    } else {
      EXPECT_EQ(one.text.substr(0, other.text.size()), other.text);
    }
  }
  EXPECT_GE(ends.size(), 2U);
}

INSTANTIATE_TEST_SUITE_P(
    Models, TextRowsTest,
    ::testing::Values(std::tuple("gpt2", DType::f32), std::tuple("gpt2", DType::bf16),
                      std::tuple("gpt2", DType::i8), std::tuple("rnn", DType::f32),
                      std::tuple("universal", DType::f32), std::tuple("universal", DType::i8),
                      std::tuple("universal_convolution", DType::f32)),
    [](const auto& info) {
      return std::get<0>(info.param) + "_" + std::string(name_of(std::get<1>(info.param)));
    });

// In pieces a prompt means the same.
TEST(TextRows, PiecesOfAPrompt) {
  const TinyFolder folder(tiny_gpt({{"context", 64}}));
  const auto model = folder.load();
  TextRequest request;
  request.prompt = folder.tokenizer->encode("the quick brown fox jumps over the lazy dog.");
  request.options = {.sampling = {.temperature = 0.0F}, .max_tokens = 10, .ignore_end = true};
  request.log_probabilities = 0;
  const Said whole = alone(*model, request, {.piece = 64});
  for (const int64_t piece : {1, 5, 22, 44}) {
    const Said parts = alone(*model, request, {.piece = piece});
    EXPECT_EQ(parts.ids, whole.ids) << piece;
    for (size_t i = 0; i < whole.log_probabilities.size(); ++i) {
      EXPECT_NEAR(parts.log_probabilities[i], whole.log_probabilities[i], 1e-4) << piece;
    }
  }
}

// A long prompt does not keep the others from going on.
TEST(TextRows, OthersGoOnWhileAPromptIsShown) {
  const TinyFolder folder(tiny_gpt({{"context", 128}}));
  const auto model = folder.load();
  TextRows rows(*model->model, *folder.tokenizer, {.piece = 8, .tokens = 16});
  TextRequest request;
  request.options = {.max_tokens = 50, .ignore_end = true};
  request.prompt = folder.tokenizer->encode("fox");
  rows.add(request);
  rows.step();
  request.prompt = Ids(70, request.prompt.front());
  rows.add(request);
  for (int i = 0; i < 4; ++i) {  // 64 of the 70
    EXPECT_EQ(rows.step().size(), 1U);
  }
  EXPECT_EQ(rows.step().size(), 2U);
}

// Log-probabilities are those of the whole sequence's logits, whatever the sampling.
TEST(TextRows, LogProbabilities) {
  const TinyFolder folder(tiny_gpt({{"context", 64}}));
  const auto model = folder.load();
  TextRows rows(*model->model, *folder.tokenizer);
  TextRequest request;
  request.prompt = folder.tokenizer->encode("the fox");
  request.options = {.sampling = {.temperature = 0.3F, .top_k = 7, .repetition_penalty = 1.5F},
                     .max_tokens = 12,
                     .ignore_end = true};
  request.log_probabilities = 4;
  rows.add(request);
  Ids ids = request.prompt;
  while (rows.size() > 0) {
    const std::vector<TextAdvance> told = rows.step();
    ASSERT_EQ(told.size(), 1U);
    ASSERT_TRUE(told[0].token.has_value());
    const DrawnToken& token = *told[0].token;
    const Tensor logits = model->model->logits(Tensor::from_ints(ids, {1, std::ssize(ids)}));
    const std::vector<float> all = logits.to_vector();
    const std::vector<double> last(all.end() - logits.dim(2), all.end());
    double total = 0.0;
    for (const double logit : last) {
      total += std::exp(logit);
    }
    const auto expected = [&](int32_t id) {
      return last[static_cast<size_t>(id)] - std::log(total);
    };
    EXPECT_NEAR(token.log_probability, expected(token.id), 1e-4);
    ASSERT_EQ(token.likeliest.size(), 4U);
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_NEAR(token.likeliest[i].log_probability, expected(token.likeliest[i].id), 1e-4);
      const auto likelier = std::count_if(last.begin(), last.end(), [&](double logit) {
        return logit > last[static_cast<size_t>(token.likeliest[i].id)] + 1e-4;
      });
      EXPECT_LE(likelier, static_cast<int64_t>(i));
    }
    ids.push_back(token.id);
  }
}

// A model whose logits are not finite after a certain token: only the row that said it fails.
class Spoilt : public LanguageModel {
 public:
  Spoilt(const LanguageModel& model, int32_t bad) : model_(model), bad_(bad) {}

  Tensor logits(const Tensor& tokens, int64_t first) const override {
    return model_.logits(tokens, first);
  }
  std::unique_ptr<DecodeState> start() const override { return model_.start(); }
  Tensor step(const Tensor& tokens, DecodeState& state,
              std::span<const int64_t> lengths) const override {
    const Tensor logits = model_.step(tokens, state, lengths);
    for (int64_t r = 0; r < tokens.dim(0); ++r) {
      const int64_t length = lengths.empty() ? tokens.dim(1) : lengths[static_cast<size_t>(r)];
      if (tokens.data<int32_t>()[r * tokens.dim(1) + length - 1] == bad_) {
        std::fill_n(logits.data<float>() + r * logits.dim(1), logits.dim(1), NAN);
      }
    }
    check(tokens.dim(0) < 5, "[spoilt] too many rows");
    return logits;
  }
  void select(DecodeState& state, std::span<const int64_t> rows) const override {
    model_.select(state, rows);
  }
  void join(DecodeState& state, const DecodeState& more) const override {
    model_.join(state, more);
  }
  int64_t vocabulary() const override { return model_.vocabulary(); }
  int64_t context() const override { return model_.context(); }

 private:
  const LanguageModel& model_;
  int32_t bad_;
};

std::string message_of(const std::exception_ptr& error) {
  return error_of([&] { std::rethrow_exception(error); });
}

TEST(TextRows, ARowThatFailsFailsAlone) {
  const TinyFolder folder;
  const auto model = folder.load();
  const Ids fox = folder.tokenizer->encode("fox");
  const Spoilt spoilt(*model->model, folder.tokenizer->encode("q").front());
  TextRows rows(spoilt, *folder.tokenizer);
  TextRequest request;
  request.options = {.sampling = {.temperature = 0.0F}, .max_tokens = 5, .ignore_end = true};
  request.prompt = folder.tokenizer->encode("fox");
  request.options.forbidden = folder.tokenizer->encode("q");
  const uint64_t good = rows.add(request);
  request.prompt = folder.tokenizer->encode("the q");
  const uint64_t bad = rows.add(request);
  int told_of_good = 0;
  for (int turn = 0; rows.size() > 0; ++turn) {
    for (const TextAdvance& advance : rows.step()) {
      if (advance.row == bad) {
        EXPECT_EQ(turn, 0);
        EXPECT_NE(message_of(advance.error).find("no logit is finite"), std::string::npos);
      } else {
        EXPECT_EQ(advance.row, good);
        EXPECT_FALSE(advance.error);
        ++told_of_good;
      }
    }
  }
  EXPECT_EQ(told_of_good, 5);
  // If the model itself fails, all its rows do, and the next ones are as on the first day.
  for (int i = 0; i < 4; ++i) {
    request.prompt = folder.tokenizer->encode("fox");
    rows.add(request);
  }
  EXPECT_EQ(rows.step().size(), 4U);
  rows.add(request);
  rows.step();
  const std::vector<TextAdvance> failed = rows.step();
  EXPECT_EQ(failed.size(), 5U);
  for (const TextAdvance& advance : failed) {
    EXPECT_EQ(message_of(advance.error), "[spoilt] too many rows");
  }
  EXPECT_EQ(rows.size(), 0U);
  rows.add(request);
  EXPECT_FALSE(rows.step().front().error);
}

// Fails to put rows together, with half of the work done.
class Disjoint : public Spoilt {
 public:
  using Spoilt::Spoilt;
  void join(DecodeState& state, const DecodeState& more) const override {
    Spoilt::join(state, more);
    check(!fails, "[disjoint] rows stay apart");
  }
  bool fails = true;
};

// Then the state holds more rows than there are: nobody may go on with it.
TEST(TextRows, AJoinThatFailsHalfWayEndsAllRows) {
  const TinyFolder folder;
  const auto model = folder.load();
  Disjoint disjoint(*model->model, -1);
  TextRows rows(disjoint, *folder.tokenizer);
  TextRequest request{.prompt = folder.tokenizer->encode("fox"), .options = {.max_tokens = 5}};
  const uint64_t first = rows.add(request);
  ASSERT_FALSE(rows.step().front().error);
  const uint64_t second = rows.add(request);
  std::set<uint64_t> failed;
  for (const TextAdvance& advance : rows.step()) {
    EXPECT_EQ(message_of(advance.error), "[disjoint] rows stay apart");
    EXPECT_TRUE(failed.insert(advance.row).second);
  }
  EXPECT_EQ(failed, (std::set<uint64_t>{first, second}));
  EXPECT_EQ(rows.size(), 0U);
  // Rows that come afterwards say what they say alone.
  disjoint.fails = false;
  std::map<uint64_t, Said> said;
  const uint64_t third = rows.add(request);
  collect(rows.step(), said);
  const uint64_t fourth = rows.add(request);
  while (rows.size() > 0) {
    collect(rows.step(), said);
  }
  TextRows alone(*model->model, *folder.tokenizer);
  const uint64_t only = alone.add(request);
  std::map<uint64_t, Said> expected;
  while (alone.size() > 0) {
    collect(alone.step(), expected);
  }
  EXPECT_EQ(said.at(third), expected.at(only));
  EXPECT_EQ(said.at(fourth), expected.at(only));
}

TEST(TextRows, RequestsThatCannotBe) {
  const TinyFolder folder;
  const auto model = folder.load();
  TextRows rows(*model->model, *folder.tokenizer);
  const int32_t size = folder.tokenizer->size();
  EXPECT_EQ(error_of([&] { rows.add({}); }), "[generate] the prompt has no tokens, expected some");
  EXPECT_EQ(error_of([&] { rows.add({.prompt = {size}}); }),
            fmt::format("[generate] token {} is in the prompt, expected 0 to {}", size, size - 1));
  EXPECT_EQ(
      error_of([&] { rows.add({.prompt = {5}, .options = {.sampling = {.temperature = -1.0F}}}); }),
      "[sampling] temperature is -1, expected 0 or more");
  EXPECT_EQ(rows.size(), 0U);
  rows.remove(17);
  EXPECT_TRUE(rows.step().empty());
  rows.add({.prompt = {5}, .options = {.max_tokens = 0}});
  const std::vector<TextAdvance> told = rows.step();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].end, GenerateEnd::length);
  EXPECT_EQ(rows.size(), 0U);
}

}  // namespace
}  // namespace heed::testing
