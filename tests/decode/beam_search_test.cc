// Greedy and beam search against sequences whose probabilities are known by heart, and that a
// sentence's translation does not depend on the batch it comes in.
#include "decode/text/beam_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "base/random.h"
#include "decode/scripted_model.h"
#include "kernels/cpu.h"
#include "models/registry.h"
#include "support/error_of.h"

namespace heed::testing {
namespace {

constexpr int32_t kUnk = 3;
constexpr int32_t kA = 4;
constexpr int32_t kB = 5;
constexpr int32_t kC = 6;
constexpr int64_t kVocabulary = 7;

// Probabilities by what has been said, whatever the source; everything else ends.
ScriptedModel scripted(std::map<Ids, Probabilities> table) {
  return {[table = std::move(table)](const Ids& /*source*/, const Ids& said) {
            const auto found = table.find(said);
            return found == table.end() ? Probabilities{{kEnd, 1.0}} : found->second;
          },
          kVocabulary};
}

// The first token that is likelier leads to the worse sequence.
ScriptedModel garden_path() {
  return scripted({{{}, {{kA, 0.6}, {kB, 0.4}}},
                   {{kA}, {{kEnd, 0.3}, {kA, 0.25}, {kB, 0.25}, {kC, 0.2}}},
                   {{kB}, {{kEnd, 0.9}, {kC, 0.1}}}});
}

// A with 0.33, or BCCC with 0.315.
ScriptedModel short_or_long() {
  return scripted({{{}, {{kA, 0.55}, {kB, 0.45}}},
                   {{kA}, {{kEnd, 0.6}, {kC, 0.4}}},
                   {{kB}, {{kC, 1.0}}},
                   {{kB, kC}, {{kC, 1.0}}},
                   {{kB, kC, kC}, {{kC, 1.0}}},
                   {{kB, kC, kC, kC}, {{kEnd, 0.7}, {kC, 0.3}}}});
}

// Always the same, whatever has been said.
ScriptedModel constant(const Probabilities& next) {
  return {[next](const Ids& /*source*/, const Ids& /*said*/) { return next; }, kVocabulary};
}

std::vector<Hypothesis> decode(const Seq2SeqModel& model, const DecodeOptions& options,
                               const Ids& prefix = {}) {
  const std::vector<DecodeRequest> requests{{.source = {kA, kB, kEnd}, .prefix = prefix}};
  const auto results = decode_batch(model, requests, options);
  EXPECT_EQ(results.size(), 1U);
  return results.front();
}

std::vector<Ids> ids_of(const std::vector<Hypothesis>& hypotheses) {
  std::vector<Ids> ids;
  ids.reserve(hypotheses.size());
  for (const Hypothesis& hypothesis : hypotheses) {
    ids.push_back(hypothesis.ids);
  }
  return ids;
}

constexpr double kRounding = 1e-6;  // logits are floats

TEST(Search, GreedyTakesTheLikeliestToken) {
  const auto best = decode(garden_path(), {.beam = 1});
  ASSERT_EQ(best.size(), 1U);
  EXPECT_EQ(best[0].ids, Ids{kA});
  EXPECT_NEAR(best[0].log_probability, -1.7147984280919266, kRounding);  // log(0.6 * 0.3)
  EXPECT_NEAR(best[0].score, -1.5633096292891788, kRounding);            // / (7/6)^0.6
}

TEST(Search, BeamFindsTheLikelierSequence) {
  const auto best = decode(garden_path(), {.beam = 2});
  ASSERT_EQ(best.size(), 1U);
  EXPECT_EQ(best[0].ids, Ids{kB});
  EXPECT_NEAR(best[0].log_probability, -1.0216512475319814, kRounding);  // log(0.4 * 0.9)
  EXPECT_NEAR(best[0].score, -0.9313964877021854, kRounding);            // / (7/6)^0.6
}

TEST(Search, LengthPenalty) {
  EXPECT_EQ(length_penalty(1, 0.6F), 1.0);
  EXPECT_EQ(length_penalty(40, 0.0F), 1.0);
  EXPECT_DOUBLE_EQ(length_penalty(10, 1.0F), 2.5);
  EXPECT_NEAR(length_penalty(2, 0.6F), 1.096902619906223, 1e-7);
}

TEST(Search, LengthPenaltyChangesTheWinner) {
  const auto plain = decode(short_or_long(), {.beam = 2, .length_penalty = 0.0F, .n_best = 2});
  EXPECT_EQ(ids_of(plain), (std::vector<Ids>{{kA}, {kB, kC, kC, kC}}));
  EXPECT_NEAR(plain[0].score, -1.1086626245216111, kRounding);  // log 0.33
  EXPECT_NEAR(plain[1].score, -1.155182640156504, kRounding);   // log 0.315
  const auto penalised = decode(short_or_long(), {.beam = 2, .length_penalty = 1.0F, .n_best = 2});
  EXPECT_EQ(ids_of(penalised), (std::vector<Ids>{{kB, kC, kC, kC}, {kA}}));
  EXPECT_NEAR(penalised[0].score, -0.6931095840939023, kRounding);  // log 0.315 / (10/6)
  EXPECT_NEAR(penalised[1].score, -0.9502822495899523, kRounding);  // log 0.33 / (7/6)
  EXPECT_NEAR(penalised[0].log_probability, plain[1].score, kRounding);
}

TEST(Search, NBest) {
  const DecodeOptions options{.beam = 4, .length_penalty = 0.0F, .n_best = 4};
  const auto best = decode(garden_path(), options);
  // B 0.36, A 0.18, AA and AB 0.15 each; of equals the one with the smaller token first.
  EXPECT_EQ(ids_of(best), (std::vector<Ids>{{kB}, {kA}, {kA, kA}, {kA, kB}}));
  EXPECT_NEAR(best[3].score, std::log(0.15), kRounding);
  for (const int64_t n_best : {1, 2, 3}) {
    DecodeOptions fewer = options;
    fewer.n_best = n_best;
    const auto first = ids_of(decode(garden_path(), fewer));
    EXPECT_EQ(first.size(), static_cast<size_t>(n_best));
    EXPECT_TRUE(std::equal(first.begin(), first.end(), ids_of(best).begin()));
  }
}

TEST(Search, FewerSequencesThanWanted) {
  const auto best = decode(scripted({{{}, {{kA, 0.75}, {kB, 0.25}}}}), {.beam = 4, .n_best = 4});
  EXPECT_EQ(ids_of(best), (std::vector<Ids>{{kA}, {kB}}));
}

TEST(Search, StopsAtTheLimit) {
  for (const int64_t beam : {1, 3}) {
    const auto five = decode(constant({{kA, 1.0}}), {.beam = beam, .max_length = 5});
    EXPECT_EQ(five[0].ids, Ids(5, kA));
    EXPECT_EQ(five[0].log_probability, 0.0);
    const auto usual = decode(constant({{kA, 1.0}}), {.beam = beam});
    EXPECT_EQ(usual[0].ids, Ids(2 * 3 + 16, kA));  // of a source of three tokens
  }
  const auto half = decode(constant({{kA, 0.5}, {kB, 0.5}}), {.beam = 1, .max_length = 4});
  EXPECT_NEAR(half[0].log_probability, 4 * std::log(0.5), kRounding);
  EXPECT_NEAR(half[0].score, 4 * std::log(0.5) / std::pow(9.0 / 6.0, 0.6), kRounding);
}

TEST(Search, Prefix) {
  for (const int64_t beam : {1, 2, 4}) {
    const auto better = decode(garden_path(), {.beam = beam}, {kB});
    EXPECT_EQ(better[0].ids, Ids{kB});
    EXPECT_NEAR(better[0].log_probability, std::log(0.4 * 0.9), kRounding);
    const auto longer = decode(garden_path(), {.beam = beam}, {kA, kC});
    EXPECT_EQ(longer[0].ids, (Ids{kA, kC}));
    EXPECT_NEAR(longer[0].log_probability, std::log(0.6 * 0.2), kRounding);
  }
  // What the model holds for impossible must be said nevertheless.
  const auto impossible = decode(garden_path(), {.beam = 2}, {kUnk});
  EXPECT_EQ(impossible[0].ids, Ids{kUnk});
  EXPECT_EQ(impossible[0].log_probability, 0.0);
  const auto whole = decode(garden_path(), {.beam = 2, .max_length = 1}, {kA, kA, kA});
  EXPECT_EQ(whole[0].ids, (Ids{kA, kA, kA}));
}

TEST(Search, PrefixesOfSomeRequests) {
  const std::vector<DecodeRequest> requests{
      {.source = {kA}}, {.source = {kA}, .prefix = {kB}}, {.source = {kA}, .prefix = {kC, kC}}};
  const auto results = decode_batch(garden_path(), requests, {.beam = 1});
  EXPECT_EQ(results[0][0].ids, Ids{kA});
  EXPECT_EQ(results[1][0].ids, Ids{kB});
  EXPECT_EQ(results[2][0].ids, (Ids{kC, kC}));
}

TEST(Search, SuppressesTokens) {
  for (const int64_t beam : {1, 2, 4}) {
    const auto best = decode(garden_path(), {.beam = beam, .suppress = {{kB}}});
    EXPECT_EQ(best[0].ids, Ids{kA});
    // The others share what was its: A is certain, and END 0.3 of the 0.75 that are left.
    EXPECT_NEAR(best[0].log_probability, std::log(0.4), kRounding);
  }
}

TEST(Search, SuppressesSequences) {
  const auto model =
      scripted({{{}, {{kA, 0.6}, {kB, 0.4}}}, {{kA}, {{kEnd, 0.5}, {kC, 0.3}, {kB, 0.2}}}});
  const auto best = decode(model, {.beam = 1, .suppress = {{kA, kEnd}}});
  EXPECT_EQ(best[0].ids, (Ids{kA, kC}));
  EXPECT_NEAR(best[0].log_probability, std::log(0.6 * 0.3 / 0.5), kRounding);
  // Not said in this order, or only at another place.
  const auto other = decode(garden_path(), {.beam = 1, .suppress = {{kEnd, kA}, {kC, kA}, {}}});
  EXPECT_EQ(other[0].ids, Ids{kA});
  const auto third = decode(constant({{kA, 0.7}, {kB, 0.3}}),
                            {.beam = 1, .max_length = 5, .suppress = {{kA, kA, kA}}});
  EXPECT_EQ(third[0].ids, (Ids{kA, kA, kB, kA, kA}));
}

// There is always a hypothesis, but an impossible one.
TEST(Search, EverythingSuppressed) {
  for (const int64_t beam : {1, 3}) {
    const auto none =
        decode(garden_path(), {.beam = beam, .suppress = {{kEnd}, {kUnk}, {kA}, {kB}, {kC}}});
    ASSERT_EQ(none.size(), 1U);
    EXPECT_TRUE(none[0].ids.empty());
    EXPECT_EQ(none[0].score, -std::numeric_limits<double>::infinity());
    const auto stuck =
        decode(garden_path(),
               {.beam = beam, .suppress = {{kA, kEnd}, {kA, kA}, {kA, kB}, {kA, kC}, {kB}}});
    ASSERT_EQ(stuck.size(), 1U);
    EXPECT_EQ(stuck[0].ids, Ids{kA});
  }
}

// A model whose weights are no numbers has nothing to say, and nothing breaks.
TEST(Search, LogitsThatAreNoNumbers) {
  const auto broken = constant({{kA, std::nan("")}, {kB, 0.5}});
  for (const int64_t beam : {1, 2, 4}) {
    const auto best = decode(broken, {.beam = beam, .n_best = beam});
    ASSERT_EQ(best.size(), 1U);
    EXPECT_TRUE(best[0].ids.empty());
  }
}

TEST(Search, SmallerVocabulary) {
  const auto best = decode(constant({{kA, 0.2}, {kB, 0.3}, {kC, 0.5}}),
                           {.beam = 2, .max_length = 2, .vocabulary = kC});
  EXPECT_EQ(best[0].ids, (Ids{kB, kB}));
  EXPECT_NEAR(best[0].log_probability, 2 * std::log(0.6), kRounding);
}

TEST(Search, NeverSaysStartOrPad) {
  const auto model = constant({{kPad, 0.4}, {kStart, 0.4}, {kA, 0.15}, {kEnd, 0.05}});
  const auto best = decode(model, {.beam = 1, .max_length = 3});
  EXPECT_EQ(best[0].ids, (Ids{kA, kA, kA}));
  EXPECT_NEAR(best[0].log_probability, 3 * std::log(0.75), kRounding);
}

TEST(Search, AnotherEnd) {
  for (const int64_t beam : {1, 2}) {
    const auto model = scripted({{{}, {{kEnd, 0.9}, {kB, 0.1}}}, {{kEnd}, {{kC, 0.8}, {kA, 0.2}}}});
    const auto best = decode(model, {.beam = beam, .length_penalty = 0.0F, .end = kC});
    EXPECT_EQ(best[0].ids, Ids{kEnd});  // a token like others then
    EXPECT_NEAR(best[0].log_probability, std::log(0.9 * 0.8), kRounding);
  }
}

TEST(Search, ForcedLengthNeverEnds) {
  const auto model = constant({{kEnd, 0.7}, {kA, 0.2}, {kB, 0.1}});
  for (const int64_t beam : {1, 2, 5}) {  // 5: more than there are tokens to say
    const auto best =
        decode(model, {.beam = beam, .n_best = beam, .max_length = 4, .forced_length = true});
    ASSERT_EQ(best.size(), static_cast<size_t>(beam));
    EXPECT_EQ(best[0].ids, Ids(4, kA));
    EXPECT_NEAR(best[0].log_probability, 4 * std::log(0.2 / 0.3), kRounding);
    for (const Hypothesis& hypothesis : best) {
      EXPECT_EQ(hypothesis.ids.size(), 4U);
      EXPECT_EQ(std::count(hypothesis.ids.begin(), hypothesis.ids.end(), kEnd), 0);
      EXPECT_TRUE(std::isfinite(hypothesis.score));
    }
  }
}

// Each source is echoed, so every result shows whose it is.
TEST(Search, SourcesFinishWhenTheyAreDone) {
  const std::vector<DecodeRequest> requests{{.source = {kA, kEnd}},
                                            {.source = {kB, kC, kA, kEnd}},
                                            {.source = {kC, kB, kEnd}},
                                            {.source = {kEnd}}};
  for (const int64_t beam : {1, 2, 3}) {
    const ScriptedModel model(echo(0.1, kUnk), kVocabulary);
    const auto results =
        decode_batch(model, requests, {.beam = beam, .length_penalty = 0.0F, .n_best = beam});
    for (size_t i = 0; i < requests.size(); ++i) {
      Ids expected = requests[i].source;
      expected.pop_back();
      EXPECT_EQ(results[i][0].ids, expected) << i;
      const auto length = static_cast<double>(requests[i].source.size());
      EXPECT_NEAR(results[i][0].log_probability, length * std::log(0.9), kRounding);
      EXPECT_EQ(results[i].size(), static_cast<size_t>(beam));
    }
    if (beam == 1) {  // rows go when their sentence has ended
      EXPECT_EQ(model.stepped, (std::vector<int64_t>{4, 3, 2, 1}));
    }
  }
}

TEST(Search, BatchesByLength) {
  const ScriptedModel model(echo(), kVocabulary);
  const std::vector<DecodeRequest> requests{{.source = {kA, kEnd}},
                                            {.source = {kA, kB, kC, kA, kEnd}},
                                            {.source = {kB, kB, kEnd}},
                                            {.source = {kC, kEnd}}};
  const auto results = decode_all(model, requests, {.beam = 2}, 12);
  // Two rows each: the longest alone has 10 tokens; then two of width 3, and the last.
  EXPECT_EQ(model.batches, (std::vector<int64_t>{1, 2, 1}));
  EXPECT_EQ(results[0][0].ids, Ids{kA});
  EXPECT_EQ(results[1][0].ids, (Ids{kA, kB, kC, kA}));
  EXPECT_EQ(results[2][0].ids, (Ids{kB, kB}));
  EXPECT_EQ(results[3][0].ids, Ids{kC});
  model.batches.clear();
  decode_all(model, requests, {.beam = 2}, 1);  // too little for any: one by one
  EXPECT_EQ(model.batches, (std::vector<int64_t>{1, 1, 1, 1}));
}

TEST(Search, NoRequests) {
  EXPECT_TRUE(decode_batch(garden_path(), {}, {}).empty());
  EXPECT_TRUE(decode_all(garden_path(), {}, {}, 100).empty());
}

TEST(Search, Errors) {
  const auto run = [](const DecodeRequest& request, const DecodeOptions& options) {
    decode_batch(garden_path(), std::span(&request, 1), options);
  };
  expect_error([&] { run({.source = {kA}}, {.beam = 0}); },
               "[decode] beam is 0, expected at least 1");
  expect_error([&] { run({.source = {kA}}, {.beam = 2, .n_best = 3}); },
               "[decode] n_best is 3, expected 1 to 2, the beam");
  expect_error([&] { run({.source = {}}, {}); }, "[decode] a source without tokens");
  expect_error(
      [&] {
        run({.source = {kA}, .prefix = {kA, 7}}, {});
      },
      "[decode] a prefix has the id 7, expected 0 to 6");
  expect_error([&] { run({.source = {kA}, .prefix = {-1}}, {}); },
               "[decode] a prefix has the id -1, expected 0 to 6");
}

struct BatchCase {
  std::string name;
  Json config;
};

std::vector<BatchCase> batch_cases() {
  const Json transformer{
      {"kind", "transformer"}, {"vocabulary", 50},    {"width", 32},        {"heads", 4},
      {"hidden", 64},          {"encoder_layers", 2}, {"decoder_layers", 2}};
  Json relative = transformer;
  relative["positions"] = "relative";
  relative["pre_norm"] = true;
  Json untied = transformer;
  untied["tied_output"] = false;
  untied["output_bias"] = true;
  untied["source_vocabulary"] = 50;
  return {{"post_norm", transformer}, {"pre_norm_relative", relative}, {"untied", untied}};
}

class BatchTest : public ::testing::TestWithParam<BatchCase> {};

std::vector<DecodeRequest> random_requests(size_t count) {
  const RandomStream random{11, 3};
  std::vector<DecodeRequest> requests;
  uint64_t next = 0;
  for (size_t i = 0; i < count; ++i) {
    DecodeRequest request;
    const uint32_t length = random.bits(next++) % 12;
    for (uint32_t t = 0; t < length; ++t) {
      request.source.push_back(4 + static_cast<int32_t>(random.bits(next++) % 46));
    }
    request.source.push_back(kEnd);
    if (i % 5 == 0) {
      request.prefix = {static_cast<int32_t>(4 + i)};
    }
    requests.push_back(request);
  }
  return requests;
}

using Results = std::vector<std::vector<Hypothesis>>;

void expect_identical(const Results& results, const Results& expected) {
  ASSERT_EQ(results.size(), expected.size());
  for (size_t i = 0; i < results.size(); ++i) {
    ASSERT_EQ(results[i].size(), expected[i].size()) << i;
    for (size_t k = 0; k < results[i].size(); ++k) {
      EXPECT_EQ(results[i][k].ids, expected[i][k].ids) << i;
      EXPECT_EQ(results[i][k].log_probability, expected[i][k].log_probability) << i;
      EXPECT_EQ(results[i][k].score, expected[i][k].score) << i;
    }
  }
}

void check_batches(const Json& config, DType compute, int64_t beam) {
  SCOPED_TRACE(::testing::Message() << name_of(compute) << " beam " << beam);
  ParameterStore store;
  const Json resolved = resolve_model_config(config, "test");
  const auto any = make_model(store.root(), resolved);
  const auto* model = &model_as<Seq2SeqModel>(*any, resolved);
  store.allocate(compute, 3, ParameterStore::Use::batch_invariant);
  const std::vector<DecodeRequest> requests = random_requests(20);
  const DecodeOptions options{.beam = beam, .n_best = std::min<int64_t>(beam, 2), .max_length = 16};
  Results alone;
  for (const DecodeRequest& request : requests) {
    alone.push_back(decode_batch(*model, std::span(&request, 1), options).front());
  }
  expect_identical(decode_batch(*model, requests, options), alone);
  for (const int64_t batch_tokens : {20, 77, 500}) {
    expect_identical(decode_all(*model, requests, options, batch_tokens), alone);
  }
  std::vector<DecodeRequest> shuffled;
  Results expected;
  for (size_t i = 0; i < requests.size(); ++i) {
    const size_t place = (i * 17 + 5) % requests.size();  // 17 and 20 have no common factor
    shuffled.push_back(requests[place]);
    expected.push_back(alone[place]);
  }
  expect_identical(decode_batch(*model, shuffled, options), expected);
}

TEST_P(BatchTest, TranslationsDoNotDependOnTheBatch) {
  for (const int64_t beam : {1, 4}) {
    check_batches(GetParam().config, DType::f32, beam);
    check_batches(GetParam().config, DType::bf16, beam);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, BatchTest, ::testing::ValuesIn(batch_cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace heed::testing
